"""Error at equal true spend, empty answers paid: python -m benchmarks.buying.vendors.

Ours is trained on 1,500 made cases and plays 4,000 others with mean budgets; beside it
stands `rival`, cheapest first with calibrated stopping. Each vendor that is asked costs
its price, whether it answers or not: what ours spends is added up here, whatever the
core charges. Errors are interpolated between neighbouring mean spends. Each seed is a
line of build/buying/vendors.jsonl; the same command goes on where it was stopped.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from askless.core.session.state import Aim
from askless.core.table.dataset import Dataset
from benchmarks import lines as kept_lines
from benchmarks.buying import ours, rival
from benchmarks.buying.cases import MARKET, make_cases
from benchmarks.buying.walks import at_spend, follow, list_thresholds
from benchmarks.data import MICROS
from benchmarks.documents import ROOT
from benchmarks.lines import Line

N_TRAIN, N_TEST, N_SEEDS = 1500, 4000, 10
LEVELS = (0.05, 0.10, 0.15, 0.25)
# Mean budgets that are played; levels lie between what two of them spend.
AIMS = (0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.12, 0.15, 0.18)
AIMS += (0.22, 0.26, 0.3, 0.35, 0.4)
KEPT = ROOT / "build" / "buying" / "vendors.jsonl"
# Raise it when the meaning of a figure changes.
VERSION = 1


def measure_ours(training: Dataset, testing: Dataset, seed: int) -> Line:
    start = time.process_time()
    ensemble = ours.train(training, seed)
    seconds = time.process_time() - start
    aims = [Aim(mean_budget=round(aim * MICROS)) for aim in AIMS]
    played = [ours.play(MARKET, ensemble, testing, aim, seed) for aim in aims]
    spends, charged, errors = np.array(played).T
    everything = ours.play(MARKET, ensemble, testing, None, seed)
    return {
        "ours": [at_spend(spends, errors, level) for level in LEVELS],
        "ours_everything": everything.error,
        "spends": spends.tolist(),
        "charged": charged.tolist(),
        "errors": errors.tolist(),
        "training_s": round(seconds, 1),
    }


def measure_rival(training: Dataset, testing: Dataset) -> Line:
    stopper = rival.fit_stopper(MARKET, training, testing)
    thresholds = list_thresholds(stopper.held_out.readiness)
    figures: Line = {"plain": [], "capped": []}
    for level in LEVELS:
        capped = rival.choose_most(stopper, training.targets, level)
        for name, most in (("plain", MARKET.prices.size), ("capped", capped)):
            ends = follow(stopper.testing.cut(most), testing.targets, thresholds)
            figures[name].append(at_spend(*ends, level))
    labels = stopper.testing.labels[-1]
    return {**figures, "rival_everything": float((labels != testing.targets).mean())}


def measure(seed: int) -> Line:
    """Measure both on the cases of a seed."""
    random = np.random.default_rng(seed)
    training, testing = make_cases(N_TRAIN, random), make_cases(N_TEST, random)
    key = {"seed": seed, "version": VERSION, "core": kept_lines.find_core()}
    own = measure_ours(training, testing, seed)
    return {**key, **own, **measure_rival(training, testing)}


def show(line: Line) -> None:
    """Print the errors of a seed."""
    everything = f"{line['ours_everything']:.4f} {line['rival_everything']:.4f}"
    cells = [
        " ".join(f"{line[who][place]:.4f}" for who in ("ours", "plain", "capped"))
        for place in range(len(LEVELS))
    ]
    print(f"{line['seed']:4d} | {' | '.join(cells)} | {everything}", flush=True)


def show_ratios(lines: Sequence[Line]) -> None:
    """Print mean ratios of errors, ours by the rival's, and their standard errors."""
    for who in ("plain", "capped"):
        ratios = np.array([np.divide(line["ours"], line[who]) for line in lines])
        errors = ratios.std(axis=0, ddof=1) / np.sqrt(len(lines))
        cells = [
            f"{mean:.3f} ± {error:.3f}"
            for mean, error in zip(ratios.mean(axis=0), errors, strict=True)
        ]
        print(f"ours by {who:6s} | {' | '.join(cells)} | mean {ratios.mean():.3f}")


def main() -> int:
    """Measure the seeds that are missing, and print all."""
    parser = argparse.ArgumentParser(prog="benchmarks.buying.vendors")
    parser.add_argument("--seeds", type=int, default=N_SEEDS, help="so many")
    parser.add_argument("--kept", type=Path, default=KEPT, help="where lines are kept")
    parser.add_argument("--again", action="store_true", help="all of them anew")
    given = parser.parse_args()
    by_seed = kept_lines.read([] if given.again else [given.kept], ("seed",), VERSION)
    titles = " | ".join(f"{level:.2f}: ours plain capped" for level in LEVELS)
    print(f"seed | {titles} | everything: ours rival", flush=True)
    for seed in range(given.seeds):
        if (seed,) not in by_seed:
            by_seed[seed,] = measure(seed)
            kept_lines.add(given.kept, by_seed[seed,])
            print(f"seed {seed} done", file=sys.stderr, flush=True)
    lines = [by_seed[key] for key in sorted(by_seed)][: given.seeds]
    for line in lines:
        show(line)
    if len(lines) > 1:
        show_ratios(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())

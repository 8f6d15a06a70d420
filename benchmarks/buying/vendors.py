"""Error at equal true spend, empty answers paid: python -m benchmarks.buying.vendors.

Ours is trained on 1,500 made cases and plays 4,000 others with mean budgets; beside it
stands `rival`, cheapest first with calibrated stopping. Each vendor that is asked costs
its price, whether it answers or not: what ours spends is added up here, whatever the
core charges. Errors are interpolated between neighbouring mean spends. Each seed is a
line of build/buying/vendors.jsonl; the same command goes on where it was stopped.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.model.ensemble import Ensemble
from askless.core.panels.ladders import fit_ladder
from askless.core.session.state import Aim
from askless.core.simulation.simulate import class_probabilities, simulate
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import make_ensemble
from askless.core.training.params import BoostParams
from askless.core.work import run_to_end
from benchmarks.buying import rival
from benchmarks.buying.cases import PRICES, VENDOR_OF, make_cases
from benchmarks.data import MICROS
from benchmarks.documents import ROOT
from benchmarks.frontier.jobs import find_core

N_TRAIN, N_TEST, N_SEEDS = 1500, 4000, 10
LEVELS = (0.05, 0.10, 0.15, 0.25)
# Mean budgets that are played; levels lie between what two of them spend.
AIMS = (0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.065, 0.08, 0.1, 0.12, 0.15, 0.18)
AIMS += (0.22, 0.26, 0.3, 0.35, 0.4)
KEPT = ROOT / "build" / "buying" / "vendors.jsonl"
# Raise it when the meaning of a figure changes.
VERSION = 1
Line = dict[str, Any]


def train(training: Dataset, seed: int) -> Ensemble:
    """Train panels on all rows, as the pipeline does after its folds."""
    ladder = run_to_end(fit_ladder(training, seed))
    ensemble = make_ensemble(training, BoostParams("panels"), ())
    return replace(ensemble, panels=ladder)


def play(
    ensemble: Ensemble, testing: Dataset, aim: Aim | None, seed: int
) -> tuple[float, float, float]:
    """Return true mean spend, what the core charged, and the error.

    Without an aim everything is bought.
    """
    policy = None if aim else "panels"
    walks = simulate(
        ensemble, testing.values, [None], policy, seed, aims=[aim], spend="all"
    )
    labels = class_probabilities(ensemble, walks)[:, 0].argmax(axis=1)
    spent = sum_prices(walks.ranks > 0).mean()
    error = (labels != testing.targets).mean()
    return float(spent), float(walks.spent.mean() / MICROS), float(error)


def sum_prices(is_asked: np.ndarray) -> FloatArray:
    """Return the prices of the vendors asked; (n_rows, n_features) -> (n_rows,)."""
    owners = np.eye(PRICES.size)[VENDOR_OF]
    asked: FloatArray = (is_asked @ owners > 0) @ PRICES
    return asked


def measure_ours(training: Dataset, testing: Dataset, seed: int) -> Line:
    start = time.process_time()
    ensemble = train(training, seed)
    seconds = time.process_time() - start
    aims = [Aim(mean_budget=round(aim * MICROS)) for aim in AIMS]
    played = [play(ensemble, testing, aim, seed) for aim in aims]
    spends, charged, errors = np.array(played).T
    everything = play(ensemble, testing, None, seed)
    return {
        "ours": [rival.at_spend(spends, errors, level) for level in LEVELS],
        "ours_everything": everything[2],
        "spends": spends.tolist(),
        "charged": charged.tolist(),
        "errors": errors.tolist(),
        "training_s": round(seconds, 1),
    }


def measure_rival(training: Dataset, testing: Dataset) -> Line:
    stopper = rival.fit_stopper(training, testing)
    thresholds = rival.list_thresholds(stopper.held_out)
    figures: Line = {"plain": [], "capped": []}
    for level in LEVELS:
        capped = rival.choose_most(stopper, training.targets, level)
        for name, most in (("plain", PRICES.size), ("capped", capped)):
            ends = rival.follow(stopper.testing, testing.targets, thresholds, most)
            figures[name].append(rival.at_spend(*ends, level))
    labels = stopper.testing[-1].argmax(axis=1)
    return {**figures, "rival_everything": float((labels != testing.targets).mean())}


def measure(seed: int) -> Line:
    """Measure both on the cases of a seed."""
    random = np.random.default_rng(seed)
    training, testing = make_cases(N_TRAIN, random), make_cases(N_TEST, random)
    key = {"seed": seed, "version": VERSION, "core": find_core()}
    ours = measure_ours(training, testing, seed)
    return {**key, **ours, **measure_rival(training, testing)}


def read(path: Path) -> list[Line]:
    """Read the lines of this version; of one seed the last."""
    texts = path.read_text().splitlines() if path.is_file() else []
    lines = [json.loads(text) for text in texts]
    by_seed = {line["seed"]: line for line in lines if line["version"] == VERSION}
    return [by_seed[seed] for seed in sorted(by_seed)]


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
    lines = [] if given.again else read(given.kept)
    done = {line["seed"] for line in lines}
    titles = " | ".join(f"{level:.2f}: ours plain capped" for level in LEVELS)
    print(f"seed | {titles} | everything: ours rival", flush=True)
    for seed in range(given.seeds):
        if seed not in done:
            line = measure(seed)
            given.kept.parent.mkdir(parents=True, exist_ok=True)
            with given.kept.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(f"seed {seed} done", file=sys.stderr, flush=True)
            lines.append(line)
    lines = sorted(lines, key=lambda line: line["seed"])[: given.seeds]
    for line in lines:
        show(line)
    if len(lines) > 1:
        show_ratios(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())

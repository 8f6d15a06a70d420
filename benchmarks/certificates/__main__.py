"""Check certificates on rows set aside anew 1,000 times: `make certificates`.

Trains each model once and fills in docs/certificates.md.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from askless.core.model.certificates import EARLY_RULES
from askless.core.model.ensemble import Ensemble
from askless.core.pipeline.certificates import UnseenRows, list_traces
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.train import train
from askless.core.session.traces import find_stops
from askless.core.table.check import CheckedTable
from askless.core.table.dataset import Dataset
from askless.core.table.spec import TableSpec
from askless.core.training.params import BoostParams
from askless.core.work import end_of
from benchmarks import data
from benchmarks.certificates.repetitions import Population
from benchmarks.documents import fill, percent

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "certificates.md"

SEED = 11
SETS = ("thyroid_ann", "adult")
ALGORITHMS = ("adaboost_bt_smoothed", "panels")
ALPHAS = (0.01, 0.05, 0.1)
N_TRAIN, N_POPULATION, N_ASIDE, N_REPETITIONS = 750, 2500, 500, 1000
# Of the rows trained on; only the folds of these models are asked for more.
SHARE, N_FOLDS = 0.2, 2
# Budgets in usual prices.
BUDGETS = (6,)


def draw(name: str) -> tuple[Dataset, Dataset]:
    """Draw rows to train on, with prices, and a population that is never seen."""
    table = data.load(name, is_two_class=False)
    random = np.random.default_rng([SEED, *name.encode()])
    order = random.permutation(table.n_samples)[: N_TRAIN + N_POPULATION]
    prices = np.rint(random.uniform(0.1, 1.9, table.n_features) * data.MICROS)
    training = table.training(order[:N_TRAIN], prices.astype(np.int64))
    return training, table.encode(order[N_TRAIN:], training.catalogue)


def fit(training: Dataset, algorithm: str) -> Ensemble:
    """Train one model with certificates."""
    spec = TrainingSpec(
        TableSpec("label"),
        boost=BoostParams(algorithm),
        folds=N_FOLDS,
        certify_share=SHARE,
        certify_budgets=tuple(budget * data.MICROS for budget in BUDGETS),
    )
    return end_of(train(CheckedTable(training, None, ()), spec)).ensemble


def list_populations(ensemble: Ensemble, rows: Dataset) -> Iterator[Population]:
    """Play all rows of a population under each budget; yields one for each."""
    certification = ensemble.certification
    assert certification is not None, "it was asked for"
    levels = certification.levels
    limits, policies = [one.budget for one in levels], [one.policy for one in levels]
    played = list_traces(UnseenRows(ensemble, rows), limits, policies, SEED)
    for level, traces in zip(levels, played, strict=True):
        stops = find_stops(traces, EARLY_RULES, level.bounds)
        whole = float(traces.spends[:, -1].mean())
        yield Population(certification, level, stops, whole)


def list_rows(name: str) -> Iterator[tuple[object, ...]]:
    """Yield the rows of the table on one set."""
    training, rows = draw(name)
    for algorithm in ALGORITHMS:
        for one in list_populations(fit(training, algorithm), rows):
            budget = one.level.budget
            shown = "unlimited" if budget is None else f"{budget / data.MICROS:g}"
            for alpha in ALPHAS:
                found = one.repeat(alpha, N_ASIDE, N_REPETITIONS, SEED)
                row = (
                    *(name, f"`{algorithm}`", shown, f"{alpha:g}"),
                    percent(found.mean_disagreement),
                    percent(found.share_above, 1),
                    percent(found.share_above_somewhere, 1),
                    percent(found.share_certified, 0),
                    percent(found.mean_saved, 0),
                )
                print(*row, sep="  ", file=sys.stderr)
                yield row


def main() -> int:
    """Play all sets and fill in the document."""
    rows: list[tuple[object, ...]] = []
    found, lacking = data.read_each(SETS, lambda name: [*list_rows(name)])
    for why in lacking.values():
        print(f"skipped {why}", file=sys.stderr)
    for its_rows in found.values():
        rows += its_rows
    text = fill(DOCUMENT.read_text(encoding="utf-8"), {"repetitions": rows})
    DOCUMENT.write_text(text, encoding="utf-8")
    print(f"wrote {DOCUMENT}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())

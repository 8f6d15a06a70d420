"""Promised and measured errors: python -m benchmarks.frontier.promises [NAME ...].

A model is trained with folds on two thirds of a table's rows. Under each budget of its
curve the first question promises an error for the end; the other rows measure it.
"""

import argparse
import sys
from typing import NamedTuple

import numpy as np

from askless.app.batch.curves import list_promised_errors
from askless.core.arrays import FloatArray
from askless.core.model.model import Model
from askless.core.simulation.blocks import Conditions
from askless.core.simulation.curves import evaluate
from askless.core.table.dataset import Dataset
from benchmarks.documents import keep_rows
from benchmarks.frontier.shuffled import load_rows, train_whole

NAMES = ("heart_cleveland", "pima", "australian", "house_votes", "ionosphere")


class Promised(NamedTuple):
    """Promises of one model; (n_budgets,)."""

    #: promised minus measured error
    gaps: FloatArray
    #: of the gap, of both the rows that promise and those that measure
    standard_errors: FloatArray


def judge_promises(model: Model, test: Dataset) -> Promised:
    """Return how far promises are from the errors on rows that the model never saw."""
    assert model.curve is not None
    played = Conditions(model.curve.budgets)
    promised = np.array(list_promised_errors(model.ensemble, played), np.float64)
    curve = evaluate(model.ensemble, test, played.budgets)
    measured = np.array(curve.errors_calibrated)
    share = (promised + measured) / 2.0
    per_row = 1.0 / test.n_samples + 1.0 / model.curve.n_samples
    return Promised(promised - measured, np.sqrt(share * (1.0 - share) * per_row))


def main() -> int:
    """Fill in how far promises are from what is measured."""
    parser = argparse.ArgumentParser(prog="benchmarks.frontier.promises")
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--effort", default="fast")
    given = parser.parse_args()
    for name in given.names:
        parts = []
        for seed in range(given.draws):
            rows = load_rows(name, sys.maxsize, np.random.default_rng(seed))
            # Rows come in random order.
            n_trained = 2 * rows.n_samples // 3
            model = train_whole(rows.take(slice(n_trained)), 5, given.effort, seed)
            parts.append(judge_promises(model, rows.take(slice(n_trained, None))))
            gap = f"{100 * parts[-1].gaps.mean():+.1f}"
            print(name, seed, gap, file=sys.stderr, flush=True)
        gaps, errors = (np.concatenate(column) for column in zip(*parts, strict=True))
        within = np.mean(np.abs(gaps) <= 2.0 * errors)
        # Budgets of one model share their rows, so draws are counted.
        means = np.array([part.gaps.mean() for part in parts])
        error = means.std(ddof=1) / np.sqrt(means.size)
        row = [name, means.size, gaps.size, f"{100 * gaps.mean():+.1f}"]
        row += [f"{100 * error:.1f}", f"{100 * within:.0f} %"]
        keep_rows("frontier", "promises", [row], n_keys=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Play and judge rows of known class, one block of a table at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.model.votes import multilabel_votes
from askless.core.session.probability import decide_label
from askless.core.session.rows.walks import Walks
from askless.core.session.state import Aim, Spend
from askless.core.simulation.simulate import class_probabilities, class_votes, simulate

# Most margins of the rows that are played at a time: 64 MB.
MAX_MARGINS = 1 << 23

# Most chances that are kept for figures: 134 MB.
MAX_CHANCES = 1 << 24


@dataclass(frozen=True)
class Conditions:
    """Conditions of simulated sessions; budgets in micro-units, None: unlimited."""

    budgets: Sequence[int | None]
    policy: str | None = None
    seed: int = 0
    aims: Sequence[Aim | None] | None = None
    spend: Spend = "worthwhile"


class Block(NamedTuple):
    """Consecutive rows of a table."""

    #: (n_rows, n_features), as in `Dataset.values`
    values: FloatArray
    #: as in `Dataset.targets`
    targets: IntArray
    #: (n_rows,); see `simulate`
    streams: Sequence[int]
    #: rows of the table before it
    n_before: int = 0


class PlayedBlock(NamedTuple):
    """Ends of the sessions of a block's rows; (n_rows, n_budgets)."""

    #: whether the vote is wrong; for several labels, the share that is wrong
    wrong_votes: FloatArray | BoolArray
    #: the same for the label decided from the probability
    wrong_labels: FloatArray | BoolArray
    #: in micro-units
    spent: IntArray
    #: (n_kept, n_budgets, n_classes), of the rows that figures are computed from
    chances: FloatArray


def choose_stride(ensemble: Ensemble, n_rows: int, n_budgets: int) -> int:
    """Return n if figures are computed from every n-th row of a table.

    It is the least n that keeps at most `MAX_CHANCES` chances.
    """
    n_chances = n_rows * n_budgets * len(ensemble.classes)
    return max(1, -(-n_chances // MAX_CHANCES))


def slice_kept_rows(n_before: int, stride: int) -> slice:
    """Return a slice of the rows of a block that are every `stride`-th of the table.

    `n_before` counts the rows of the table before the block.
    """
    # -a % b: how far it is from a to the next multiple of b.
    return slice(-n_before % stride, None, stride)


def simulate_block(
    ensemble: Ensemble, block: Block, played: Conditions, stride: int = 0
) -> PlayedBlock:
    """Simulate a session of each row of a block under each budget.

    Chances are kept of every `stride`-th row of the table; 0: of none. The results of a
    row don't depend on the block that it is in.
    """
    n_rows, n_features = block.values.shape
    n_margins = len(played.budgets) * max(ensemble.n_outputs, n_features)
    n_at_once, parts = max(1, MAX_MARGINS // max(1, n_margins)), []
    for start in range(0, max(1, n_rows), n_at_once):
        rows = slice(start, start + n_at_once)
        walks = simulate(
            ensemble,
            # The same rows are known again by their array, which a slice hides.
            block.values if n_at_once >= n_rows else block.values[rows],
            played.budgets,
            played.policy,
            played.seed,
            streams=block.streams[rows],
            aims=played.aims,
            spend=played.spend,
        )
        targets = block.targets[rows]
        wrong_votes, wrong_labels, chances = evaluate_ends(ensemble, targets, walks)
        # `slice(0)` is empty; the copy lets go of the chances of all other rows.
        row_slice = (
            slice_kept_rows(block.n_before + start, stride) if stride else slice(0)
        )
        parts.append(
            PlayedBlock(
                wrong_votes, wrong_labels, walks.spent, chances[row_slice].copy()
            )
        )
    return PlayedBlock(*map(np.concatenate, zip(*parts, strict=True)))


def evaluate_ends(
    ensemble: Ensemble, targets: IntArray, walks: Walks
) -> tuple[FloatArray | BoolArray, FloatArray | BoolArray, FloatArray]:
    """Return whether votes and labels of rows are wrong, and the chances at the end.

    Shapes (n_rows, n_budgets), and (n_rows, n_budgets, n_classes) for chances. If a row
    may have several labels: the share of them that is wrong, and no chances.
    """
    truth = targets[:, None]
    if ensemble.is_multilabel:
        shares = (multilabel_votes(ensemble, walks.margins) != truth).mean(axis=-1)
        return shares, shares, np.empty(0)
    chances = class_probabilities(ensemble, walks)
    is_wrong = class_votes(ensemble, walks) != truth
    return is_wrong, decide_label(ensemble, chances) != truth, chances

"""Plays and judges rows of known class, one block of a table at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from core.arrays import BoolArray, FloatArray, IntArray
from core.model.ensemble import Ensemble
from core.model.votes import label_votes
from core.session.probability import decide
from core.session.state import Aim
from core.session.walks import Walks
from core.simulation.simulate import class_probabilities, class_votes, walk

# Most margins of the rows that are played at a time: 64 MB.
MAX_MARGINS = 1 << 23

# Most chances that are kept for figures: 134 MB.
MAX_CHANCES = 1 << 24


@dataclass(frozen=True)
class Conditions:
    """How rows are played; budgets in micro-units, None: unlimited."""

    budgets: Sequence[int | None]
    policy: str | None = None
    seed: int = 0
    aims: Sequence[Aim | None] | None = None


class Block(NamedTuple):
    """Consecutive rows of a table."""

    #: (n_rows, n_features), as in `Dataset.values`
    values: FloatArray
    #: as in `Dataset.targets`
    targets: IntArray
    #: (n_rows,); see `walk`
    streams: Sequence[int]
    #: rows of the table before it
    n_before: int = 0


class PlayedBlock(NamedTuple):
    """How the sessions of a block end; (n_rows, n_budgets)."""

    #: whether the vote is wrong; for several labels, the share that is wrong
    wrong_votes: FloatArray | BoolArray
    #: the same for the label decided from the probability
    wrong_labels: FloatArray | BoolArray
    #: in micro-units
    spent: IntArray
    #: (n_kept, n_budgets, n_classes), of the rows that figures are computed from
    chances: FloatArray


def find_stride(ensemble: Ensemble, n_rows: int, n_budgets: int) -> int:
    """Return n, where figures are computed from every n-th row of a table."""
    n_chances = n_rows * n_budgets * len(ensemble.classes)
    return max(1, -(-n_chances // MAX_CHANCES))


def keep_rows(n_before: int, stride: int) -> slice:
    """Return the rows of a block that figures use, every n-th of the table."""
    return slice(-n_before % stride, None, stride)


def play_block(
    ensemble: Ensemble, block: Block, played: Conditions, stride: int = 0
) -> PlayedBlock:
    """Play each row of a block as a session under each condition.

    Chances are kept of every `stride`-th row of the table; 0: of none. Which block a
    row lies in changes nothing.
    """
    n_rows, n_features = block.values.shape
    n_margins = len(played.budgets) * max(ensemble.n_outputs, n_features)
    n_at_once, parts = max(1, MAX_MARGINS // max(1, n_margins)), []
    for start in range(0, max(1, n_rows), n_at_once):
        rows = slice(start, start + n_at_once)
        walks = walk(
            ensemble,
            block.values[rows],
            played.budgets,
            played.policy,
            played.seed,
            streams=block.streams[rows],
            aims=played.aims,
        )
        wrong_votes, wrong_labels, chances = judge(ensemble, block.targets[rows], walks)
        kept = keep_rows(block.n_before + start, stride) if stride else slice(0)
        parts.append(
            PlayedBlock(wrong_votes, wrong_labels, walks.spent, chances[kept].copy())
        )
    return PlayedBlock(*map(np.concatenate, zip(*parts, strict=True)))


def judge(
    ensemble: Ensemble, targets: IntArray, walks: Walks
) -> tuple[FloatArray | BoolArray, FloatArray | BoolArray, FloatArray]:
    """Return where votes and labels of rows are wrong, and the chances at the end.

    (n_rows, n_budgets); of several labels the share that is wrong, and no chances.
    """
    truth = targets[:, None]
    if ensemble.is_multilabel:
        shares = (label_votes(ensemble, walks.margins) != truth).mean(axis=-1)
        return shares, shares, np.empty(0)
    chances = class_probabilities(ensemble, walks)
    is_wrong = class_votes(ensemble, walks) != truth
    return is_wrong, decide(ensemble, chances) != truth, chances

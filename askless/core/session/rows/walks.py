"""Hold the ends of the sessions of many rows, and simulate them one by one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from askless.core import kernels
from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.model.ensemble import Ensemble
from askless.core.session.answers import list_revealed, take_answer
from askless.core.session.position import UNLIMITED
from askless.core.session.state import Aim, Answer, State, StopRule


@dataclass(frozen=True)
class Standing:
    """The current vote of one session, or of many; shape (...)."""

    #: (..., n_outputs); votes by the alpha that may vote, or by the draws
    margins: FloatArray
    #: alpha that has voted, by all alpha
    known_shares: FloatArray
    #: (..., n_outputs); F = sum(alpha h) over what is known, of draws an estimate
    scores: FloatArray
    #: what a policy keeps besides: draws, -1 for the full vote; or stages
    marks: IntArray


@dataclass(frozen=True)
class Walks(Standing):
    """Ends of the sessions of every row under every budget; (n_rows, n_budgets)."""

    #: in micro-units
    spent: IntArray
    n_asked: IntArray
    #: (n_rows, n_features); the order of asking under the largest budget, 0: not
    #: asked; under budget b the features of rank 1 to `n_asked`
    ranks: IntArray
    #: (n_budgets,); who asked, which `walk_rows` says
    policies: tuple[str, ...] = ()

    def take(self, budgets: Sequence[int] | IntArray) -> "Walks":
        """Return the walks under some budgets, by their positions."""
        names = vars(self).keys() - {"ranks", "policies"}
        taken = {name: vars(self)[name][:, budgets] for name in names}
        policies = tuple(self.policies[int(budget)] for budget in budgets)
        return replace(self, **taken, policies=policies)


@dataclass(frozen=True)
class SimulatedRows:
    """Rows whose sessions are simulated, and their budgets."""

    #: (n_rows, n_features), as in `Dataset.values`
    values: FloatArray
    #: (n_budgets,), ascending, in micro-units
    budgets: IntArray
    seed: int
    #: (n_rows,); row i draws from the stream (seed, streams[i])
    streams: Sequence[int]
    #: whether `Walks.ranks` must be right where nothing else depends on the order
    needs_ranks: bool = False
    #: (n_budgets,); empty: no aim under any budget
    aims: tuple[Aim | None, ...] = ()


def make_ends(
    ensemble: Ensemble, simulated: SimulatedRows, n_budgets: int
) -> kernels.Ends:
    """Return zeroed arrays for the ends of sessions under the first budgets."""
    shape = (simulated.values.shape[0], n_budgets)
    return kernels.Ends(
        votes=np.zeros((*shape, ensemble.n_outputs)),
        alphas=np.zeros(shape),
        spent=np.zeros(shape, np.int64),
        n_asked=np.zeros(shape, np.int64),
        marks=np.zeros(shape, np.int64),
        ranks=np.zeros(simulated.values.shape, np.int64),
    )


def open_session(
    ensemble: Ensemble, simulated: SimulatedRows, policy: str, row: int, column: int
) -> State:
    """Return the state in which a row's session under a budget begins.

    It spends the budget: `walk_rows` has limited budgets to what is worth it.
    """
    limit = int(simulated.budgets[column])
    n_features = len(ensemble.catalogue.features)
    return State(
        policy=policy,
        budget=None if limit == UNLIMITED else limit,
        seed=simulated.seed,
        stream=int(simulated.streams[row]),
        stop=StopRule(certain=False, spend="all"),
        outcomes=(None,) * n_features,
        values=(math.nan,) * n_features,
        aim=simulated.aims[column] if simulated.aims else None,
    )


def reveal(
    ensemble: Ensemble,
    state: State,
    feature_idx: int,
    values: FloatArray,
    out_ranks: IntArray,
) -> State:
    """Answer a question with the row's values: a feature, or all of its bundle.

    Returns the state after it; `out_ranks` (n_features,) gets the order of asking.
    Members with a value come first, since they are charged and missing ones are not.
    """
    revealed = sorted(list_revealed(ensemble.catalogue, state, feature_idx))
    first = int(out_ranks.max()) + 1
    out_ranks[revealed] = np.arange(first, first + len(revealed))
    is_missing: BoolArray = np.isnan(values)
    for idx in sorted(revealed, key=lambda idx: bool(is_missing[idx])):
        given = Answer(idx, "unavailable")
        if not is_missing[idx]:
            given = Answer(idx, "value", float(values[idx]))
        state = take_answer(ensemble.catalogue, state, given)
    return state

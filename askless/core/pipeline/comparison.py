"""Compare two policies on held-out rows: under which budgets ending early pays."""

from collections.abc import Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.model.ensemble import BudgetRange, Ensemble
from askless.core.session.probability import decide_label
from askless.core.simulation.figures import LEAST_CHANCE
from askless.core.simulation.simulate import class_probabilities, simulate
from askless.core.table.dataset import Dataset

# Number of budget ranges, each with the same number of budgets.
N_RANGES = 3

# The thrifty policy may err more by this many standard errors of the difference, far
# less than rows can show.
ERROR_SLACK = 0.5

# Its log-loss may be higher by this many: a case that ends early is less certain, but
# beyond this it is worse off.
LOSS_SLACK = 2.0

# Least share of the spend that it must save; less is not worth a second list.
LEAST_SAVED = 0.1


class PlayedRows(NamedTuple):
    """Costs and spends of held-out rows, (n_policies, n_rows, n_budgets)."""

    #: error cost of the label; without error costs, 1 where it is wrong
    costs: FloatArray
    log_losses: FloatArray
    #: in micro-units
    spends: FloatArray

    def average(self, budget_idxs: IntArray) -> "PlayedRows":
        """Return the means over some budgets, by position; (n_policies, n_rows)."""
        return PlayedRows(*(array[:, :, budget_idxs].mean(axis=2) for array in self))

    def lean(self, budget_idxs: IntArray) -> "PlayedRows":
        """Return the means over some budgets, losses halfway to those over all.

        Few rows judge a range, and what differs between ranges is mostly noise.
        """
        own, everything = self.average(budget_idxs), self.average(np.arange(self.size))
        return PlayedRows(
            (own.costs + everything.costs) / 2.0,
            (own.log_losses + everything.log_losses) / 2.0,
            own.spends,
        )

    def count_more_errors(self, weights: FloatArray) -> float:
        """Return by how much the second policy errs more under the last budget."""
        return float(weights @ (self.costs[1, :, -1] - self.costs[0, :, -1]))

    @property
    def size(self) -> int:
        """Number of budgets."""
        return int(self.spends.shape[2])


@dataclass(frozen=True, slots=True)
class OwnQuestions:
    """The gain of own questions under each budget, on rows that no fold has seen."""

    #: in micro-units, ascending; None: unlimited
    budgets: tuple[int | None, ...]
    #: log-loss saved, in standard errors
    leads: tuple[float, ...]
    #: error cost saved; without error costs the share of errors
    gains: tuple[float, ...]
    in_force: tuple[bool, ...]
    #: mean of the gains where in force, else over all budgets, and its standard error
    mean_gain: float
    mean_error: float
    #: in micro-units; price of everything, a budget from which on nothing limits
    whole_price: int


@dataclass(frozen=True, slots=True)
class Comparison:
    """Losses and spends of two policies under each of some budgets."""

    #: in micro-units, ascending; None: unlimited
    budgets: tuple[int | None, ...]
    #: by policy and budget: the share of wrong labels, or their mean error cost
    losses: tuple[tuple[str, tuple[float, ...]], ...]
    log_losses: tuple[tuple[str, tuple[float, ...]], ...]
    #: mean spend, in micro-units
    spends: tuple[tuple[str, tuple[float, ...]], ...]
    #: which policy is kept for which budgets
    ranges: tuple[BudgetRange, ...]
    #: what own questions of each case gain; None: not judged
    own_questions: OwnQuestions | None = None


def compare_two_policies(
    pairs: Sequence[tuple[Ensemble, Dataset]],
    policies: tuple[str, str],
    budgets: Sequence[int | None],
    seed: int,
    listed: Sequence[PlayedRows],
) -> Generator[None, None, Comparison]:
    """Compare a policy with a thriftier one on rows that their ensembles never saw.

    The first policy is kept wherever the second doesn't save enough
    (`compute_mean_saving`), and in the last range if the second errs more without a
    limit: who names no limit saves nothing at the price of errors. The policy changes
    at most once as budgets grow. `listed` is the first policy, played on each pair.
    Yields after each ensemble.
    """
    thrifty = []
    for ensemble, rows in pairs:
        thrifty.append(simulate_policy(ensemble, rows, budgets, policies[1], seed))
        yield
    joined = (
        map(np.concatenate, zip(*parts, strict=True)) for parts in (listed, thrifty)
    )
    played = PlayedRows(*map(np.array, zip(*joined, strict=True)))
    weights = join_weights(pairs)
    row_groups = number_groups([rows for _, rows in pairs])
    ranges = np.array_split(np.arange(len(budgets)), min(N_RANGES, len(budgets)))
    # Mean savings times the number of budgets, so that ranges can be added up.
    savings = [
        idxs.size * compute_mean_saving(played.lean(idxs), weights, row_groups)
        for idxs in ranges
    ]
    if budgets[-1] is None and played.count_more_errors(weights) > 0.0:
        savings[-1] = 0.0
    is_thrifty = choose_thrifty_ranges(savings)

    def average(figures: FloatArray) -> tuple[tuple[str, tuple[float, ...]], ...]:
        means = zip(policies, (weights @ figures).tolist(), strict=True)
        return tuple((policy, tuple(by_budget)) for policy, by_budget in means)

    ends = [budgets[idxs[-1]] for idxs in ranges]
    return Comparison(
        budgets=tuple(budgets),
        losses=average(played.costs),
        log_losses=average(played.log_losses),
        spends=average(played.spends),
        ranges=merge_ranges(
            BudgetRange(end, policies[int(is_second)])
            for end, is_second in zip(ends, is_thrifty, strict=True)
        ),
    )


def join_weights(pairs: Sequence[tuple[Ensemble, Dataset]]) -> FloatArray:
    """Return weights of the rows of all parts, which sum to 1; (n_rows,).

    Each fold's weights sum to 1; together it counts by its share of the rows.
    """
    sizes = np.array([rows.n_samples for _, rows in pairs], np.float64)
    weights = np.concatenate([rows.weights for _, rows in pairs])
    shares: FloatArray = np.repeat(sizes / sizes.sum(), sizes.astype(np.int64))
    return weights * shares


def simulate_policy(
    ensemble: Ensemble,
    rows: Dataset,
    budgets: Sequence[int | None],
    policy: str,
    seed: int,
) -> PlayedRows:
    """Simulate a policy on rows; return costs and spends, (n_rows, n_budgets)."""
    walks = simulate(ensemble, rows.values, budgets, policy, seed)
    chances = class_probabilities(ensemble, walks)
    labels = decide_label(ensemble, chances)
    own = np.take_along_axis(chances, rows.targets[:, None, None], axis=2)[..., 0]
    return PlayedRows(
        compute_error_costs(ensemble, rows.targets, labels),
        -np.log(np.maximum(own, LEAST_CHANCE)),
        walks.spent.astype(np.float64),
    )


def compute_error_costs(
    ensemble: Ensemble, targets: IntArray, labels: IntArray
) -> FloatArray:
    """Return 1 for a wrong label, or its error cost; (n_rows, n_budgets)."""
    costs = 1.0 - np.eye(len(ensemble.classes))
    if ensemble.error_costs is not None:
        costs = np.array(ensemble.error_costs, np.float64)
    return costs[targets[:, None], labels]


def number_groups(parts: Sequence[Dataset]) -> IntArray:
    """Return the number of each row's group over several parts of a table; (n_rows,).

    Rows of different parts never share a number.
    """
    pairs = [
        np.column_stack((np.full(rows.n_samples, part), rows.row_group_idxs))
        for part, rows in enumerate(parts)
    ]
    return np.unique(np.concatenate(pairs), axis=0, return_inverse=True)[1].reshape(-1)


def compute_mean_saving(
    played: PlayedRows, weights: FloatArray, row_groups: IntArray
) -> float:
    """Return the mean spend per case that the second policy saves, 0 if not enough.

    It saves enough if it spends at least `LEAST_SAVED` less, its error cost is higher
    by no more than `ERROR_SLACK` standard errors of the paired difference, and its
    log-loss by no more than `LOSS_SLACK`. The arrays in `played` are (2, n_rows), the
    first policy before the second; `weights` and `row_groups` are (n_rows,).
    """
    before, after = (played.spends @ weights).tolist()
    if after > (1.0 - LEAST_SAVED) * before or before <= after:
        return 0.0
    slacks = (played.costs, ERROR_SLACK), (played.log_losses, LOSS_SLACK)
    for losses, slack in slacks:
        mean, spread = average_differences(losses[1] - losses[0], weights, row_groups)
        if mean > slack * spread:
            return 0.0
    return float(before - after)


def average_differences(
    gaps: FloatArray, weights: FloatArray, row_groups: IntArray
) -> tuple[float, float]:
    """Return the mean of paired differences and its standard error.

    All arguments are (n_rows,); `weights` sum to 1. A row group counts as one case.
    """
    mean = float(gaps @ weights)
    sums = np.bincount(row_groups, weights * (gaps - mean))
    return mean, float(np.sqrt((sums**2).sum()))


def choose_thrifty_ranges(savings: Sequence[float]) -> tuple[bool, ...]:
    """Return for each range of budgets whether the thrifty policy asks.

    It asks only where it saves, and either in the first ranges or in the last ones, so
    that the policy switches at most once. Of these choices the one that saves most in
    all is taken; of equal ones the one of fewest ranges.
    """
    n_ranges = len(savings)
    lengths = range(n_ranges + 1)
    choices = [
        tuple((place < length) == is_first for place in range(n_ranges))
        for length in lengths
        for is_first in (True, False)
    ]
    allowed = [
        choice
        for choice in choices
        if all(saved > 0 for saved, asks in zip(savings, choice, strict=True) if asks)
    ]

    def rank(choice: tuple[bool, ...]) -> tuple[float, int]:
        saved = sum(s for s, asks in zip(savings, choice, strict=True) if asks)
        return saved, -sum(choice)

    return max(allowed, key=rank)


def merge_ranges(ranges: Iterable[BudgetRange]) -> tuple[BudgetRange, ...]:
    """Return ascending ranges of budgets, neighbours of one policy merged."""
    merged: list[BudgetRange] = []
    for policy_range in ranges:
        if merged and merged[-1].policy == policy_range.policy:
            # The range before grows to this end.
            merged.pop()
        merged.append(policy_range)
    return tuple(merged)

"""Validate a model by ensembles of folds, on rows that these never saw."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.catalogue.prices import total_cost
from askless.core.codes.folds import deal_strata
from askless.core.model.ensemble import Calibration, Ensemble, Knee
from askless.core.model.figures import Estimate, Figures
from askless.core.model.model import Curve
from askless.core.model.votes import TIE
from askless.core.pipeline.budgets import (
    compute_held_out_losses,
    compute_knees,
    list_purchase_budgets,
    list_usual_budgets,
    measure_optimism,
)
from askless.core.pipeline.calibration import HeldOutVotes, calibrate, join_votes
from askless.core.pipeline.certificates import UnseenRows
from askless.core.pipeline.comparison import (
    Comparison,
    compare_two_policies,
    simulate_policy,
)
from askless.core.pipeline.own_questions import (
    add_own_questions,
    evaluate_own_questions,
)
from askless.core.session.policies import POLICIES
from askless.core.simulation.curves import evaluate, make_curve, simulate_rows
from askless.core.simulation.figures import (
    ScoredRows,
    compute_figures,
    cross_fit_rare,
)
from askless.core.simulation.purchases import Purchases
from askless.core.simulation.simulate import simulate
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import ALGORITHMS
from askless.core.work import approach_share, convert_steps

# Most budgets at which policies are compared.
MAX_COMPARED = 12

# Most budgets whose sessions calibrations are fitted on.
MAX_BUDGETS = 12

# Most held-out rows per fold that calibrations are fitted on: enough for few numbers.
MAX_ROWS = 2000

# The smallest budget of a preview is the price of all features, halved so often.
HALVINGS = 6

# Shares of a validation done after two of its three steps; estimates.
CALIBRATED, COMPARED = 0.5, 0.8

# Most numbers in the votes per fold that calibrations are fitted on. Four times as many
# took 1.4 to 1.7 times as long; the log-loss on other rows was the same to .001.
MAX_VOTES = 1 << 14

# The same for so many classes that each row is played once.
MAX_NUMBERS = 1 << 18


Calibrations = tuple[tuple[str, Calibration], ...]


class Validation(NamedTuple):
    """The figures of an ensemble on held-out rows."""

    curve: Curve
    calibrations: Calibrations
    #: None if the algorithm has a single policy
    comparison: Comparison | None
    #: curve of the same rows if the first policy always asked; None: it always does
    fixed: Curve | None = None
    #: what held-out rows spend under each budget of the curve, in micro-units
    spends: tuple[float, ...] = ()
    #: what the model itself buys under each budget of the curve, played on some rows
    purchases: tuple[Purchases, ...] = ()
    #: which part of each budget of the curve is worth spending
    knees: tuple[Knee, ...] = ()


def validate(
    whole: Ensemble,
    folds: Sequence[UnseenRows],
    n_trained: int,
    seed: int,
    named: Sequence[int] = (),
) -> Generator[float, None, Validation]:
    """Compute curve and calibrations from ensembles and rows that they never saw.

    Yields the share of the work done, 0 to 1. The purchases of `whole`, the ensemble
    trained on every row, give the budgets; `named` are more of them, in micro-units.
    The ensembles of folds are trained on `n_trained` rows each; `seed` is that of
    draws. If an algorithm has several policies to choose from, the curve is that of the
    ones kept.
    """
    pairs = [(fold.ensemble, fold.rows) for fold in folds]
    if len(pairs) == 1:
        # A calibration is judged on other rows than it is fitted to.
        ensemble, rows = pairs[0]
        pairs = [(ensemble, half) for half in halve_rows(rows, seed)]
    shares = approach_share(0.0, CALIBRATED)
    by_fold, calibrations = yield from convert_steps(
        calibrate_policies(whole, pairs, seed), lambda _: next(shares)
    )
    calibrated = [
        (replace(ensemble, calibrations=fitted), part)
        for (ensemble, part), fitted in zip(pairs, by_fold, strict=True)
    ]
    comparison = yield from compare_policies(whole, calibrated, seed)
    before = calibrated
    if comparison is not None:
        ranges = comparison.ranges
        calibrated = [
            (replace(fold_ensemble, ranges=ranges), part)
            for fold_ensemble, part in calibrated
        ]
    curve, knees = yield from compute_held_out_curve(
        whole, calibrated, n_trained, seed, named
    )
    validation = Validation(curve, calibrations, comparison, knees=knees)
    if comparison is not None and uses_other_policy(comparison, whole):
        curves = [
            evaluate(fold_ensemble, part, curve.budgets, seed=seed)
            for fold_ensemble, part in before
        ]
        validation = validation._replace(fixed=average_curves(curves))
    return validation


def compare_policies(
    whole: Ensemble, pairs: Sequence[tuple[Ensemble, Dataset]], seed: int
) -> Generator[float, None, Comparison | None]:
    """Compare the policies that an algorithm names; None where it names none."""
    candidates = ALGORITHMS[whole.algorithm].candidates
    if candidates is None:
        return None
    thinned = [
        (fold_ensemble, thin_for_calibration(part, fold_ensemble.n_outputs))
        for fold_ensemble, part in pairs
    ]
    shares = approach_share(CALIBRATED, COMPARED)
    budgets = list_purchase_budgets(whole, MAX_COMPARED)
    listed = []
    for ensemble, part in thinned:
        listed.append(simulate_policy(ensemble, part, budgets, candidates[0], seed))
        yield next(shares)
    comparison = yield from convert_steps(
        compare_two_policies(thinned, candidates, budgets, seed, listed),
        lambda _: next(shares),
    )
    own = evaluate_own_questions(thinned, budgets, seed, listed)
    return comparison if own is None else add_own_questions(comparison, own)


def uses_other_policy(comparison: Comparison, whole: Ensemble) -> bool:
    """Return whether another policy than the model's own asks under some budget."""
    return any(
        policy_range.policy != whole.policy for policy_range in comparison.ranges
    )


def compute_held_out_curve(
    whole: Ensemble,
    pairs: Sequence[tuple[Ensemble, Dataset]],
    n_trained: int,
    seed: int,
    named: Sequence[int],
) -> Generator[float, None, tuple[Curve, tuple[Knee, ...]]]:
    """Compute the curve of ensembles on rows that they never saw, with its figures.

    Its sessions spend all of a budget. Returned too is which part of each is worth it;
    there errors and their costs are those that no row has chosen (`measure_optimism`).
    """
    curves, scored = [], []
    amounts = {budget for budget in list_usual_budgets(whole) if budget is not None}
    budgets = (*sorted(amounts.union(named)), None)
    for ensemble, part in pairs:
        ends = simulate_rows(ensemble, part, budgets, seed=seed, has_figures=True)
        assert ends.scored is not None, "of one class per row, by `check_classes`"
        scored.append(ends.scored)
        curves.append(make_curve(part, budgets, ends))
        yield COMPARED + (1.0 - COMPARED) * len(curves) / len(pairs)
    curve = replace(average_curves(curves), n_trained=n_trained)
    joined = join_scored(scored, curves)
    # The figures may score fewer rows than the errors: `simulate_rows` thins very many.
    factor = 1.0 + joined.targets.size / n_trained
    joined = joined._replace(variance_factor=factor)
    fold_idxs = np.repeat(
        np.arange(len(scored)), [part.targets.size for part in scored]
    )
    figures = compute_figures(whole, joined)
    rares = cross_fit_rare(whole, joined, fold_idxs)
    predictive = tuple(
        replace(figure, rare=rare) for figure, rare in zip(figures, rares, strict=True)
    )
    curve = replace(curve, predictive=predictive)
    losses = compute_held_out_losses(pairs[0][0], joined, curve.mean_spends)
    knees = compute_knees(losses, budgets)
    return add_optimism(curve, *measure_optimism(losses, fold_idxs)), knees


def add_optimism(curve: Curve, errors: FloatArray, costs: FloatArray) -> Curve:
    """Return the curve with `measure_optimism`'s errors and costs added."""
    raised = np.clip(np.add(curve.errors_calibrated, errors), 0.0, 1.0)
    figures = curve.predictive
    if figures is not None:
        figures = tuple(map(add_to_mean_cost, figures, costs.tolist()))
    return replace(curve, errors_calibrated=tuple(raised.tolist()), predictive=figures)


def add_to_mean_cost(figures: Figures, cost: float) -> Figures:
    """Return figures with a higher mean cost of errors; without costs the same."""
    expected = figures.expected_cost
    if expected is None:
        return figures
    interval = expected.interval
    if interval is not None:
        interval = (max(0.0, interval[0] + cost), interval[1] + cost)
    raised = Estimate(max(0.0, expected.value + cost), interval)
    return replace(figures, expected_cost=raised)


def preview_curve(ensemble: Ensemble, rows: Dataset, seed: int) -> Curve:
    """Compute the curve of one fold before any calibration, while others are trained.

    Its budgets are the same for every fold: 0, and the price of all features, halved
    again and again. At most `MAX_ROWS` rows are used.
    """
    most = total_cost(ensemble.catalogue)
    budgets = sorted({0, *(most >> halvings for halvings in range(HALVINGS + 1))})
    few = thin_for_calibration(rows, ensemble.n_outputs)
    return evaluate(ensemble, few, budgets, seed=seed)


def calibrate_policies(
    whole: Ensemble, pairs: Sequence[tuple[Ensemble, Dataset]], seed: int
) -> Generator[None, None, tuple[list[Calibrations], Calibrations]]:
    """Fit calibrations to the votes of held-out rows, by policy where they help.

    Returns the calibrations of each pair, fitted to the other pairs, and those fitted
    to all. Where some pairs have hypotheses, these alone count: the others vote on
    nothing.
    """
    voting = [place for place, (ensemble, _) in enumerate(pairs) if ensemble.hypotheses]
    # A calibration is judged on other rows than it is fitted to.
    places = voting if len(voting) > 1 else range(len(pairs))
    by_fold: list[Calibrations] = [() for _ in pairs]
    calibrations: Calibrations = ()
    budgets = list_purchase_budgets(whole, MAX_BUDGETS)
    for policy in (name for name, policy in POLICIES.items() if policy.is_fitted):
        observed = []
        for ensemble, part in (pairs[place] for place in places):
            few = thin_for_calibration(part, ensemble.n_outputs)
            observed.append(collect_votes(ensemble, few, budgets, policy, seed))
            yield
        calibrated = yield from calibrate(observed)
        if calibrated is not None:
            crossed, fitted = calibrated
            calibrations += ((policy, fitted),)
            for place, fold_calibration in zip(places, crossed, strict=True):
                by_fold[place] += ((policy, fold_calibration),)
    return by_fold, calibrations


def halve_rows(rows: Dataset, seed: int) -> list[Dataset]:
    """Split rows in two, stratified by class; row groups stay whole if possible."""
    every = np.arange(rows.n_samples)
    parts = deal_strata(rows, 2, seed) or [every[::2], every[1::2]]
    return [rows.take(part) for part in parts]


def average_curves(curves: Sequence[Curve]) -> Curve:
    """Average the folds' curves, each with the weight of its rows."""
    sizes = np.array([curve.n_samples for curve in curves], dtype=np.float64)
    shares = sizes / sizes.sum()

    is_plain = all(curve.n_effective is None for curve in curves)
    effective = np.array([curve.n_effective or curve.n_samples for curve in curves])

    def average(name: str) -> tuple[float, ...]:
        return tuple((shares @ [getattr(curve, name) for curve in curves]).tolist())

    return Curve(
        budgets=curves[0].budgets,
        errors=average("errors"),
        errors_calibrated=average("errors_calibrated"),
        mean_spends=average("mean_spends"),
        max_spends=tuple(np.max([c.max_spends for c in curves], axis=0).tolist()),
        n_samples=int(sizes.sum()),
        # Variances of independent folds add up: sum of share^2 / n of each.
        n_effective=None if is_plain else float(1.0 / (shares**2 @ (1.0 / effective))),
    )


def join_scored(parts: Sequence[ScoredRows], curves: Sequence[Curve]) -> ScoredRows:
    """Put the rows of folds together, each fold with the weight of its rows."""
    sizes = np.array([curve.n_samples for curve in curves], dtype=np.float64)
    shares = sizes / sizes.sum()
    n_groups = [int(part.group_idxs.max(initial=-1)) + 1 for part in parts]
    firsts = np.cumsum([0, *n_groups[:-1]])
    return ScoredRows(
        targets=np.concatenate([part.targets for part in parts]),
        weights=np.concatenate(
            [share * part.weights for share, part in zip(shares, parts, strict=True)]
        ),
        group_idxs=np.concatenate(
            [first + part.group_idxs for first, part in zip(firsts, parts, strict=True)]
        ),
        chances=np.concatenate([part.chances for part in parts]),
    )


def thin_for_calibration(rows: Dataset, n_outputs: int) -> Dataset:
    """Return at most `MAX_ROWS` rows, evenly spaced: a table may be sorted.

    With very many classes there are fewer, so that one session of each row makes at
    most `MAX_NUMBERS` votes.
    """
    n_few = min(rows.n_samples, MAX_ROWS, max(1, MAX_NUMBERS // n_outputs))
    if n_few == rows.n_samples:
        return rows
    return rows.take(np.linspace(0, rows.n_samples - 1, n_few).round().astype(np.int64))


def collect_votes(
    ensemble: Ensemble,
    rows: Dataset,
    budgets: Sequence[int | None],
    policy: str,
    seed: int,
) -> HeldOutVotes:
    """Return the votes at the ends of a policy's sessions under several budgets.

    Votes before the end of a session are left out: they are surer than those at the end
    under a smaller budget with the same features, and one fit to both served neither
    (calibration error .03 instead of .02 at the ends of 10,000 rows). Left out too are
    ties, where the priors decide, and the full votes, marked -1, in which a policy that
    draws may end.
    """
    strides = thin_row_budget_pairs(rows.n_samples, len(budgets), ensemble.n_outputs)
    # In rows: a row's budgets, len(budgets) / len(strides) of them, share its weight.
    weights = rows.weights * rows.n_samples / len(budgets) * len(strides)
    parts = []
    for first, stride in enumerate(strides):
        budget_idxs = np.arange(len(budgets))[first :: len(strides)]
        limits = budgets[first :: len(strides)]
        walks = simulate(ensemble, rows.values[stride], limits, policy, seed)
        scores = walks.scores
        is_tie = np.abs(scores).max(axis=-1) <= TIE * float(ensemble.alpha_sums[-1])
        is_used = ~is_tie & (walks.marks >= 0)
        row_idxs, columns = np.nonzero(is_used)
        parts.append(
            HeldOutVotes(
                scores=scores[is_used],
                shares=walks.known_shares[is_used],
                targets=rows.targets[stride][row_idxs],
                weights=weights[stride][row_idxs],
                budget_idxs=budget_idxs[columns],
            )
        )
    return join_votes(parts)


def thin_row_budget_pairs(n_rows: int, n_budgets: int, n_outputs: int) -> list[slice]:
    """Spread rows over budgets, so that there are at most `MAX_VOTES` numbers.

    Returns slices of the rows; the i-th of n has every n-th budget from the i-th on.
    With many classes each row is simulated under some budgets only, so that every class
    keeps its rows. Every row is used at least once.
    """
    # Rounded up.
    n_parts = -(-n_rows * n_budgets * n_outputs // MAX_VOTES)
    n_parts = max(1, min(n_parts, n_budgets))
    return [slice(first, None, n_parts) for first in range(n_parts)]

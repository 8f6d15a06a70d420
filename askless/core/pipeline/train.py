"""A whole training: folds for honest figures, then the ensemble on every row.

A generator that yields after every round, also of those that only choose features or
parameters, and within the validation; to cancel, stop pulling.
"""

import itertools
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np

from askless.core.catalogue.prices import MICROS_PER_UNIT, from_micros
from askless.core.codes.binned_table import BinnedTable
from askless.core.codes.folds import deal_folds
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.model.ladder.panels import PanelLadder
from askless.core.model.model import Model, bind_errors
from askless.core.model.values import add_distinct_values, add_value_ranges
from askless.core.panels.effort import EFFORTS
from askless.core.panels.rows import DealtFolds
from askless.core.pipeline.card import (
    make_card,
    report_choices,
    report_empty_answers,
    report_validation,
)
from askless.core.pipeline.certificates import UnseenRows, certify_early_stops
from askless.core.pipeline.online.learning_state import (
    make_learning,
    plain_calibrations,
)
from askless.core.pipeline.own_questions import limit_asking
from askless.core.pipeline.parts import (
    ROUNDS_SHARE,
    FinishedPart,
    PartJob,
    RunParts,
    run_one_by_one,
)
from askless.core.pipeline.playing import add_model_spends, select_rows_to_play
from askless.core.pipeline.preparing import PreparedTable, prepare_table
from askless.core.pipeline.progress import VALIDATION_SHARE, Part, Progress, Training
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.validation import Validation, validate
from askless.core.selection.card import describe_selection
from askless.core.session.policies import POLICIES, list_serving_policies
from askless.core.session.state import Aim
from askless.core.simulation.curves import evaluate
from askless.core.table.check import CheckedTable
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import ALGORITHMS, make_ensemble
from askless.core.training.baselines import out_of_bag_error
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round
from askless.core.work import convert_steps

# Mean budgets, as shares of the spend of least error.
SHARES = (0.05, 0.15, 0.35, 0.65, 1.0)

# Panels of folds are fitted with those of the whole from so many folds on, and so many
# rows for each feature. With fewer of either their figures would be too good.
LEAST_JOINT, LEAST_ROWS = 3, 30

# So many of these folds have rounds: enough to calibrate the policies that ask by them.
N_BOOSTED = 2


def report_mean_budgets(
    whole: Ensemble, folds: Sequence[UnseenRows], seen: Dataset, seed: int
) -> dict[str, object]:
    """Return the card's figures of mean budgets, in units; empty if none are served.

    Errors come from the folds, whose ensembles never saw the rows that judge them.
    Spends come from simulated sessions of the model itself, on rows of its training.
    """
    policy, most = greatest_mean_spend(whole)
    budgets = sorted({round(share * most) for share in SHARES} - {0})
    if not folds or not budgets:
        return {}
    aims = [Aim(mean_budget=budget) for budget in budgets]
    limits = [None] * len(aims)
    curves = [
        evaluate(fold.ensemble, fold.rows, limits, policy, seed, aims=aims)
        for fold in folds
    ]
    sizes = np.array([fold.rows.n_samples for fold in folds], np.float64)
    shares = sizes / sizes.sum()
    rows = select_rows_to_play(seen)
    spends = evaluate(whole, rows, limits, policy, seed, aims=aims).mean_spends
    errors = shares @ [curve.errors_calibrated for curve in curves]
    points = [
        {
            "mean_budget": from_micros(budget),
            "mean_spend": round(spend / MICROS_PER_UNIT, 6),
            "error": round(float(error), 6),
        }
        for budget, spend, error in zip(budgets, spends, errors, strict=True)
    ]
    return {"mean_budgets": points}


def greatest_mean_spend(whole: Ensemble) -> tuple[str, float]:
    """Return the policy that serves mean budgets, and its mean spend at least error.

    The spend is in micro-units. Without such a policy: the model's own policy and 0.
    """
    for name in list_serving_policies(whole):
        outlook = POLICIES[name].look_ahead(whole, None)
        if outlook is not None:
            return name, outlook.spend
    return whole.policy, 0.0


def train(
    checked: CheckedTable | PreparedTable,
    spec: TrainingSpec,
    done: Mapping[int, Sequence[Round]] | None = None,
    run_parts: RunParts = run_one_by_one,
) -> Training:
    """Train on a table by its specification; the generator returns the `Model`.

    `checked` is a checked table in memory, or one prepared for this spec. `done` are
    the rounds by part of an interrupted run; they change nothing in the model.
    `run_parts` runs the parts, one after the other or several at a time.

    Raises
    ------
    RefusedError
        For a multi-label dataset (curves and calibrations are of one class per row),
        where the rows not set aside for certificates are of one class,
        for a cascade of more than two classes or one whose rates can't be met, for
        parameters of the selection that are out of range, and where something is to
        be chosen and all rows that a part trains on are of one row group.

    Notes
    -----
    Rows set aside for certificates (`certify_share`) are in no part. All parts share
    the codes of the whole: rows held out weigh nothing, but their values (not their
    classes) have a say in where cuts lie. The curve and the calibration come from
    held-out rows only; in the curve each fold is labelled by a calibration fitted on
    the other folds. Spends and questions of the curve are those of the model itself
    (`add_model_spends`). If there are more than `SAMPLE_ROWS` rows, all but boosting
    uses so many of them, evenly spaced.

    Features are selected, and parameters chosen, anew in each part from the rows that
    it trains on, so that the curve includes the error that these choices cause; the
    card has the choices of the whole. The catalogue stays whole: columns that are not
    selected are blanked for training, and no learner reads a column without a value. If
    no feature is selected, the ensemble has no hypotheses and predicts the largest
    class. After a selection there is no out-of-bag error, since the selection has seen
    the rows that trees left out.
    """
    if isinstance(checked, CheckedTable):
        check_classes(checked.dataset, spec.boost)
        checked = prepare_table(checked, spec)
    table, aside, seed = checked.table, checked.aside, spec.seed
    dealt = choose_folds(table, spec)
    fold_of, n_folds = dealt.fold_of, dealt.n_ladders
    sample = table.sample
    sampled = dealt.take(table.sample_idxs)
    unseen = [sample.take(np.flatnonzero(sampled.fold_of == n)) for n in range(n_folds)]
    is_joint = fits_jointly(dealt, spec, len(table.catalogue.features))
    n_boosted = min(n_folds, N_BOOSTED) if is_joint else n_folds
    parts = list_parts(n_boosted, spec, is_joint=is_joint)
    jobs = (
        PartJob(
            part,
            table if part.is_whole else table.part(fold_of != part.number),
            spec,
            checked.error_costs,
            done or {},
            None if part.is_whole else unseen[part.number],
            sampled if is_joint else None,
        )
        for part in parts
    )
    finished = yield from run_parts(jobs)
    *held_out, whole = [finished_part.ensemble for finished_part in finished]
    if is_joint:
        held_out = add_ladders(checked, dealt, spec, held_out, finished[-1].ladders)
    folds = [UnseenRows(*pair) for pair in zip(held_out, unseen, strict=True)]
    left_in = [(fold_of != number).sum() for number in range(n_folds)]
    rows = ModelRows(sample, aside, round(np.mean(left_in)) if folds else 0)
    whole, validation = yield from validate_whole(whole, folds, rows, spec, parts[-1])
    whole = add_distinct_values(add_value_ranges(whole, table.ranges), sample.values)
    card = make_card(table, whole, n_folds, seed)
    card |= report_empty_answers(sample) if table.n_missing else {}
    card |= report_training(table.dataset, spec, finished[-1], whole)
    if validation is not None:
        card |= report_validation(validation)
    card |= report_mean_budgets(whole, folds, sample, seed)
    model = Model(
        spec.name,
        whole,
        spec.table.target,
        asdict(finished[-1].params),
        None if validation is None else validation.curve,
        card,
        target_label=spec.table.target_label,
    )
    model = bind_errors(model)
    return add_learning_state(model, checked, spec, finished[-1])


def add_ladders(
    prepared: PreparedTable,
    dealt: DealtFolds,
    spec: TrainingSpec,
    boosted: Sequence[Ensemble],
    ladders: Sequence[PanelLadder],
) -> list[Ensemble]:
    """Return the ensemble of each fold with its ladder; the last ones lack rounds."""
    others = (
        make_ensemble(
            prepared.table.part(dealt.fold_of != number),
            spec.boost,
            (),
            prepared.error_costs,
        )
        for number in range(len(boosted), len(ladders))
    )
    return [
        replace(ensemble, panels=ladder)
        for ensemble, ladder in zip((*boosted, *others), ladders, strict=True)
    ]


def add_learning_state(
    model: Model, prepared: PreparedTable, spec: TrainingSpec, trained: FinishedPart
) -> Model:
    """Return a model with what it needs to go on learning, if its algorithm can.

    Without held-out rows its chances are those that online boosting itself fits.
    """
    if not ALGORITHMS[spec.boost.algorithm].is_online:
        return model
    table = prepared.table
    if trained.selection is not None:
        table = table.keep(trained.selection.feature_idxs)
    ensemble = model.ensemble
    if model.curve is None:
        own = plain_calibrations(ensemble.n_outputs)
        ensemble = replace(ensemble, calibrations=own)
    groups = () if spec.table.group_by is None else (spec.table.group_by,)
    columns = spec.table.weight, (*groups, *prepared.ignored)
    budgets = () if model.curve is None else model.curve.budgets
    learning = make_learning(table.dataset, trained.params, ensemble, columns, budgets)
    return replace(model, ensemble=ensemble, learning=learning)


class ModelRows(NamedTuple):
    """Rows that validate the model itself, and how many its folds were trained on."""

    #: the rows the whole was trained on, or a sample of them
    seen: Dataset
    #: for certificates
    aside: Dataset | None
    #: number of rows that the ensembles of folds are trained on, on average
    n_trained: int


def list_parts(n_folds: int, spec: TrainingSpec, *, is_joint: bool) -> list[Part]:
    """Return the folds and, last, the whole, with their shares of the work.

    If panels are fitted jointly, the whole has all their work.
    """
    room = 1.0 - VALIDATION_SHARE if n_folds else 1.0
    has_panels = ALGORITHMS[spec.boost.algorithm].has_panels
    rounds_room = ROUNDS_SHARE if has_panels else 1.0
    ends = np.linspace(0.0, room, n_folds + 2)
    if is_joint:
        ends, rounds_room = ends * ROUNDS_SHARE, ROUNDS_SHARE
        ends[-1] = room
    return [
        Part(number, n_folds + 1, start, end, room, rounds_room)
        for number, (start, end) in enumerate(itertools.pairwise(ends.tolist()))
    ]


def validate_whole(
    whole: Ensemble,
    folds: Sequence[UnseenRows],
    rows: ModelRows,
    spec: TrainingSpec,
    part: Part,
) -> Generator[Progress, None, tuple[Ensemble, Validation | None]]:
    """Validate the whole on held-out rows; return it calibrated and certified.

    Without folds it has no calibration, and the validation is None; without rows set
    aside it has no certification. Yields the progress of `part`, the whole.
    """
    validation, before, aside = None, 0.0, rows.aside
    if not folds:
        whole = limit_asking(whole)
    if folds:
        room = 1.0 if aside is None else 0.5
        validation = yield from convert_steps(
            validate(whole, folds, rows.n_trained, spec.seed, spec.curve_budgets),
            lambda share: part.after_validation(room * share),
        )
        whole, before = replace(whole, calibrations=validation.calibrations), room
        if validation.comparison is not None:
            whole = replace(whole, ranges=validation.comparison.ranges)
            whole = limit_asking(whole)
        validation = add_model_spends(whole, rows.seen, validation, spec.seed)
    if aside is not None:
        certification = yield from convert_steps(
            certify_early_stops(
                UnseenRows(whole, aside), folds, spec.certify_budgets, spec.seed
            ),
            lambda share: part.after_validation(before + (1.0 - before) * share),
        )
        whole = replace(whole, certification=certification)
    if validation is not None:
        # Last: all above is measured on sessions that spend their budgets.
        whole = replace(whole, knees=validation.knees)
    return whole, validation


def report_training(
    dataset: Dataset, spec: TrainingSpec, trained: FinishedPart, whole: Ensemble
) -> dict[str, object]:
    """Return the card's facts about the whole: choices, selection, out-of-bag error."""
    facts = report_choices(spec.auto, trained.params, trained.tried)
    if spec.note is not None:
        facts["note"] = spec.note
    if ALGORITHMS[spec.boost.algorithm].is_bagged and spec.selection is None:
        error = out_of_bag_error(dataset, whole, trained.rounds, spec.boost.seed)
        facts["out_of_bag_error"] = error
    if spec.selection is not None:
        assert trained.selection is not None, "made anew for the whole"
        facts["selection"] = describe_selection(
            dataset.catalogue, spec.selection, trained.selection
        )
    return facts


def choose_folds(table: BinnedTable, spec: TrainingSpec) -> DealtFolds:
    """Return the fold of each row, and how many folds are validated.

    Panels take long to fit, so only as many folds are used as have enough rows
    together: an error rate on 2,000 rows is known to a percent.
    """
    fold_of, n_folds = deal_folds(table, spec.folds, spec.seed, spec.deal)
    if not ALGORITHMS[spec.boost.algorithm].has_panels or not n_folds:
        return DealtFolds(fold_of, n_folds, n_folds)
    sizes = np.bincount(fold_of[table.sample_idxs], minlength=n_folds)
    before = np.cumsum(sizes) - sizes
    enough = EFFORTS[spec.boost.effort].validation_rows
    return DealtFolds(fold_of, n_folds, int((before < enough).sum()))


def fits_jointly(dealt: DealtFolds, spec: TrainingSpec, n_features: int) -> bool:
    """Return whether the panels of folds are fitted with those of the whole.

    Few folds leave too few rows to judge the sets of the whole. Where features are
    selected, each part has others. On few rows with many features, sets that all rows
    have proposed fit each fold by chance (docs/mathematics.md).
    """
    has_panels = ALGORITHMS[spec.boost.algorithm].has_panels
    is_same = has_panels and spec.selection is None
    n_rows = dealt.fold_of.size
    has_rows = n_rows >= LEAST_ROWS * n_features and dealt.n_folds >= LEAST_JOINT
    return is_same and has_rows


def check_classes(dataset: Dataset, params: BoostParams) -> None:
    """Raise `RefusedError` for classes that the curve or the algorithm can't have."""
    if dataset.is_multilabel:
        raise RefusedError([Refusal("target", "must be one class per row")])
    if ALGORITHMS[params.algorithm].is_binary and len(dataset.classes) > 2:
        raise RefusedError([Refusal("algorithm", "a cascade has two classes")])

"""The parts of a training, each a job of its own: the folds, then the whole."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from askless.core.codes.binned_table import BinnedTable
from askless.core.model.ensemble import Ensemble
from askless.core.model.ladder.panels import PanelLadder
from askless.core.panels.ladders import fit_ladders
from askless.core.panels.rows import DealtFolds, PanelRows
from askless.core.pipeline.choosing import choose_parameters
from askless.core.pipeline.progress import Part, Progress
from askless.core.pipeline.spec import TrainingSpec
from askless.core.pipeline.validation import preview_curve
from askless.core.selection.search import Selection, select_subset
from askless.core.table.dataset import Dataset
from askless.core.table.targets import ErrorCosts
from askless.core.training.algorithms import (
    ALGORITHMS,
    grow_ensemble,
    limit_rounds,
    make_ensemble,
)
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round
from askless.core.work import convert_steps

# Share of each part that selection takes; an estimate, for progress bars only.
SELECTION_SHARE = 0.5
TUNING_SHARE = 0.7

# Share of a part with panels that its rounds take.
ROUNDS_SHARE = 0.1


class TrainedPart(NamedTuple):
    """A part's rounds, with the parameters and features that were chosen for it."""

    rounds: list[Round]
    params: BoostParams
    selection: Selection | None
    #: the table it was trained on; only selected features have values
    table: BinnedTable
    #: the choices that were tried, and the mean error of each
    tried: tuple[tuple[BoostParams, float], ...] = ()


@dataclass(frozen=True)
class PartJob:
    """A part with all that is needed to train it, in any process.

    `table` has weight where the part's rows are; `done` is as in `train`. `unseen` are
    the rows of a fold; None: all rows are trained on. `dealt` are the folds whose
    ladders the whole fits with its own; None: each part fits its own.
    """

    part: Part
    table: BinnedTable
    spec: TrainingSpec
    error_costs: ErrorCosts
    done: Mapping[int, Sequence[Round]]
    unseen: Dataset | None = None
    dealt: DealtFolds | None = None


class FinishedPart(NamedTuple):
    """The result of a part; `ladders` are those of folds that it fitted."""

    ensemble: Ensemble
    rounds: list[Round]
    params: BoostParams
    selection: Selection | None
    tried: tuple[tuple[BoostParams, float], ...]
    ladders: tuple[PanelLadder, ...] = ()


RunningPart = Generator[Progress, None, FinishedPart]
RunningParts = Generator[Progress, None, list[FinishedPart]]
#: Runs jobs and yields their progress in order. Progress of later parts waits until the
#: parts before are finished, so that `done` is always a prefix of the parts.
RunParts = Callable[[Iterable[PartJob]], RunningParts]


def run_part_job(job: PartJob) -> RunningPart:
    """Train a part; yield its progress, at the end with a fold's curve."""
    spec, table = job.spec, job.table
    trained = yield from train_part(table, spec, job.done, job.part)
    ensemble = make_ensemble(table, spec.boost, trained.rounds, job.error_costs)
    ladders: list[PanelLadder] = []
    is_fitting = job.dealt is None or job.part.is_whole
    if is_fitting and ALGORITHMS[spec.boost.algorithm].has_panels:
        ladders = yield from convert_steps(
            fit_part_ladders(job, trained.table.dataset), job.part.after_rounds
        )
        ensemble = replace(ensemble, panels=ladders[0])
    if is_fitting and job.unseen is not None:
        tested = preview_curve(ensemble, job.unseen, spec.seed)
        yield replace(job.part.after_rounds(1.0), tested=tested)
    rounds, params, selection, _, tried = trained
    return FinishedPart(ensemble, rounds, params, selection, tried, tuple(ladders[1:]))


def run_one_by_one(jobs: Iterable[PartJob]) -> RunningParts:
    """Run jobs in this process, one after the other."""
    finished: list[FinishedPart] = []
    for job in jobs:
        finished += [(yield from run_part_job(job))]
    return finished


def fit_part_ladders(
    job: PartJob, dataset: Dataset
) -> Generator[float, None, list[PanelLadder]]:
    """Return the ladder of a part, then those of folds; yield the share done.

    Every ladder has panels for the budgets that the spec names.
    """
    params = job.spec.boost
    return fit_ladders(
        PanelRows(dataset, params.seed, dealt=job.dealt),
        job.spec.curve_budgets,
        job.error_costs,
        params.effort,
        params.least_missing,
    )


def train_part(
    table: BinnedTable,
    spec: TrainingSpec,
    done: Mapping[int, Sequence[Round]],
    part: Part,
) -> Generator[Progress, None, TrainedPart]:
    """Select features, choose parameters and train on one part, after its done rounds.

    A finished fold needs no selection again unless it has panels; the whole always
    selects, for its card.
    """
    params, selection = limit_rounds(spec.boost), spec.selection
    rounds = list(done.get(part.number, ()))
    # Only panels would still need the selected features of a finished fold.
    is_lean = selection is None or not ALGORITHMS[params.algorithm].has_panels
    if is_lean and not part.is_whole and is_finished(params, done, part.number):
        return TrainedPart(rounds, params, None, table)
    selected = None
    before = 0.0
    if selection is not None:
        choosing, before = select_subset(table.dataset, selection), SELECTION_SHARE
        selected = yield from convert_steps(
            choosing, lambda step: part.progress(SELECTION_SHARE * step.share)
        )
        if not selected.feature_idxs:
            return TrainedPart(rounds, params, selected, table.keep(()))
        table = table.keep(selected.feature_idxs)
    tried: tuple[tuple[BoostParams, float], ...] = ()
    if spec.auto:
        start, room = before, TUNING_SHARE * (1.0 - before)
        params, tried = yield from convert_steps(
            choose_parameters(table.dataset, params, spec.auto),
            lambda share: part.progress(start + room * share),
        )
        before += room
    # A cascade that misses its rates is refused in the whole only: `grow_ensemble`.
    is_strict = part.is_whole
    for added in grow_ensemble(table, params, tuple(rounds), is_strict=is_strict):
        rounds.append(added)
        share = added.number / ALGORITHMS[params.algorithm].most_rounds(params)
        yield part.progress(before + (1.0 - before) * share, added)
    return TrainedPart(rounds, params, selected, table, tried)


def is_finished(
    params: BoostParams, done: Mapping[int, Sequence[Round]], part: int
) -> bool:
    """Return whether a part has all its rounds already."""
    # Parts are trained in order, so one before the last that has begun is complete.
    if part < max(done, default=0):
        return True
    rounds, most = done.get(part, ()), ALGORITHMS[params.algorithm].most_rounds(params)
    return bool(rounds) and rounds[-1].number >= most

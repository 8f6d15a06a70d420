"""A whole shadow: train on the older cases of a log, replay the newer ones."""

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from askless.app.batch.shadow.held_logs import (
    HeldLog,
    measure_latencies,
    split_older,
    to_training_columns,
)
from askless.app.batch.shadow.log_files import LogFile
from askless.app.batch.shadow.log_parts import hold_log
from askless.core.arrays import FloatArray, IntArray, evenly_spaced
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model
from askless.core.pipeline.check import check_training
from askless.core.pipeline.progress import Progress
from askless.core.pipeline.train import train
from askless.core.shadow.comparison import (
    ShadowTerms,
    choose_aim,
    compare_log,
    has_outcomes,
)
from askless.core.shadow.logs import gather_donors
from askless.core.shadow.results import ShadowResult
from askless.core.work import convert_steps

# Most older cases that are trained on, and that answers are drawn from.
MOST_TRAINED, MOST_DONORS = 10_000, 4_000
# Newer cases that play the frontier and go without each vendor, about.
MOST_OTHERS = 4_000
LEAST_CASES = 50
# Shares of the work that reading and training take, for a progress bar.
READING_SHARE, TRAINING_SHARE = 0.2, 0.5


@dataclass(frozen=True)
class ShadowOptions:
    """Options of a shadow."""

    #: share of the cases, the older ones, that are trained on
    older: float = 2 / 3
    #: in micro-units; None: the policy that errs as the waterfall did
    error_price: int | None = None


def shadow_log(
    log: LogFile, options: ShadowOptions, folder: Path
) -> Generator[Progress, None, ShadowResult]:
    """Read, train and replay; raise RefusedError for a log that can't be learned from.

    It has too few cases, or none of the older ones has a call.
    """
    held = yield from convert_steps(
        hold_log(log, folder), lambda share: make_step(0.0, READING_SHARE, share)
    )
    n_cases, n_older = held.n_cases, split_older(held, options.older)
    if min(n_older, n_cases - n_older) < LEAST_CASES:
        rule = (
            f"must have {LEAST_CASES} cases or more on both sides of the cut; there "
            f"are {n_older} older and {n_cases - n_older} newer cases"
        )
        raise RefusedError([refuse(log, rule)])
    few = np.arange(n_older)[evenly_spaced(n_older, MOST_DONORS)]
    if not held.read(few)["orders"].any():
        raise RefusedError([refuse(log, "must have calls of the spec's vendors")])
    places = np.arange(n_older)[evenly_spaced(n_older, MOST_TRAINED)]
    model = yield from convert_steps(
        train_older(held, places),
        lambda step: make_step(READING_SHARE, TRAINING_SHARE, step.share),
    )
    older = held.to_cases(model.ensemble, few)
    is_agreement = not has_outcomes(older)
    costs = make_costs(model.ensemble)
    price = options.error_price
    if price is None and model.ensemble.error_costs is not None:
        # Costs of errors are amounts of money.
        price = 1_000_000
    chosen = choose_aim(model.ensemble, older, costs, price, is_agreement=is_agreement)
    stride = max(1, math.ceil((n_cases - n_older) / MOST_OTHERS))
    terms = ShadowTerms(
        *(model.ensemble, chosen.aim, costs),
        gather_donors(model.ensemble, older),
        *(is_agreement, log.spec.seed, stride),
    )
    n_newer, replay_start = n_cases - n_older, READING_SHARE + TRAINING_SHARE
    figures = yield from convert_steps(
        compare_log(terms, held.list_blocks(model.ensemble, n_older)),
        lambda step: make_step(replay_start, 1 - replay_start, step.n_cases / n_newer),
    )
    return ShadowResult(
        *(model, figures, chosen, is_agreement, log.problems.finish()),
        latencies=measure_latencies(held),
        n_older=n_older,
        n_trained=places.size,
        n_others=int((np.arange(n_older, n_cases) % stride == 0).sum()),
        span=(float(held.decided[n_older]), float(held.decided[-1])),
    )


def refuse(log: LogFile, rule: str) -> Refusal:
    """Return the refusal of a log by a rule, which says what was left out."""
    odd = [f"{problem.n_times} {problem.words}" for problem in log.problems.finish()]
    return Refusal("log", "; ".join([rule, *odd]))


def make_step(start: float, room: float, share: float) -> Progress:
    """Return a step of a stage that begins at `start` and has so much room."""
    return Progress(0, 1, None, start + room * share)


def train_older(held: HeldLog, places: IntArray) -> Generator[Progress, None, Model]:
    """Train on older cases; what nobody asked says nothing there."""
    log = held.log
    # Columns to ignore are not read to begin with.
    spec = replace(log.spec, table=replace(log.spec.table, ignore=()))
    records = held.read(places)
    checked = check_training(
        to_training_columns(held, records),
        spec,
        silent=lambda name: held.find_silent(records, name),
    )
    return (yield from train(checked, spec))


def make_costs(ensemble: Ensemble) -> FloatArray:
    """Return the loss of each true class and label; 1 for any error by default."""
    if ensemble.error_costs is not None:
        return np.array(ensemble.error_costs, np.float64)
    costs: FloatArray = 1.0 - np.eye(len(ensemble.classes))
    return costs

"""Play rows in time, with the latencies of a log: calls together, or one by one."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from askless.app.batch.predicting import BatchProgress
from askless.app.batch.shadow.log_files import LIKELY, parse_seconds
from askless.app.uploads import Bounds
from askless.app.uploads.streams import read_columns
from askless.core.arrays import FloatArray
from askless.core.catalogue.catalogue import Catalogue
from askless.core.catalogue.prices import (
    MICROS_PER_UNIT,
    Paid,
    from_micros,
    price_feature,
)
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.session.machine import decide_next_step, start
from askless.core.session.state import Pace, State, StopRule
from askless.core.simulation.blocks import Conditions
from askless.core.simulation.timed import TimedEnd, TimedFigures, play_in_time
from askless.core.table.dataset import Dataset

# Rows that are played; they are spread evenly over the table.
MOST_ROWS = 300
MOST_SHOWN = 4


@dataclass(frozen=True)
class TimeTerms:
    """The price of a second, in units, and how many calls are on their way at once."""

    value_of_second: float
    at_once: int
    #: by offer of the model
    latencies: dict[str, FloatArray]


def read_latencies(
    path: Path, catalogue: Catalogue, bounds: Bounds
) -> dict[str, FloatArray]:
    """Read how long the calls of a log took, by offer, in seconds.

    A row is a call, with a vendor and its seconds, which may be empty; a vendor has the
    name of the bundle or feature that it fills. Raises RefusedError for a log without
    such columns, seconds that are none, a vendor that the model does not know, and an
    offer with a price but without a call.
    """
    columns = read_columns(path, (), bounds)
    named = [name_column(columns, role) for role in ("vendor", "latency_s")]
    vendors, times = (
        ["" if cell is None else str(cell).strip() for cell in columns[name]]
        for name in named
    )
    offers = name_offers(catalogue)
    seconds: dict[str, list[float]] = {}
    unknown: dict[str, None] = {}
    unreadable: list[str] = []
    for vendor, cell in zip(vendors, times, strict=True):
        taken = parse_seconds(cell)
        # A row without a vendor says what was known of a case.
        if not vendor:
            continue
        if vendor not in offers:
            unknown[vendor] = None
        elif taken >= 0:
            seconds.setdefault(vendor, []).append(taken)
        elif cell:
            unreadable.append(cell)
    missing = [
        name
        for name, idxs in offers.items()
        if name not in seconds and price_feature(catalogue, Paid(), idxs[0])
    ]
    problems = (
        (f"must be seconds, at least 0: {len(unreadable)} are not", unreadable),
        ("must have calls of the model's bundles and features alone", [*unknown]),
        (
            "must have a call with its seconds of each vendor: add a row for these",
            missing,
        ),
    )
    refusals = [
        Refusal("--latencies", rule, ", ".join(names[:MOST_SHOWN]))
        for rule, names in problems
        if names
    ]
    if refusals:
        raise RefusedError(refusals)
    return {name: np.array(seconds.get(name, [0.0])) for name in offers}


def name_offers(catalogue: Catalogue) -> dict[str, tuple[int, ...]]:
    """Return the features of each offer by its name."""
    return {catalogue.offer_name(offer[0]): offer for offer in catalogue.offers}


def name_column(columns: dict[str, Any], role: str) -> str:
    """Return the column of a role by its usual names; raise RefusedError without."""
    for name in LIKELY[role]:
        if name in columns:
            return name
    rule = f"must have a column named as one of {', '.join(LIKELY[role])}"
    raise RefusedError([Refusal("--latencies", rule)])


def play_timed(
    ensemble: Ensemble, dataset: Dataset, played: Conditions, terms: TimeTerms
) -> Generator[BatchProgress, None, list[TimedFigures]]:
    """Play rows one call after the other, and together, under each budget or aim.

    Each call takes a time drawn from those of its vendor, the same in every play.
    """
    few = dataset.take(slice(None, None, -(-dataset.n_samples // MOST_ROWS)))
    seconds, usual = draw_seconds(ensemble.catalogue, few.n_samples, terms, played.seed)
    widths = (1, terms.at_once)
    n_plays, n_done = len(played.budgets) * len(widths) * few.n_samples, 0
    figures = []
    for column, budget in enumerate(played.budgets):
        for width in widths:
            pace = Pace(usual, terms.value_of_second * MICROS_PER_UNIT, width)
            ends = []
            for row, values in enumerate(few.values):
                state = open_row(ensemble, played, column, row)
                state = decide_next_step(ensemble, replace(state, pace=pace))
                ends.append(play_in_time(ensemble, state, values, seconds[row]))
                n_done += 1
                yield BatchProgress(n_done / n_plays)
            figures.append(average(ends, few, budget, width))
    return figures


def draw_seconds(
    catalogue: Catalogue, n_rows: int, terms: TimeTerms, seed: int
) -> tuple[FloatArray, tuple[float, ...]]:
    """Draw the seconds of each row's calls, by feature, and what each usually takes."""
    random, offers = np.random.default_rng(seed), name_offers(catalogue)
    seconds, usual = np.empty((n_rows, len(catalogue.features))), {}
    for name, idxs in offers.items():
        taken = terms.latencies[name]
        seconds[:, list(idxs)] = random.choice(taken, n_rows)[:, None]
        usual.update(dict.fromkeys(idxs, float(np.median(taken))))
    return seconds, tuple(usual[idx] for idx in range(len(catalogue.features)))


def open_row(ensemble: Ensemble, played: Conditions, column: int, row: int) -> State:
    """Start the session of a row under one of the budgets or aims."""
    return start(
        ensemble,
        played.budgets[column],
        played.seed,
        policy=played.policy,
        stop=StopRule(spend=played.spend),
        stream=row,
        aim=None if played.aims is None else played.aims[column],
    )


def average(
    ends: Sequence[TimedEnd], dataset: Dataset, budget: int | None, at_once: int
) -> TimedFigures:
    """Return the means of some ends, by the weight of their rows."""
    weights = dataset.weights / dataset.weights.sum()
    labels = np.array([end.label for end in ends])
    return TimedFigures(
        budget=budget,
        at_once=at_once,
        error=float(weights @ (labels != dataset.targets)),
        spend=float(weights @ [end.spent for end in ends]),
        seconds=float(weights @ [end.seconds for end in ends]),
        calls=float(weights @ [end.n_calls for end in ends]),
    )


def timed_json(figures: Sequence[TimedFigures], terms: TimeTerms) -> dict[str, Any]:
    """Return the figures as a document; money in units."""
    points = [
        {
            "budget": None if point.budget is None else from_micros(point.budget),
            "at_once": point.at_once,
            "error": point.error,
            "mean_spend": point.spend / MICROS_PER_UNIT,
            "mean_seconds": point.seconds,
            "mean_calls": point.calls,
            "total": point.total(terms.value_of_second) / MICROS_PER_UNIT,
        }
        for point in figures
    ]
    return {"value_of_second": terms.value_of_second, "points": points}

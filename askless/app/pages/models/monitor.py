"""The monitor of a model: errors, spend, refusals and drift over time."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from askless.app.documents.http.models import Estimate
from askless.app.documents.http.outcomes import BucketSize, Monitor, MonitorBucket
from askless.app.documents.sheets import quote_formula, write_lines
from askless.app.http.ledger import CSV
from askless.app.http.models import DAYS
from askless.app.http.plumbing.auth import needs
from askless.app.http.plumbing.days import day_end, day_start, days_before
from askless.app.http.plumbing.deps import At, Loaded, ReadDb
from askless.app.pages.plumbing.frame import as_file, errors_of, render
from askless.app.pages.plumbing.inputs import read_days, read_filters
from askless.app.records import Moment
from askless.app.service import models
from askless.app.service.loop import monitor
from askless.app.words.charts.book_charts import (
    PlottedFigure,
    shares_chart,
    trend_chart,
)
from askless.app.words.charts.charts import in_unit, reliability_chart
from askless.core.errors import Refusal, RefusedError
from askless.core.model.ensemble import Ensemble

router = APIRouter(prefix="/ui/models", include_in_schema=False)
SIZES = get_args(BucketSize.__value__)
ASKED = ("from", "to", "bucket")
FIGURES = (
    *("auroc", "log_loss", "brier", "calibration_error", "sensitivity"),
    *("specificity", "expected_cost"),
)
ANSWERS = ("refused", "unavailable", "unknown")
COLUMNS = ("start", "feature", "figure", "value", "low", "high", "cases")
# Most features in a chart; the table beside it has all.
MOST_NAMES = 20
# A chart of fewer points says less than its table.
LEAST_POINTS = 3


@router.get("/{id}/monitor", dependencies=[needs("models")])
def show_monitor(
    request: Request, id: str, db: ReadDb, loaded: Loaded, at: At
) -> HTMLResponse:
    """Show a model's monitor; a wrong filter is refused at its field."""
    asked = read_filters(request.query_params, ASKED)
    head, model = models.get_head(db, id), models.find(db, loaded, id)
    title, ensemble = head.name, model.ensemble
    more: dict[str, Any] = {
        "id": head.id,
        "sizes": [(one, one) for one in SIZES],
        "model_note": model.card.get("note"),
    }
    try:
        span = read_span(asked, at)
        found = monitor.monitor(db, loaded, id, span, at)
    except RefusedError as error:
        typed = {"bucket": "week", **asked}
        more |= {"errors": errors_of(error), "typed": typed}
        return render(request, "monitor.html", 422, title=title, found=None, **more)
    first, last = span.since.date().isoformat(), asked.get("to", f"{at.now:%Y-%m-%d}")
    return render(
        request,
        "monitor.html",
        title=title,
        found=found,
        shown=draw_charts(found, ensemble),
        typed={"from": first, "to": last, "bucket": span.bucket},
        query=urlencode(asked),
        **more,
    )


def read_span(asked: Mapping[str, str], at: Moment) -> monitor.Span:
    """Read the time span of a filter; RefusedError names each wrong field.

    The default is the last `DAYS` days by week, as in the API.
    """
    refusals: list[Refusal] = []
    days = read_days({"to": f"{at.now:%Y-%m-%d}", **asked}, refusals)
    bucket = asked.get("bucket", "week")
    if bucket not in SIZES:
        refusals.append(Refusal("bucket", f"must be one of {', '.join(SIZES)}"))
    if refusals:
        raise RefusedError(refusals)
    first = days.get("from") or days_before(days["to"], DAYS)
    return monitor.Span(day_start(first), day_end(days["to"]), bucket)  # type: ignore[arg-type]  # one of SIZES


def draw_charts(found: Monitor, ensemble: Ensemble) -> dict[str, str]:
    """Return charts by name, for those that have `LEAST_POINTS` figures."""
    spends = [
        (one.start, PlottedFigure(one.mean_spend, one.mean_spend_interval))
        for one in found.buckets
        if one.mean_spend is not None
    ]
    shown = {}
    if len(spends) >= LEAST_POINTS:
        shown["spend"] = trend_chart(spends, f"mean spend{in_unit(found.unit)}")
    for name in "error", "calibration_error":
        points = [
            (one.start, PlottedFigure(100 * value, percents(interval)))
            for one in found.buckets
            for value, interval in estimates_of(one, name)
        ]
        if len(points) >= LEAST_POINTS:
            shown[name] = trend_chart(points, f"{name.replace('_', ' ')} (%)")
    if found.whole.figures is not None:
        said = ensemble.classes[1].display if ensemble.n_outputs == 1 else "the label"
        bins = found.whole.figures.reliability
        shown["reliability"] = reliability_chart(bins, said, "all outcomes")  # type: ignore[arg-type]  # bodies have the same fields
    return shown | draw_features(found.whole)


def draw_features(whole: MonitorBucket) -> dict[str, str]:
    """Return charts of refused questions and of values not seen in training."""
    refused = [
        (one.feature, PlottedFigure(one.refused.value, one.refused.interval))
        for one in whole.features
        if one.answers
    ]
    outside = [
        (
            one.feature,
            PlottedFigure(one.drift.outside.value, one.drift.outside.interval),
        )
        for one in whole.features
        if one.drift is not None and one.drift.outside is not None
    ]
    charts = {}
    if len(refused) >= LEAST_POINTS:
        charts["refused"] = shares_chart(refused[:MOST_NAMES], "refused")
    if len(outside) >= LEAST_POINTS:
        charts["outside"] = shares_chart(outside[:MOST_NAMES], "not seen in training")
    return charts


def percents(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (100 * interval[0], 100 * interval[1])


def estimates_of(
    one: MonitorBucket, name: str
) -> Iterator[tuple[float, tuple[float, float] | None]]:
    """Yield a bucket's figure and its interval, if there is one."""
    figure = one.error if name == "error" else getattr(one.figures, name, None)
    if figure is not None:
        yield figure.value, figure.interval


@router.get("/{id}/monitor.csv", dependencies=[needs("models")])
def download(request: Request, id: str, db: ReadDb, loaded: Loaded, at: At) -> Response:
    """Return every figure of each time span as a line of CSV."""
    span = read_span(read_filters(request.query_params, ASKED), at)
    found = monitor.monitor(db, loaded, id, span, at)
    text = write_lines([COLUMNS, *figure_lines(found.buckets)])
    return Response(text, headers=as_file("monitor.csv"), media_type=CSV)


def figure_lines(parts: Iterable[MonitorBucket]) -> Iterator[list[str]]:
    """Yield a line of CSV for each figure of each bucket."""
    for part in parts:
        spend = None
        if part.mean_spend is not None:
            spend = Estimate(value=part.mean_spend, interval=part.mean_spend_interval)
        yield figure_line(part.start, "", "mean_spend", spend, part.closed)
        yield figure_line(part.start, "", "error", part.error, part.outcomes)
        for name in FIGURES:
            found = getattr(part.figures, name, None)
            yield figure_line(part.start, "", name, found, part.outcomes)
        yield from feature_lines(part)


def feature_lines(part: MonitorBucket) -> Iterator[list[str]]:
    for one in part.features:
        for name in ANSWERS:
            yield figure_line(
                part.start, one.feature, name, getattr(one, name), one.answers
            )
        drift = one.drift
        if drift is None:
            continue
        yield figure_line(
            part.start, one.feature, "outside", drift.outside, drift.values
        )
        for name in "mean", "training_mean", "psi":
            value = getattr(drift, name)
            figure = None if value is None else Estimate(value=value, interval=None)
            yield figure_line(part.start, one.feature, name, figure, drift.values)


def figure_line(
    start: date, feature: str, figure: str, one: Estimate | None, n_cases: int
) -> list[str]:
    """Return a line of CSV; an unknown figure is empty."""
    low, high = (one.interval if one and one.interval else None) or ("", "")
    shown = "" if one is None else repr(one.value)
    safe = quote_formula(feature)
    return [f"{start}", safe, figure, shown, f"{low}", f"{high}", f"{n_cases}"]

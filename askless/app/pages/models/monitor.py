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
from askless.app.pages.plumbing.frame import download, field_errors, render
from askless.app.pages.plumbing.inputs import read_days, read_filters
from askless.app.records import Moment
from askless.app.service import models
from askless.app.service.loop import monitor
from askless.app.words.charts.book_charts import (
    PlottedFigure,
    draw_shares_chart,
    draw_trend_chart,
)
from askless.app.words.charts.charts import draw_reliability, in_unit
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
    head, model = models.get_head(db, id), models.load(db, loaded, id)
    title, ensemble = head.name, model.ensemble
    features = ensemble.catalogue.features
    more: dict[str, Any] = {
        "id": head.id,
        "sizes": [(size, size) for size in SIZES],
        "model_note": model.card.get("note"),
        "titles": {feature.name: feature.title for feature in features},
    }
    try:
        span = read_span(asked, at)
        monitored = monitor.compute_monitor(db, loaded, id, span, at)
    except RefusedError as error:
        typed = {"bucket": "week", **asked}
        more |= {"errors": field_errors(error), "typed": typed}
        return render(request, "monitor.html", 422, title=title, found=None, **more)
    first, last = span.since.date().isoformat(), asked.get("to", f"{at.now:%Y-%m-%d}")
    return render(
        request,
        "monitor.html",
        title=title,
        found=monitored,
        shown=draw_charts(monitored, ensemble, more["titles"]),
        typed={"from": first, "to": last, "bucket": span.bucket},
        query=urlencode(asked),
        **more,
    )


def read_span(asked: Mapping[str, str], at: Moment) -> monitor.Span:
    """Read a filter's time span, by default `DAYS` days; raise RefusedError."""
    refusals: list[Refusal] = []
    days = read_days({"to": f"{at.now:%Y-%m-%d}", **asked}, refusals)
    bucket = asked.get("bucket", "week")
    if bucket not in SIZES:
        refusals.append(Refusal("bucket", f"must be one of {', '.join(SIZES)}"))
    if refusals:
        raise RefusedError(refusals)
    first = days.get("from") or days_before(days["to"], DAYS)
    return monitor.Span(day_start(first), day_end(days["to"]), bucket)  # type: ignore[arg-type]  # one of SIZES


def draw_charts(
    monitored: Monitor, ensemble: Ensemble, titles: Mapping[str, str]
) -> dict[str, str]:
    """Return charts by name, for those that have `LEAST_POINTS` figures."""
    spends = [
        (bucket.start, PlottedFigure(bucket.mean_spend, bucket.mean_spend_interval))
        for bucket in monitored.buckets
        if bucket.mean_spend is not None
    ]
    shown = {}
    if len(spends) >= LEAST_POINTS:
        shown["spend"] = draw_trend_chart(
            spends, f"mean spend{in_unit(monitored.unit)}"
        )
    for name in "error", "calibration_error":
        points = [
            (bucket.start, PlottedFigure(100 * value, to_percents(interval)))
            for bucket in monitored.buckets
            for value, interval in list_estimates(bucket, name)
        ]
        if len(points) >= LEAST_POINTS:
            shown[name] = draw_trend_chart(points, f"{name.replace('_', ' ')} (%)")
    if monitored.whole.figures is not None:
        event = ensemble.classes[1].display if ensemble.n_outputs == 1 else "the label"
        bins = monitored.whole.figures.reliability
        shown["reliability"] = draw_reliability(bins, event, "all outcomes")  # type: ignore[arg-type]  # bodies have the same fields
    return shown | draw_features(monitored.whole, titles)


def draw_features(whole: MonitorBucket, titles: Mapping[str, str]) -> dict[str, str]:
    """Return charts of refused questions and of values not seen in training."""
    refused = [
        (
            titles[feature.feature],
            PlottedFigure(feature.refused.value, feature.refused.interval),
        )
        for feature in whole.features
        if feature.answers
    ]
    outside = [
        (
            titles[feature.feature],
            PlottedFigure(feature.drift.outside.value, feature.drift.outside.interval),
        )
        for feature in whole.features
        if feature.drift is not None and feature.drift.outside is not None
    ]
    charts = {}
    if len(refused) >= LEAST_POINTS:
        charts["refused"] = draw_shares_chart(refused[:MOST_NAMES], "refused")
    if len(outside) >= LEAST_POINTS:
        charts["outside"] = draw_shares_chart(
            outside[:MOST_NAMES], "not seen in training"
        )
    return charts


def to_percents(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (100 * interval[0], 100 * interval[1])


def list_estimates(
    bucket: MonitorBucket, name: str
) -> Iterator[tuple[float, tuple[float, float] | None]]:
    """Yield a bucket's figure and its interval, if there is one."""
    figure = bucket.error if name == "error" else getattr(bucket.figures, name, None)
    if figure is not None:
        yield figure.value, figure.interval


@router.get("/{id}/monitor.csv", dependencies=[needs("models")])
def download_figures(
    request: Request, id: str, db: ReadDb, loaded: Loaded, at: At
) -> Response:
    """Return every figure of each time span as a line of CSV."""
    span = read_span(read_filters(request.query_params, ASKED), at)
    monitored = monitor.compute_monitor(db, loaded, id, span, at)
    text = write_lines([COLUMNS, *list_figure_lines(monitored.buckets)])
    return download("monitor.csv", text, CSV)


def list_figure_lines(parts: Iterable[MonitorBucket]) -> Iterator[list[str]]:
    """Yield a line of CSV for each figure of each bucket."""
    for part in parts:
        spend = None
        if part.mean_spend is not None:
            spend = Estimate(value=part.mean_spend, interval=part.mean_spend_interval)
        yield to_figure_line(part.start, "", "mean_spend", spend, part.closed)
        yield to_figure_line(part.start, "", "error", part.error, part.outcomes)
        for name in FIGURES:
            figure = getattr(part.figures, name, None)
            yield to_figure_line(part.start, "", name, figure, part.outcomes)
        yield from list_feature_lines(part)


def list_feature_lines(part: MonitorBucket) -> Iterator[list[str]]:
    for feature in part.features:
        for name in ANSWERS:
            yield to_figure_line(
                part.start,
                feature.feature,
                name,
                getattr(feature, name),
                feature.answers,
            )
        drift = feature.drift
        if drift is None:
            continue
        yield to_figure_line(
            part.start, feature.feature, "outside", drift.outside, drift.values
        )
        for name in "mean", "training_mean", "psi":
            value = getattr(drift, name)
            figure = None if value is None else Estimate(value=value, interval=None)
            yield to_figure_line(
                part.start, feature.feature, name, figure, drift.values
            )


def to_figure_line(
    start: date, feature: str, figure: str, estimate: Estimate | None, n_cases: int
) -> list[str]:
    """Return a line of CSV; an unknown figure is empty."""
    low, high = (estimate.interval if estimate and estimate.interval else None) or (
        "",
        "",
    )
    shown = "" if estimate is None else repr(estimate.value)
    safe = quote_formula(feature)
    return [f"{start}", safe, figure, shown, f"{low}", f"{high}", f"{n_cases}"]

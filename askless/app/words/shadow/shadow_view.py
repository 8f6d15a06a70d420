"""Tables and the chart of a shadow's report."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from askless.app.words.charts.charts import WIDE, in_unit
from askless.app.words.charts.plot import LegendEntry, Plot, make_number_axis
from askless.app.words.charts.svg import INK, SERIES
from askless.app.words.shadow.shadow_words import (
    is_open,
    list_method_lines,
    list_saving_lines,
    list_short_lines,
    loss_writer,
    name_error,
    write_bounds,
    write_estimate,
    write_money,
    write_range,
    write_share,
)
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.model.figures import Estimate
from askless.core.shadow.comparison import FrontierPoint
from askless.core.shadow.day_sums import BoundedMean
from askless.core.shadow.results import ShadowResult

Rows = list[tuple[str, ...]]
Cells = tuple[Sequence[str], Rows]
OURS, THEIRS, LOGGED = "Askless", "waterfall cut after k vendors", "your waterfall"


class ShadowView(NamedTuple):
    """The report, ready to be shown."""

    short: list[str]
    figures: Cells
    svg: str
    points: Cells
    saving: list[str]
    vendors: Cells
    problems: list[str]
    latencies: Cells
    method: list[str]


def build_shadow_view(result: ShadowResult) -> ShadowView:
    """Return what the report shows."""
    return ShadowView(
        short=list_short_lines(result),
        figures=build_main_cells(result),
        svg=draw_frontiers(result),
        points=build_point_cells(result),
        saving=list_saving_lines(result),
        vendors=build_vendor_cells(result),
        problems=[
            f"{problem.n_times:,} {problem.words}." for problem in result.problems
        ],
        latencies=build_latency_cells(result),
        method=list_method_lines(result),
    )


def build_main_cells(result: ShadowResult) -> Cells:
    """Return spend, errors and differences with intervals and bounds."""
    figures, unit = result.figures, result.model.ensemble.catalogue.cost_unit

    def write(micros: float) -> str:
        return write_money(micros, unit)

    def line(
        name: str, logged: str, bounded: BoundedMean, write: Callable[[float], str]
    ) -> tuple[str, ...]:
        return (
            name,
            logged,
            write_estimate(bounded.estimate, write),
            write_bounds(bounded, write),
            write_range(bounded.interval, write) if is_open(bounded) else "–",
        )

    rows = [
        line(
            "spend a case",
            write_estimate(figures.spend_logged, write),
            figures.spend,
            write,
        )
    ]
    if figures.n_judged:
        losses = loss_writer(result)
        logged = write_estimate(figures.loss_logged, losses)
        rows.append(line(name_error(result), logged, figures.loss, losses))
    if not result.is_agreement:
        rows.append(line("decisions that differ", "", figures.differs, write_share))
    if result.has_errors:
        rows.append(line("of these for the worse", "", figures.worse, write_share))
    head = ["", "your waterfall", "Askless", "between, whatever is missing"]
    return [*head, "95 % interval of these bounds"], rows


def list_points(result: ShadowResult) -> list[tuple[str, FrontierPoint]]:
    """Return the points of both frontiers, and what was logged."""
    figures = result.figures
    points = [(OURS, point) for point in figures.frontier]
    points += [
        (f"waterfall after {n} vendors", point) for n, point in enumerate(figures.cuts)
    ]
    return points


def build_point_cells(result: ShadowResult) -> Cells:
    """Return the points of the chart as a table."""
    unit, losses = result.model.ensemble.catalogue.cost_unit, loss_writer(result)

    def write(micros: float) -> str:
        return write_money(micros, unit)

    rows: Rows = [
        (
            name,
            write_estimate(point.spend.estimate, write),
            write_bounds(point.spend, write),
            write_estimate(point.loss.estimate, losses),
            write_bounds(point.loss, losses),
        )
        for name, point in list_points(result)
    ]
    error = name_error(result)
    return ["", "spend a case", "between", error, f"{error}, between"], rows


def draw_frontiers(result: ShadowResult) -> str:
    """Draw error against spend: ours, the waterfall cut short, and as it was."""
    figures, unit = result.figures, result.model.ensemble.catalogue.cost_unit
    scale = 100.0 if result.model.ensemble.error_costs is None else 1.0
    logged = (figures.spend_logged.value, figures.loss_logged.value)
    lines = [
        (LegendEntry(OURS, SERIES[0]), figures.frontier),
        (LegendEntry(THEIRS, SERIES[1], "6 4"), figures.cuts),
    ]
    points = [point for _, own in lines for point in own]
    spends = [point.spend.estimate.value for point in points] + [logged[0]]
    errors = [point.loss.most for point in points] + [logged[1]]
    name = name_error(result) + (", of 100" if scale == 100.0 else in_unit(unit))
    plot = Plot(
        WIDE,
        make_number_axis(
            0, 1.04 * max(spends) / MICROS_PER_UNIT, f"mean spend{in_unit(unit)}"
        ),
        make_number_axis(0, 1.04 * scale * max(errors), name),
        legend=[*(entry for entry, _ in lines), LegendEntry(LOGGED, INK)],
    )
    for entry, own in lines:
        xs = [point.spend.estimate.value / MICROS_PER_UNIT for point in own]
        ys = [scale * point.loss.estimate.value for point in own]
        lows, highs = (
            [scale * getattr(point.loss, end) for point in own]
            for end in ("least", "most")
        )
        if any(is_open(point.loss) for point in own):
            plot.add_band(xs, lows, highs, entry.colour)
        placed = list(zip(xs, ys, strict=True))
        plot.add_line(placed, entry.colour, stroke_dasharray=entry.dashes)
        plot.add_dots(placed, entry.colour)
    plot.add_dots([(logged[0] / MICROS_PER_UNIT, scale * logged[1])], INK, 5)
    label = f"Error against mean spend: {OURS}, {THEIRS}, and {LOGGED}"
    return plot.write(label)


def build_vendor_cells(result: ShadowResult) -> Cells:
    """Return each vendor's use, and what dropping it would do."""
    catalogue, losses = result.model.ensemble.catalogue, loss_writer(result)

    def write_change(change: Estimate, write: Callable[[float], str]) -> str:
        signed = [change.value, *(change.interval or ())]
        texts = [f"{'+' if value >= 0 else '−'}{write(abs(value))}" for value in signed]
        tail = f" ({texts[1]} to {texts[2]})" if len(texts) > 1 else ""
        return texts[0] + tail

    rows: Rows = []
    for vendor in result.figures.vendors:
        first = catalogue.offers[vendor.offer][0]
        rows.append(
            (
                catalogue.offer_name(first),
                write_share(vendor.asked_logged),
                write_share(vendor.asked),
                write_share(vendor.empty) if vendor.asked_logged else "–",
                write_money(vendor.spend_logged),
                write_money(vendor.spend),
                write_share(vendor.changed),
                write_change(vendor.dropped_spend, write_money),
                write_change(vendor.dropped_loss, losses),
            )
        )
    head = ["vendor", "asked by you", "asked by Askless", "empty", "your spend"]
    head += ["spend of Askless", "changes the decision"]
    return [*head, "without it: spend", "without it: errors"], rows


def build_latency_cells(result: ShadowResult) -> Cells:
    """Return the latencies that the log has."""
    rows: Rows = [
        (line.vendor, f"{line.n_calls:,}", f"{line.median:.2f} s", f"{line.p95:.2f} s")
        for line in result.latencies
    ]
    return ["vendor", "calls", "half of them within", "95 % within"], rows


def shadow_json(result: ShadowResult) -> dict[str, Any]:
    """Return the figures; amounts in units, shares from 0 to 1."""
    figures, catalogue = result.figures, result.model.ensemble.catalogue
    scale = 1.0 / MICROS_PER_UNIT
    return {
        "cases": figures.n_cases,
        "days": figures.n_days,
        "older_cases": result.n_older,
        "trained_on": result.n_trained,
        "judged": figures.n_judged,
        "aim": result.chosen.reason,
        "learnt": "decisions" if result.is_agreement else "outcomes",
        "unit": catalogue.cost_unit,
        "supported": share_json(figures.supported),
        "spend_logged": share_json(figures.spend_logged, scale),
        "spend": bounds_json(figures.spend, scale),
        "error_logged": share_json(figures.loss_logged),
        "error": bounds_json(figures.loss),
        "differ": bounds_json(figures.differs),
        "worse": bounds_json(figures.worse),
        "better": share_json(figures.better),
        "saved": {
            "not_asking_twice": share_json(figures.saved_repeats, scale),
            "order": share_json(figures.saved_order, scale),
            "stopping_early": share_json(figures.saved_early, scale),
        },
        "frontier": points_json(figures.frontier),
        "waterfall_after": points_json(figures.cuts),
        "vendors": [
            {
                "name": catalogue.offer_name(catalogue.offers[vendor.offer][0]),
                "asked_logged": vendor.asked_logged,
                "asked": vendor.asked,
                "empty": vendor.empty,
                "spend_logged": vendor.spend_logged * scale,
                "spend": vendor.spend * scale,
                "changed": vendor.changed,
                "without_spend": share_json(vendor.dropped_spend, scale),
                "without_error": share_json(vendor.dropped_loss),
                "has_answers": vendor.has_donors,
            }
            for vendor in figures.vendors
        ],
        "problems": {problem.kind: problem.n_times for problem in result.problems},
        "latencies": [line._asdict() for line in result.latencies],
    }


def share_json(estimate: Estimate, scale: float = 1.0) -> dict[str, Any]:
    interval = None
    if estimate.interval is not None:
        interval = [round(scale * end, 9) for end in estimate.interval]
    return {"value": round(scale * estimate.value, 9), "interval": interval}


def bounds_json(bounded: BoundedMean, scale: float = 1.0) -> dict[str, Any]:
    interval = None
    if bounded.interval is not None:
        interval = [round(scale * end, 9) for end in bounded.interval]
    return {
        "estimate": share_json(bounded.estimate, scale),
        "is_measured": not is_open(bounded),
        "least": round(scale * bounded.least, 9),
        "most": round(scale * bounded.most, 9),
        "interval_of_bounds": interval,
    }


def points_json(points: Sequence[FrontierPoint]) -> list[dict[str, Any]]:
    scale = 1.0 / MICROS_PER_UNIT
    return [
        {"spend": bounds_json(p.spend, scale), "error": bounds_json(p.loss)}
        for p in points
    ]

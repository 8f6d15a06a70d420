"""Figures of chances and labels as a table, with what each of them means."""

from collections.abc import Sequence

from rich import box
from rich.table import Column, Table

from app.terminal.show import right, titled
from app.wording import money, number_range, percent, percent_range
from core.model.ensemble import Ensemble
from core.model.figures import Estimate
from core.model.model import Curve

# By figure: how it is headed, and what it says.
MEANINGS = {
    "auroc": (
        "AUROC",
        "how often {its} has a higher chance than {rest}; 0.5 is a coin's",
    ),
    "log_loss": ("log-loss", "how surprised the chances are by what came; 0 is best"),
    "brier": ("Brier", "mean squared distance of chance and truth; 0 is best"),
    "calibration_error": (
        "calib.\nerror",
        "how far {said} lie from what came, in ten groups of rows",
    ),
    "sensitivity": ("sensi-\ntivity", "of {its}, how many are found"),
    "specificity": ("speci-\nficity", "of {rest}, how many are cleared"),
    "expected_cost": ("cost of\nerrors", "mean of `error_costs` over all rows"),
}
SHARES = ("sensitivity", "specificity")


def figures_table(
    curve: Curve,
    ensemble: Ensemble,
    threshold: float | None = None,
    aims: Sequence[str] = (),
) -> Table:
    """Return the figures by budget, or by aim, each above its interval of 95 %."""
    figures, shown = curve.predictive or (), shown_figures(curve)
    unit = ensemble.catalogue.cost_unit
    first = right(f"budget\n{unit}".strip())
    table = titled(
        "Chances and labels, each with its 95 % interval",
        Column("aim", no_wrap=True) if aims else first,
        *(Column(MEANINGS[one][0], justify="right", overflow="fold") for one in shown),
    )
    budgets = ["unlimited" if one is None else money(one) for one in curve.budgets]
    for named, one in zip(aims or budgets, figures, strict=True):
        cells = (say_estimate(getattr(one, name), name in SHARES) for name in shown)
        table.add_row(named, *cells)
    # Seven figures and a budget are to fit 80 letters.
    table.box, table.padding = box.SIMPLE_HEAD, (0, 1, 0, 0)
    table.caption = explain(shown, ensemble, threshold)
    table.caption_justify = "left"
    return table


def name_figure(name: str) -> str:
    """Return what a figure is called, in one line."""
    return MEANINGS[name][0].replace("-\n", "").replace("\n", " ")


def shown_figures(curve: Curve) -> list[str]:
    """Return the figures that a curve has at some budget."""
    figures = curve.predictive or ()
    return [one for one in MEANINGS if any(getattr(it, one) for it in figures)]


def say_estimate(
    estimate: Estimate | None, is_share: bool, layout: str = "{}\n{}"
) -> str:
    """Return a figure and its interval, by default below it."""
    if estimate is None:
        return "-"
    told = percent(estimate.value) if is_share else f"{estimate.value:.3f}"
    if estimate.interval is None:
        return told
    say = percent_range if is_share else number_range
    return layout.format(told, say(*estimate.interval))


def explain(shown: Sequence[str], ensemble: Ensemble, threshold: float | None) -> str:
    """Return what each figure means, a line each."""
    if ensemble.n_outputs == 1:
        negative, positive = (repr(one.display) for one in ensemble.classes)
        words = {"its": positive, "rest": negative, "said": "chances"}
    else:
        words = {
            "its": "a class",
            "rest": "the rest (mean over the classes)",
            "said": "the labels' chances",
        }
    lines = [
        f"{name_figure(one)}: {MEANINGS[one][1].format(**words)}." for one in shown
    ]
    if threshold is not None:
        lines.append(
            f"Labels of this table: {words['its']} from a chance of {threshold:g} on."
        )
    return "\n".join(lines)

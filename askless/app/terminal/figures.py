"""The table of predictive figures, with what each of them means."""

from collections.abc import Sequence

from rich import box
from rich.table import Column, Table

from askless.app.terminal.show import figure_column, titled_table
from askless.app.words.figures import (
    MEANINGS,
    SHARES,
    describe_estimate,
    explain,
    shown_figures,
)
from askless.app.words.wording import money
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Curve


def figures_table(
    curve: Curve,
    ensemble: Ensemble,
    threshold: float | None = None,
    aims: Sequence[str] = (),
) -> Table:
    """Return the figures by budget, or by aim, each above its 95 % interval."""
    figures, shown = curve.predictive or (), shown_figures(curve)
    unit = ensemble.catalogue.cost_unit
    first = figure_column(f"budget\n{unit}".strip())
    table = titled_table(
        "Chances and labels, each with its 95 % interval",
        Column("aim", no_wrap=True) if aims else first,
        *(
            Column(MEANINGS[measure][0], justify="right", overflow="fold")
            for measure in shown
        ),
    )
    budgets = [
        "unlimited" if budget is None else money(budget) for budget in curve.budgets
    ]
    for named, figure in zip(aims or budgets, figures, strict=True):
        cells = (
            describe_estimate(getattr(figure, name), name in SHARES) for name in shown
        )
        table.add_row(named, *cells)
    # Seven figures and a budget are to fit 80 letters.
    table.box, table.padding = box.SIMPLE_HEAD, (0, 1, 0, 0)
    table.caption = explain(shown, ensemble, threshold)
    table.caption_justify = "left"
    return table

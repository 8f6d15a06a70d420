"""Several models side by side, as a table in the terminal."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from askless.app.terminal.show import figure_column, titled_table
from askless.app.words.comparison import (
    ComparedModel,
    comparison_cells,
    explain_comparison,
)


def compared_table(
    models: Sequence[ComparedModel],
    budgets: Sequence[int | None],
    unit: str,
    where: str,
) -> Table:
    """Return error and spend of each model under each budget."""
    head, rows = comparison_cells(models, budgets, unit)
    table = titled_table(
        f"Error against budget: {where}",
        *(figure_column(escape(cell)) for cell in head),
    )
    for row in rows:
        table.add_row(*(cell.replace(" (", "\n(") for cell in row))
    table.caption, table.caption_justify = "\n".join(explain_comparison(models)), "left"
    return table

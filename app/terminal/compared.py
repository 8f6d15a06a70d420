"""Several models side by side, as a table in the terminal."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from app.terminal.show import right, titled
from app.words.comparison import Compared, explain_cells, lay_cells


def compared_table(
    found: Sequence[Compared], budgets: Sequence[int | None], unit: str, where: str
) -> Table:
    """Return error and spend of each model under each budget."""
    head, rows = lay_cells(found, budgets, unit)
    table = titled(
        f"Error against budget: {where}", *(right(escape(one)) for one in head)
    )
    for row in rows:
        table.add_row(*(cell.replace(" (", "\n(") for cell in row))
    table.caption, table.caption_justify = "\n".join(explain_cells(found)), "left"
    return table

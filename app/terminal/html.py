"""Pages that need nothing else: printable, dark where the reader's are, any width."""

import re
from collections.abc import Sequence
from html import escape

from app.words.charts import COLOURS
from app.words.model_charts import Shown

# Cells that begin with a number, or have none.
FIGURE = re.compile(r"-|(< |> )?[\d.,]+( %| to .*| \(.*| %.*)?")

STYLE = f"""{COLOURS}
:root {{ color-scheme: light dark; --ink: #16181b; --quiet: #5b6168; --line: #d5d8dc }}
@media screen and (prefers-color-scheme: dark) {{
  :root {{ --ink: #e6e7e9; --quiet: #a2a8af; --line: #3a3f46 }}
}}
body {{ font: 15px/1.45 Georgia, serif; max-width: 54em; margin: 2em auto;
  padding: 0 1em; color: var(--ink); background: var(--paper) }}
h1 {{ font-size: 1.6em; margin-bottom: 0 }}
h2 {{ font-size: 1.25em; margin: 2em 0 .4em }}
h3 {{ font-size: 1.05em; margin: 1.4em 0 .4em }}
h1, h2, h3, p, li, dt, dd, figcaption {{ overflow-wrap: anywhere }}
.pair > * {{ min-width: 0 }}
.table {{ overflow-x: auto }}
table {{ border-collapse: collapse; width: 100%; font-size: .93em }}
th {{ text-align: left; font-weight: normal; color: var(--quiet);
  border-bottom: 1px solid }}
td {{ border-bottom: 1px solid var(--line); vertical-align: top }}
th, td {{ padding: .2em .8em .2em 0 }}
.figure {{ text-align: right; white-space: nowrap }}
.note {{ color: var(--quiet); font-size: .9em }}
figcaption, summary {{ color: var(--quiet); font-size: .9em }}
summary {{ cursor: pointer; padding: .3em 0 }}
dl {{ display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 2fr);
  gap: .2em 1em }}
dt {{ color: var(--quiet) }}
dd {{ margin: 0 }}
section {{ break-inside: avoid }}
figure {{ margin: .6em 0; break-inside: avoid }}
.pair {{ display: grid; grid-template-columns: repeat(auto-fit, minmax(17em, 1fr));
  gap: 0 1em }}
svg {{ width: 100%; height: auto }}
@media print {{ body {{ margin: 0; font-size: 11px; max-width: none }} }}
"""


def html_page(title: str, parts: Sequence[str]) -> str:
    """Return a whole page of parts."""
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>\n"
        f"<main>\n{body}\n</main>\n</html>\n"
    )


def html_table(
    head: Sequence[object], rows: Sequence[Sequence[object]], said: str
) -> str:
    """Return a table; figures stand to the right, below their heading.

    `said` is what the table is called for who can't see it.
    """
    told = [[str(cell) for cell in line] for line in (head, *rows)]
    names = [' class="figure"' * bool(FIGURE.fullmatch(cell)) for cell in told[-1]]
    made = []
    for number, line in enumerate(told):
        tag, more = ("td", "") if number else ("th", ' scope="col"')
        cells = (
            # Without a name a column has no heading.
            f"<{tag}{more}{name}>{escape(cell)}</{tag}>"
            if cell or number
            else f"<td{name}></td>"
            for name, cell in zip(names, line, strict=True)
        )
        made.append(f"<tr>{''.join(cells)}</tr>")
    region = f'role="region" tabindex="0" aria-label="{escape(said)}"'
    return f'<div class="table" {region}><table>{"".join(made)}</table></div>'


def html_notes(lines: Sequence[str]) -> str:
    """Return what a table or chart says, a line each."""
    return f'<p class="note">{"<br>".join(map(escape, lines))}</p>'


def html_figures(charts: Sequence[str]) -> str:
    """Return charts, beside one another where there is room."""
    figures = "".join(f"<figure>{chart}</figure>" for chart in charts)
    return f'<div class="pair">{figures}</div>' if len(charts) > 1 else figures


def html_shown(shown: Sequence[Shown], where: str) -> str:
    """Return charts of some rows, each with the same as a table."""
    figures = ""
    for one in shown:
        table = html_table(one.head, one.rows, f"{one.caption}, {where}")
        figures += (
            f"<figure>{one.svg}<figcaption>{escape(one.caption)}</figcaption><details>"
            f"<summary>The same as a table</summary>{table}</details></figure>"
        )
    return f'<div class="pair">{figures}</div>' if len(shown) > 1 else figures

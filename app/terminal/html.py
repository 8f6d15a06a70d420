"""Pages that need nothing else: printable, dark where the reader's are, any width."""

import re
from collections.abc import Sequence
from html import escape

from app.charts import COLOURS

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
.table {{ overflow-x: auto }}
table {{ border-collapse: collapse; width: 100%; font-size: .93em }}
th {{ text-align: left; font-weight: normal; color: var(--quiet);
  border-bottom: 1px solid }}
td {{ border-bottom: 1px solid var(--line); vertical-align: top }}
th, td {{ padding: .2em .8em .2em 0 }}
.figure {{ text-align: right; white-space: nowrap }}
.note {{ color: var(--quiet); font-size: .9em }}
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
        f"<title>{escape(title)}</title><style>{STYLE}</style>\n{body}\n</html>\n"
    )


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; figures stand to the right, below their heading."""
    names = [' class="figure"' * bool(FIGURE.fullmatch(cell)) for cell in rows[-1]]
    lines = [zip(names, line, strict=True) for line in (head, *rows)]
    made = []
    for number, line in enumerate(lines):
        tag = "td" if number else "th"
        cells = (f"<{tag}{name}>{escape(cell)}</{tag}>" for name, cell in line)
        made.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="table"><table>{"".join(made)}</table></div>'


def html_notes(lines: Sequence[str]) -> str:
    """Return what a table or chart says, a line each."""
    return f'<p class="note">{"<br>".join(map(escape, lines))}</p>'


def html_figures(charts: Sequence[str]) -> str:
    """Return charts, beside one another where there is room."""
    figures = "".join(f"<figure>{chart}</figure>" for chart in charts)
    return f'<div class="pair">{figures}</div>' if len(charts) > 1 else figures

"""Draws docs/session.svg: an easy case of the demo, then a hard one, in a terminal."""

import io
import re
from pathlib import Path

from rich.console import Console

from askless.app.terminal.demo import (
    AIM,
    BUDGET,
    pick_shown,
    play_session,
    train_without_patients,
)
from askless.app.words.wording import money

OUT = Path(__file__).resolve().parents[1] / "docs" / "session.svg"


def main() -> None:
    console = Console(record=True, width=92, file=io.StringIO())
    dataset, rows, model = train_without_patients()
    options = (
        f"--budget {money(BUDGET)} --aim mean_budget={money(AIM.mean_budget or 0)}"
    )
    states = [play_session(model.ensemble, dataset.values[row], None) for row in rows]
    picks = pick_shown(model.ensemble, states, dataset.targets[rows])
    for place in (picks.short, picks.right):
        if place is not None:
            console.print(f"\n$ askless ask heart-model.json {options}")
            play_session(model.ensemble, dataset.values[rows[place]], console)
    picture = console.export_svg(title="askless ask")
    # The fonts would be fetched from another site; monospace does as well.
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    OUT.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()

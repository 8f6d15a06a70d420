"""Draws docs/session.svg: the demo's session as it looks in a terminal."""

import io
import re
from pathlib import Path

from rich.console import Console

from app.terminal.demo import BUDGET, PATIENT_ROW, play, train_without
from app.wording import money

OUT = Path(__file__).resolve().parents[1] / "docs" / "session.svg"


def main() -> None:
    console = Console(record=True, width=92, file=io.StringIO())
    dataset, model = train_without(PATIENT_ROW)
    unit = dataset.catalogue.cost_unit
    console.print(f"$ askless ask heart-model.json --budget {money(BUDGET, unit)}")
    play(console, model.ensemble, dataset.values[PATIENT_ROW])
    picture = console.export_svg(title="askless ask")
    # The fonts would be fetched from another site; monospace does as well.
    picture = re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)
    OUT.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()

"""What was measured, in one JSON file; what is there is not measured again."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

PLACE = Path(__file__).resolve().parents[1] / "results" / "online.json"
Record = dict[str, Any]


class Kept:
    """Records by their keys; each is written as soon as it is measured."""

    def __init__(self, place: Path = PLACE) -> None:
        self.place = place
        self.records: dict[str, Record] = {}
        if place.is_file():
            self.records = json.loads(place.read_text(encoding="utf-8"))

    def measure(self, key: str, work: Callable[[], Record]) -> Record:
        """Return the record of a key; measure and keep it where it is not there."""
        if key not in self.records:
            self.records[key] = work()
            lines = (
                f"{json.dumps(record)}: {json.dumps(self.records[record])}"
                for record in sorted(self.records)
            )
            self.place.parent.mkdir(parents=True, exist_ok=True)
            self.place.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
            print(key, self.records[key], flush=True)
        return self.records[key]

    def drop(self, start: str) -> None:
        """Forget the records whose keys start so."""
        kept = {
            one: rec for one, rec in self.records.items() if one[: len(start)] != start
        }
        self.records = kept

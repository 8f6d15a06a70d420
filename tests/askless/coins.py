"""A table on which no single feature is right every time, and its spec."""

from pathlib import Path

SPEC = {
    "name": "coin",
    "target": "side",
    "features": [{"name": "weight", "cost": 2}, {"name": "size", "cost": 1}],
    "algorithm": "adaboost_bt_smoothed",
    "params": {"rounds": 20},
    "validation": {"folds": 2},
}


def coins(folder: Path) -> Path:
    """Write the table."""
    rows = [
        f"{idx % 7},{(idx * 5) % 11},{int(idx % 7 + (idx * 5) % 11 > 7)}"
        for idx in range(60)
    ]
    table = folder / "coins.csv"
    table.write_text("\n".join(["weight,size,side", *rows, ""]))
    return table

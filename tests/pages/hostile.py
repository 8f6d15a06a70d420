"""Names as nobody should give them, in all that a model names."""

import copy
from itertools import cycle
from typing import Any

from tests.pages.site import heart

MARKUP = "<script>alert(1)</script> & \"quotes\" 'of' {{ 7 * 7 }}"
ARABIC = "مستوى السكر <b> \u202e desrever"
LONG = "x" * 300
# Of what has at most 200 characters, and printable ones only.
NAMES = (
    MARKUP,
    '"><img src=x onerror=alert(1)></title></option></text>',
    "مستوى السكر في الدم",
    "x" * 200,
    "\U0001fac0 \U0001fa7a 心拍数",
    "a/b?c=d&e#f%00;.. javascript:alert(1)",
)


def hostile_model() -> dict[str, Any]:
    """Return the model of `heart.json`, all of whose names are hostile ones."""
    made, odd = copy.deepcopy(heart()), cycle((MARKUP, ARABIC, LONG, *NAMES[1:]))
    made |= {
        "name": MARKUP,
        "target": NAMES[1],
        "target_label": NAMES[4],
        "cost_unit": "<b>€",
    }
    for number, one in enumerate(made["features"]):
        one["label"] = next(odd)
        one["name"] = f"{NAMES[number % len(NAMES)][:190]} {number}"
        one["unit"] = one["unit"] and MARKUP
        one["categories"] = sorted(
            f"{next(odd)} {place}" for place, _ in enumerate(one["categories"])
        )
        if "category_labels" in one:
            n_categories = len(one["categories"])
            one["category_labels"] = [
                f"{next(odd)} called {place}" for place in range(n_categories)
            ]
    for group in made["groups"]:
        name = f"{next(odd)[:100]} {group['name']}"
        for feature in made["features"]:
            if feature["group"] == group["name"]:
                feature["group"] = name
        group |= {"name": name, "label": next(odd)}
    for label, name in zip(made["classes"], (LONG[:200], MARKUP), strict=True):
        label["display"] = name
    return made

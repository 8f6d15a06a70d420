"""Show the form to order a training."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from secrets import token_urlsafe
from typing import Any, get_args

from fastapi import Request
from fastapi.responses import HTMLResponse

from askless.app.pages.plumbing.frame import errors_of, render
from askless.app.pages.trainings.spec_forms import (
    ROLES,
    Typed,
    add_groups,
    find_bundles,
    group_rows,
    read_form,
)
from askless.app.records import StoredDataset
from askless.app.service.jobs import trainings
from askless.app.uploads.drafting import spec_text
from askless.app.uploads.parsing import DraftedTable
from askless.core.catalogue.catalogue import FeatureType
from askless.core.errors import RefusedError

# A line on each to choose from; more in docs/choosing.md.
ALGORITHM_WORDS = {
    "auto": "Panels; easy cases end early where that pays.",
    "panels": "For each budget the features that it buys, and how to weigh them.",
    "adaboost_bt_smoothed": "Stumps by gain and price, evened out by what was spent.",
    "adaboost_bt_greedy": "Stumps by gain for their price; cheap features first.",
    "hybrid": "Greedy at first, then smoothed.",
    "speedboost": "The loss that each unit of cost takes away decides.",
    "adaboost": "The largest edge; prices don't choose.",
    "adaboost_bt": "AdaBoost, paying each feature once; prices don't choose.",
    "adaboost_rs": "AdaBoost whose votes are drawn while the budget lasts.",
    "cascade": "Rejects most cases after cheap features; two classes.",
    "online": "Stumps from one pass over the rows; votes are drawn as above.",
    "decision_tree": "One tree that knows no prices: a yardstick.",
    "bagging": "Many trees that know no prices: a yardstick.",
    "random_forest": "Many random trees that know no prices: a yardstick.",
}
EFFORT_WORDS = {
    "fast": "Fast: a first look.",
    "standard": "Standard.",
    "thorough": "Thorough: validated on every fold.",
}
COLUMN_FIELD = re.compile(r"c(\d+)-(\w+)")
KINDS = {"fee": "a fee, once", "price": "one price for all"}
LABELS = {
    "dataset": "Table",
    "target": "What is predicted",
    "name": "Name of the model",
    "positive": "Positive class",
    "cost_unit": "Unit of costs",
    "rounds": "Rounds",
    "folds": "Folds",
    "seed": "Seed",
    "budgets": "Budgets",
    "note": "Note",
    "algorithm": "Algorithm",
    "effort": "Effort",
    "prices": "Prices",
    "spec": "Spec",
}
# Choices of the form, as pairs of value and text.
CHOICES = {
    "roles": list(ROLES.items()),
    "types": [(kind, kind) for kind in get_args(FeatureType)],
    "kinds": list(KINDS.items()),
    "algorithms": [
        (algorithm, f"{algorithm}: {text}")
        for algorithm, text in ALGORITHM_WORDS.items()
    ],
    "efforts": list(EFFORT_WORDS.items()),
}


def ask_target(
    request: Request, table: StoredDataset, error: RefusedError | None = None
) -> HTMLResponse:
    """Show the form to choose the column to predict, with errors if there are any."""
    errors = {} if error is None else {"target": "; ".join(errors_of(error).values())}
    typed = {"target": request.query_params.get("target", table.columns[-1])}
    return render(
        request,
        "train_target.html",
        200 if error is None else 422,
        table=table,
        pairs=[(name, name) for name in table.columns],
        typed=typed,
        errors=errors,
    )


def show_form(
    request: Request,
    table: StoredDataset,
    drafted: DraftedTable,
    typed: dict[str, str],
    status: int = 200,
    **more: Any,
) -> HTMLResponse:
    """Show the form as it was typed or drafted."""
    add_groups(typed, table.columns)
    drafts = {draft.name: (draft, sketch) for draft, sketch in drafted.columns}
    rows = [
        (number, name, *drafts[name])
        for number, name in enumerate(table.columns)
        if name in drafts
    ]
    errors = more.get("errors", {})
    known: dict[str, Any] = {
        "table": table,
        "target": typed["target"],
        "rows": rows,
        "groups": group_rows(typed, table.columns),
        "classes": drafted.labels,
        "typed": typed,
        "labels": LABELS | dict(name_fields(errors, table.columns)),
        "pairs": [(label, label) for label in drafted.labels],
        "missing_dropped": typed.get("missing_target") == "drop",
        "n_unpriced": count_unpriced(typed, table.columns),
        "shown_open": any(name.endswith("-shown") for name in errors),
        "as_text": False,
        "refusal": None,
        "once": typed.get("once") or token_urlsafe(16),
        "spec": plain_text(read_form(typed, table.columns).spec),
        "checked": None,
    }
    return render(request, "train_new.html", status, **{**CHOICES, **known, **more})


def count_unpriced(typed: Typed, columns: Sequence[str]) -> int:
    """Return how many features have no price, bought with no bundle."""
    bundles = find_bundles(typed)
    return sum(
        typed.get(f"c{number}-role") == "feature"
        and not typed.get(f"c{number}-cost", "").strip()
        and typed.get(f"c{number}-group", "").strip() not in bundles
        for number in range(len(columns))
    )


def name_fields(
    fields: Iterable[str], columns: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield the fields of columns, each with a label that names the column."""
    for field in fields:
        if match := COLUMN_FIELD.fullmatch(field):
            yield field, f"{columns[int(match[1])]}, {match[2]}"


def plain_text(spec: Mapping[str, Any]) -> str:
    """Return a spec as text, as the command line reads and writes it."""
    return spec_text(trainings.plain_spec(spec))

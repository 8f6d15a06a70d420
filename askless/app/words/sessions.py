"""Describe a model's sessions in words: question lists, lengths, savings."""

from collections.abc import Sequence

from askless.app.documents.model.card import SavedShape, SessionsShape, read_sessions
from askless.app.words.own_questions import OWN
from askless.app.words.wording import money, percent
from askless.core.catalogue.prices import MICROS_PER_UNIT
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model

# Numbers of questions that are told, those with the largest shares.
MOST_TOLD = 5

# The words for how a policy differs from one list for all.
ENDING = "Ending early"
WAYS = {OWN: "Asking each case its own questions"}

SESSIONS_NOTE = (
    "Lists and questions are of this model, played on {rows:,} rows of its training. "
    "What is compared with one list for all is of held-out rows, asked by the folds' "
    "models: both its spends are theirs, and not that of the curve."
)


def build_session_cells(
    model: Model,
) -> tuple[Sequence[str], list[tuple[str, ...]]] | None:
    """Return a table of how sessions go by budget; None if the card has no sessions."""
    sessions, ensemble = read_sessions(model), model.ensemble
    if sessions is None:
        return None
    rows: list[tuple[str, ...]] = [
        (name_amount(budget), describe_sessions(sessions, place, ensemble))
        for place, budget in enumerate(sessions.budgets)
    ]
    head = f"budget {ensemble.catalogue.cost_unit}".strip()
    return (head, "how cases go"), rows


def describe_note(model: Model) -> str:
    """Return on which rows sessions were played; "" if the card has no sessions."""
    sessions = read_sessions(model)
    return "" if sessions is None else SESSIONS_NOTE.format(rows=sessions.rows)


def describe_sessions(sessions: SessionsShape, place: int, ensemble: Ensemble) -> str:
    """Return two or three sentences on how sessions go under one budget.

    A model that asks every case the same saves nothing, whatever the folds did.
    """
    words = describe_lists(
        sessions.lists[place], sessions.commonest[place], sessions.ended_after[place]
    )
    saved = sessions.saved[place]
    if saved is None or sessions.lists[place] < 2:
        return words
    budget = sessions.budgets[place]
    limit = None if budget is None else round(budget * MICROS_PER_UNIT)
    way = WAYS.get(ensemble.policy_at(limit), ENDING)
    return f"{words} {describe_saved(saved, way, ensemble.catalogue.cost_unit)}"


def describe_lists(n_lists: int, commonest: float, ended_after: Sequence[float]) -> str:
    """Return how many question lists there are, and how long they are."""
    counts = [number for number, share in enumerate(ended_after) if share > 0]
    if counts in ([], [0]):
        return "Nothing is asked."
    if n_lists == 1:
        same = "question" if counts[0] == 1 else f"{counts[0]} questions"
        return f"All cases are asked the same {same}."
    lists = f"Cases follow {n_lists:,} different lists"
    lists += f", {percent(commonest)} of them the commonest one"
    if len(counts) == 1:
        return f"{lists}; each has {describe_number(counts[0])}."
    most = sorted(counts, key=lambda number: -ended_after[number])[:MOST_TOLD]
    ends = [
        f"{percent(ended_after[number])} end after {describe_number(number)}"
        for number in sorted(most)
    ]
    return f"{lists}; {', '.join(ends)}."


def describe_number(number: int) -> str:
    """Return a number of questions in words."""
    return "1 question" if number == 1 else f"{number} questions"


def describe_saved(saved: SavedShape, way: str, unit: str) -> str:
    """Return what a way of asking saves, and the error with and without it."""
    spend, fixed = (name_amount(micros) for micros in (saved.spend, saved.fixed_spend))
    amount = f"{spend} {unit}".strip()
    return (
        f"{way} spends {amount} instead of {fixed}, and errs in "
        f"{100 * saved.error:.1f} % instead of {100 * saved.fixed_error:.1f} %."
    )


def name_amount(amount: float | None) -> str:
    """Return an amount in units, to the cent."""
    if amount is None:
        return "unlimited"
    return money(round(amount * MICROS_PER_UNIT, -4))

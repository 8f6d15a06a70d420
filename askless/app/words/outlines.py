"""A table of what a budget buys, in order, if every answer comes."""

from collections.abc import Iterable

from askless.app.words.figures import Cells
from askless.app.words.wording import describe_price, money
from askless.core.catalogue.catalogue import Catalogue
from askless.core.model.model import Model
from askless.core.session.plans.outline import outline
from askless.core.session.state import Question


def build_outline_cells(model: Model, budget: int | None) -> Cells:
    """Return the questions of a case whose answers are all middle values."""
    return build_question_cells(
        model.ensemble.catalogue, outline(model.ensemble, budget)
    )


def build_question_cells(catalogue: Catalogue, questions: Iterable[Question]) -> Cells:
    """Return questions in order with their prices, as a table.

    The last column says what a price is made of; it is left out if it is empty.
    """
    rows: list[tuple[str, ...]] = []
    spent = 0
    for question in questions:
        spent += question.price
        titles = (catalogue.features[idx].title for idx in question.feature_idxs)
        asked = f"{question.number}. {', '.join(titles)}"
        words = describe_price(catalogue, question)
        rows.append((asked, money(question.price), money(spent), words))
    unit = f" ({catalogue.cost_unit})" if catalogue.cost_unit else ""
    head = ("Feature", f"Price{unit}", f"Spent by then{unit}", "About the price")
    if any(row[-1] for row in rows):
        return head, rows
    return head[:-1], [row[:-1] for row in rows]

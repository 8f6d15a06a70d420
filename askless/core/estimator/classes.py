"""Read classes of scikit-learn's conventions: texts, costs of errors, weights."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.class_weight import compute_sample_weight

from askless.core.arrays import FloatArray, IntArray
from askless.core.catalogue.costs import to_python
from askless.core.errors import Refusal, RefusedError, shorten
from askless.core.parameters import to_number
from askless.core.table.cells import tidy_text, write_cell
from askless.core.table.dataset import ClassLabel
from askless.core.table.spec import TableSpec
from askless.core.table.targets import ErrorCosts, build_error_costs
from askless.core.table.texts.categories import match_name, unify_spellings

RULE = "must map each true class to what its predictions cost: {true: {predicted: 1}}"
#: of a cost, as in a spec
MOST_COST = 1e12


def sort_classes_as_text(
    classes: npt.NDArray[Any],
) -> tuple[tuple[ClassLabel, ...], IntArray]:
    """Return classes in the order of their texts, as the service orders them.

    Returns too, for each class as passed, its position in that order; (n_classes,).
    """
    texts = [to_class_text(value) for value in classes.tolist()]
    texts = [*map(unify_spellings(texts).get, texts, texts)]
    if len(set(texts)) < len(texts):
        rule = "must have classes that differ in writing"
        raise RefusedError([Refusal("y", rule, shorten(classes.tolist()))])
    labels = sorted(texts)
    places = {label: place for place, label in enumerate(labels)}
    return (
        tuple(ClassLabel(label, label) for label in labels),
        np.array([places[text] for text in texts], np.int64),
    )


def class_positions(classes: list[Any], y: Any, n_rows: int) -> IntArray:
    """Return the position of each row's class, (n_rows,), compared as text."""
    column = np.asarray(y)
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.shape != (n_rows,):
        rule = f"must have {n_rows} classes, one for each row of X"
        shape = column.shape
        size = str(shape[0] if len(shape) == 1 else f"the shape {shape}")
        raise RefusedError([Refusal("y", rule, size)])
    names = [*map(to_class_text, classes)]
    labels = column.tolist()
    by_text = {
        text: match_name(names, text) for text in set(map(to_class_text, labels))
    }
    places = [by_text[to_class_text(label)] for label in labels]
    if None in places:
        rule = f"must hold only the classes {shorten(sorted(classes))}"
        unknown = shorten(labels[places.index(None)])
        raise RefusedError([Refusal("y", rule, unknown)])
    return np.array(places, np.int64)


def to_class_text(value: object) -> str:
    """Return a class as text; "" for a missing one."""
    return tidy_text(write_cell(value) or "")


def read_error_costs(raw: Any, labels: tuple[ClassLabel, ...]) -> ErrorCosts:
    """Return the costs of errors by classes, as a spec's `error_costs` are read."""
    if raw is None:
        return None
    is_nested = isinstance(raw, Mapping) and all(
        isinstance(row, Mapping) for row in raw.values()
    )
    if not is_nested:
        raise RefusedError([Refusal("error_costs", RULE, shorten(raw))])
    costs: dict[str, dict[str, float]] = {}
    refusals = []
    for true, row in raw.items():
        costs[to_class_text(true)] = {}
        for predicted, cost in row.items():
            amount = to_number(to_python(cost), float)
            if not 0 <= amount <= MOST_COST:
                rule = f"must be a number from 0 to {MOST_COST:g}"
                where = f"error_costs.{true}.{predicted}"
                refusals.append(Refusal(where, rule, shorten(cost)))
            costs[to_class_text(true)][to_class_text(predicted)] = amount
    table = TableSpec("y", error_costs=costs)
    built, wrong = build_error_costs(table, labels)
    if refusals + wrong:
        raise RefusedError(refusals + wrong)
    return built


def weigh_classes(weights: FloatArray, class_weight: Any, y: Any) -> FloatArray:
    """Return the weights of rows, multiplied by those of their classes.

    class_weight : "balanced" or mapping of class to weight; None: 1 each
    """
    if class_weight is None:
        return weights
    try:
        of_classes = compute_sample_weight(class_weight, y)
    except (ValueError, TypeError) as error:
        refusal = Refusal("class_weight", str(error), shorten(class_weight))
        raise RefusedError([refusal]) from None
    if not (np.isfinite(of_classes).all() and (of_classes >= 0).all()):
        rule = "must have finite weights of at least 0"
        raise RefusedError([Refusal("class_weight", rule, shorten(class_weight))])
    weighed: FloatArray = weights * of_classes
    return weighed

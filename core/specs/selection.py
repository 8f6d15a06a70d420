"""How features are selected, as a spec gives it."""

from __future__ import annotations

from core.reader import Reader, Section
from core.selection import SelectionLearner, SelectionMethod, SelectionParams

MAX_SELECTION_ROUNDS = 10_000
MAX_NEIGHBOURS = 10_000
MIN_SIGNIFICANCE = 1e-6


def read_selection(reader: Reader, raw: object) -> SelectionParams | None:
    """Read how features are selected before training; null is not at all."""
    if raw is None:
        return None
    names = ("method", "learner", "rounds", "n_neighbours", "significance")
    given = reader.mapping(raw, "selection", optional=names)
    fields = Section(reader, given, "selection", SelectionParams())
    return SelectionParams(
        method=fields.choice("method", SelectionMethod),
        learner=fields.choice("learner", SelectionLearner),
        rounds=fields.integer("rounds", 1, MAX_SELECTION_ROUNDS),
        n_neighbours=fields.integer("n_neighbours", 1, MAX_NEIGHBOURS),
        significance=fields.number(
            "significance", MIN_SIGNIFICANCE, 1 - MIN_SIGNIFICANCE
        ),
    )

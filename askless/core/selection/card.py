"""Describe a selection as a dictionary for model cards and programs."""

from typing import Any

from askless.core.catalogue.catalogue import Catalogue
from askless.core.selection.params import SelectionParams
from askless.core.selection.search import Selection


def describe_selection(
    catalogue: Catalogue, params: SelectionParams, selection: Selection
) -> dict[str, Any]:
    """Return the parameters, the subset's names, and all steps of a selection.

    Money is in micro-units. `value`, `gain` and `needed` are those of
    `askless.core.selection.search.SelectionStep`.
    """
    names = [feature.name for feature in catalogue.features]
    return {
        "method": params.method,
        "learner": params.learner,
        "rounds": params.rounds,
        "n_neighbours": params.n_neighbours,
        "significance": params.significance,
        "features": [names[idx] for idx in selection.feature_idxs],
        "cost_micros": selection.cost,
        "empty_value": selection.empty_value,
        "value": selection.value,
        "accuracy": selection.accuracy,
        "hypotheses": selection.n_hypotheses,
        "steps": [
            {
                "number": step.number,
                "feature": names[step.feature_idx],
                "value": step.value,
                "gain": step.gain,
                "needed": step.needed,
                "is_taken": step.is_taken,
                "cost_micros": step.cost,
                "candidates": {names[idx]: value for idx, value in step.candidates},
                "hypotheses": step.n_hypotheses,
            }
            for step in selection.steps
        ],
    }

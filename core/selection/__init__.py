"""Forward selection of features: SFS, FS2Boost and iFS2Boost (Sebban, Nock 1999).

A generator that yields after every subset it tried; to cancel, stop pulling. The
derivations, and what was measured, are in docs/selection.md.
"""

from core.selection.accuracy import loo_accuracy, loo_rights
from core.selection.boosting import boost_subset, weigh_clear
from core.selection.card import describe_selection
from core.selection.neighbours import find_neighbours
from core.selection.params import (
    N_NEIGHBOURS,
    SelectionCriterion,
    SelectionLearner,
    SelectionMethod,
    SelectionParams,
)
from core.selection.search import (
    Selection,
    SelectionProgress,
    SelectionStep,
    find_needed,
    select,
    selection_bytes,
)
from core.selection.subset import extend, make_empty, make_groups
from core.selection.table import make_table

__all__ = [
    "N_NEIGHBOURS",
    "Selection",
    "SelectionCriterion",
    "SelectionLearner",
    "SelectionMethod",
    "SelectionParams",
    "SelectionProgress",
    "SelectionStep",
    "boost_subset",
    "describe_selection",
    "extend",
    "find_needed",
    "find_neighbours",
    "loo_accuracy",
    "loo_rights",
    "make_empty",
    "make_groups",
    "make_table",
    "select",
    "selection_bytes",
    "weigh_clear",
]

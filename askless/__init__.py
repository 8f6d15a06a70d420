"""The public face: what users import. Nothing else of this distribution is promised."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from askless.client import Client
    from core.estimator import BudgetedBoostingClassifier

__all__ = ["BudgetedBoostingClassifier", "Client"]

PLACES = {
    "BudgetedBoostingClassifier": "core.estimator",
    "Client": "askless.client",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: a client needs none of the estimator's."""
    if name not in PLACES:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(PLACES[name]), name)

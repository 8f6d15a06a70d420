"""The public face: what users import. Nothing else of this distribution is promised."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from askless.client import Client
    from askless.models import load_model
    from askless.problems import ProblemError, TrainingFailed, UnansweredError
    from core.errors import RefusedError
    from core.estimator import BudgetedBoostingClassifier

__all__ = [
    "BudgetedBoostingClassifier",
    "Client",
    "ProblemError",
    "RefusedError",
    "TrainingFailed",
    "UnansweredError",
    "load_model",
]

PLACES = {
    "BudgetedBoostingClassifier": "core.estimator",
    "Client": "askless.client",
    "ProblemError": "askless.problems",
    "RefusedError": "core.errors",
    "TrainingFailed": "askless.problems",
    "UnansweredError": "askless.problems",
    "load_model": "askless.models",
}


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: a client needs none of the estimator's."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__

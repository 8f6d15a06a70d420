"""The public face: what users import. Nothing else of this distribution is promised."""

from typing import TYPE_CHECKING, Any

from askless.extras import import_whole

if TYPE_CHECKING:
    from askless.client import AsyncClient as AsyncClient
    from askless.client import Client as Client
    from askless.estimator import (
        BudgetedBoostingClassifier as BudgetedBoostingClassifier,
    )
    from askless.models import load_model as load_model
    from askless.problems import JobFailed as JobFailed
    from askless.problems import ProblemError as ProblemError
    from askless.problems import TrainingFailed as TrainingFailed
    from askless.problems import UnansweredError as UnansweredError
    from core.errors import RefusedError as RefusedError

PLACES = {
    "AsyncClient": "askless.client",
    "BudgetedBoostingClassifier": "askless.estimator",
    "Client": "askless.client",
    "JobFailed": "askless.problems",
    "ProblemError": "askless.problems",
    "RefusedError": "core.errors",
    "TrainingFailed": "askless.problems",
    "UnansweredError": "askless.problems",
    "load_model": "askless.models",
}
__all__ = [*PLACES]


def __getattr__(name: str) -> Any:
    """Import a name when it is asked for: a client needs none of the estimator's."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_whole(PLACES[name], name), name)


def __dir__() -> list[str]:
    return __all__

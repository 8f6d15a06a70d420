"""The public names, for users to import. Nothing else here is promised to stay."""

from typing import TYPE_CHECKING, Any

from askless.extras import import_or_explain

if TYPE_CHECKING:
    from askless.client import AsyncClient as AsyncClient
    from askless.client import Client as Client
    from askless.estimator import (
        BudgetedBoostingClassifier as BudgetedBoostingClassifier,
    )
    from askless.estimator import one_hot_groups as one_hot_groups
    from askless.models import load_model as load_model
    from askless.problems import JobFailed as JobFailed
    from askless.problems import ProblemError as ProblemError
    from askless.problems import ServiceUnreachable as ServiceUnreachable
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
    "ServiceUnreachable": "askless.problems",
    "TrainingFailed": "askless.problems",
    "UnansweredError": "askless.problems",
    "load_model": "askless.models",
    "one_hot_groups": "askless.estimator",
}
__all__ = [*PLACES]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: a client needs no package of the estimator."""
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_or_explain(PLACES[name], name), name)


def __dir__() -> list[str]:
    return __all__

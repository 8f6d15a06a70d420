"""The public names, for users to import. Nothing else here is promised to stay."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import askless.kernel_cache  # noqa: F401 - says where kernels are kept
from askless.extras import import_or_explain

if TYPE_CHECKING:
    from askless.client import AsyncClient as AsyncClient
    from askless.client import Client as Client
    from askless.client.problems import JobFailed as JobFailed
    from askless.client.problems import ProblemError as ProblemError
    from askless.client.problems import ServiceUnreachable as ServiceUnreachable
    from askless.client.problems import TrainingFailed as TrainingFailed
    from askless.client.problems import UnansweredError as UnansweredError
    from askless.core.errors import RefusedError as RefusedError
    from askless.estimator import (
        BudgetedBoostingClassifier as BudgetedBoostingClassifier,
    )
    from askless.estimator import one_hot_groups as one_hot_groups
    from askless.models import load_model as load_model

    __version__: str

PLACES = {
    "AsyncClient": "askless.client",
    "BudgetedBoostingClassifier": "askless.estimator",
    "Client": "askless.client",
    "JobFailed": "askless.client.problems",
    "ProblemError": "askless.client.problems",
    "RefusedError": "askless.core.errors",
    "ServiceUnreachable": "askless.client.problems",
    "TrainingFailed": "askless.client.problems",
    "UnansweredError": "askless.client.problems",
    "load_model": "askless.models",
    "one_hot_groups": "askless.estimator",
}
__all__ = [*PLACES]


def __getattr__(name: str) -> Any:
    """Import a public name on first use: a client needs no package of the estimator."""
    if name == "__version__":
        return import_module("importlib.metadata").version("askless")
    if name not in PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_or_explain(PLACES[name], name), name)


def __dir__() -> list[str]:
    return __all__

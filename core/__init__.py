"""Feature-budgeted boosting: the mathematics of Askless, without any input or output.

Values go in, values come out. Files, clock, environment, web and database
belong to `app`.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from core.estimators import BudgetedBoostingClassifier

__all__ = ["BudgetedBoostingClassifier"]


def __getattr__(name: str) -> Any:
    """Import the estimator when it is asked for: scikit-learn takes a second."""
    if name == "BudgetedBoostingClassifier":
        from core.estimators import BudgetedBoostingClassifier

        return BudgetedBoostingClassifier
    raise AttributeError(name)

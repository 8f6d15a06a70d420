"""What a client raises."""

from typing import Any


class ProblemError(Exception):
    """The service said no; `problem` is its whole problem document (RFC 9457)."""

    def __init__(self, problem: dict[str, Any], status: int) -> None:
        self.problem = problem
        self.type = str(problem.get("type", "about:blank"))
        self.title = str(problem.get("title", "The request failed"))
        self.status = status
        self.detail = problem.get("detail")
        self.errors: list[dict[str, str]] = problem.get("errors") or []
        self.request_id = problem.get("request_id")
        super().__init__(f"{self.title} ({status}): {self.detail or self.type}")


class TrainingFailed(Exception):  # noqa: N818 - reads as the state it reports
    """A training ended without a model; `problem` says why (cancelled: empty)."""

    def __init__(self, training_id: str, state: str, problem: dict[str, Any]) -> None:
        self.training_id = training_id
        self.state = state
        self.problem = problem
        reason = problem.get("detail", "no reason is given")
        super().__init__(f"training {training_id} has {state}: {reason}")


class UnansweredError(Exception):
    """A loop went on without having answered its question."""

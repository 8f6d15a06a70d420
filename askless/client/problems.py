"""Exceptions that a client raises."""

from typing import Any


class ProblemError(Exception):
    """A refused request; `problem` is its whole problem document (RFC 9457)."""

    def __init__(self, problem: dict[str, Any], status: int) -> None:
        self.problem = problem
        self.type = str(problem.get("type", "about:blank"))
        self.title = str(problem.get("title", "The request failed"))
        self.status = status
        self.detail = problem.get("detail")
        self.errors: list[dict[str, str]] = problem.get("errors") or []
        self.request_id = problem.get("request_id")
        super().__init__(f"{self.title} ({status}): {self.detail or self.type}")


class ServiceUnreachable(ProblemError):  # noqa: N818 - reads as what is the case
    """No answer came from a service, in any try; `address` says where it was sought.

    Its `status` is 0, and its cause is the failure of the last try.
    """

    def __init__(self, address: str, reason: str) -> None:
        self.address = address
        title = "The service can't be reached"
        super().__init__({"title": title, "detail": f"{address}: {reason}"}, 0)

    def __str__(self) -> str:
        return f"{self.title} at {self.detail}"


class JobFailed(Exception):  # noqa: N818 - reads as the state it reports
    """A job ended without a result; `problem` says why (cancelled: empty)."""

    noun = "job"

    def __init__(self, job_id: str, state: str, problem: dict[str, Any]) -> None:
        self.job_id = job_id
        self.state = state
        self.problem = problem
        reason = problem.get("detail", "no reason is given")
        super().__init__(f"{self.noun} {job_id} has {state}: {reason}")


class TrainingFailed(JobFailed):
    """A training ended without a model; `problem` says why (cancelled: empty)."""

    noun = "training"

    @property
    def training_id(self) -> str:
        """The training's id."""
        return self.job_id


class UnansweredError(Exception):
    """A loop over questions continued without an answer to the last one."""

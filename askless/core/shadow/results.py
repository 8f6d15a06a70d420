"""The result of a shadow: a comparison, and what it rests on."""

from dataclasses import dataclass
from typing import NamedTuple

from askless.core.model.model import Model
from askless.core.shadow.comparison import ChosenAim, ShadowFigures


class LogProblem(NamedTuple):
    """Something that a log should not have: how often, and what is done about it."""

    kind: str
    n_times: int
    words: str


class LatencyLine(NamedTuple):
    """Latencies of a vendor's calls, in seconds."""

    vendor: str
    n_calls: int
    median: float
    p95: float


@dataclass(frozen=True)
class ShadowResult:
    """A comparison of a log's waterfall with a policy of ours."""

    model: Model
    figures: ShadowFigures
    chosen: ChosenAim
    is_agreement: bool
    problems: tuple[LogProblem, ...]
    latencies: tuple[LatencyLine, ...]
    n_older: int
    n_trained: int
    #: newer cases that the frontier and the vendors' worth were measured on
    n_others: int
    #: seconds since 1970 of the first and last decision that is replayed
    span: tuple[float, float]

    @property
    def is_measured(self) -> bool:
        """Whether the log has every answer that we ask for: nothing is estimated."""
        return self.figures.supported.value == 1.0

    @property
    def has_errors(self) -> bool:
        """Whether errors are against outcomes, of which some are known."""
        return self.figures.n_judged > 0 and not self.is_agreement

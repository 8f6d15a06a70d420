"""Lines of `askless learn` about the rows that a model has learnt."""

from collections.abc import Iterator

from askless.app.words.wording import percent
from askless.core.model.figures import Estimate
from askless.core.model.learning_state import RECENT_ROWS
from askless.core.pipeline.online.learning import LearningReport


def describe_report(report: LearningReport) -> Iterator[str]:
    """Yield lines about the rows learnt and what they have changed."""
    yield f"learnt {report.n_rows} rows; since training {report.n_learnt}"
    if report.error is not None:
        yield f"wrong before they were learnt: {describe_share(report.error)}"
    if report.after is not None:
        yield (
            f"running error, of late rows (half-life {RECENT_ROWS}): "
            f"{describe_change(report.before, report.after)}"
        )
    features = ", ".join(report.features) or "none"
    yield f"new stumps: {report.n_stumps}; features not read before: {features}"


def describe_share(estimate: Estimate) -> str:
    """Return a share in percent, with its interval."""
    share = percent(estimate.value)
    if estimate.interval is None:
        return share
    low, high = (percent(bound) for bound in estimate.interval)
    return f"{share} (95 % interval {low} to {high})"


def describe_change(before: Estimate | None, after: Estimate) -> str:
    """Return a running error, and what it was before if it was known."""
    now = describe_share(after)
    return now if before is None else f"{percent(before.value)} before, now {now}"

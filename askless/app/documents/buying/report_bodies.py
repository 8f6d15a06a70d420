"""Body of the report on a provider."""

from datetime import date, datetime

from pydantic import Field

from askless.app.documents.shape import EXAMPLE_TIME, Answer, Units
from askless.app.documents.words import ShiftKind


class CallSums(Answer):
    """Ended calls by how they have ended, and what they cost."""

    calls: int = Field(
        0, examples=[240], description="Requests; without what came from the cache."
    )
    answers: int = Field(0, examples=[180], description="A value came.")
    misses: int = Field(0, examples=[52], description="The answer was empty.")
    failures: int = Field(
        0, examples=[6], description="No answer came, or none that can be read."
    )
    in_doubt: int = Field(0, examples=[2], description="Sent, and not settled.")
    cached: int = Field(0, examples=[31], description="Read from the cache, for free.")
    spent: Units = Field(0, examples=[11.6])


class CallDay(CallSums):
    """Ended calls of a day."""

    day: date = Field(examples=["2026-11-28"], description="Of UTC.")


class NewestCalls(Answer):
    """Figures of the newest calls that have ended, tests too."""

    calls: int = Field(examples=[2_400], description="That the figures rest on.")
    since: datetime | None = Field(
        examples=[EXAMPLE_TIME], description="Of the oldest; null: there was none."
    )
    timed: int = Field(examples=[2_310], description="Answers that the times rest on.")
    p50_ms: float | None = Field(
        examples=[310.0],
        description="Half of the answers came within; null: none came.",
    )
    p95_ms: float | None = Field(
        examples=[820.0], description="Of 20 answers 19 came within."
    )
    cases: int = Field(
        examples=[2_280], description="Calls whose chances are kept: not erased."
    )
    labels_changed: int = Field(
        examples=[310], description="Of these, another class was most probable after."
    )
    share_changed: float | None = Field(
        examples=[0.136], description="Share of the cases; null: there is none."
    )


class ProviderChange(Answer):
    """A change within the last 200 calls, against up to 2,000 earlier ones."""

    kind: ShiftKind = Field(examples=["misses"])
    before: float = Field(
        examples=[0.21],
        description="A share from 0 to 1; of `latency` the time in ms within which "
        "nine in ten answers came; of `price` the amount.",
    )
    after: float = Field(examples=[0.39])
    calls_before: int = Field(examples=[1_640], description="That `before` rests on.")
    calls_after: int = Field(examples=[100], description="That `after` rests on.")
    named_at: datetime = Field(
        examples=[EXAMPLE_TIME], description="End of the newest call that named it."
    )

    def describe(self, unit: str) -> str:
        """Return the change as a sentence."""
        if self.kind == "price":
            return f"An answer costs {self.after:g} {unit}, before {self.before:g}."
        last = f"of the last {self.calls_after}"
        before = f"before {{}}, of {self.calls_before}."
        if self.kind == "latency":
            now = f"Nine in ten {last} answers came within {self.after:.0f} ms, "
            return now + before.format(f"{self.before:.0f} ms")
        noun = "answers were empty" if self.kind == "misses" else "calls have failed"
        now = f"{100 * self.after:.0f} % {last} {noun}, "
        return now + before.format(f"{100 * self.before:.0f} %")


class ReplayWithout(Answer):
    """The newest ended runs that bought it, predicted again without its answer.

    Nobody is asked instead, and what was bought afterwards stays as it was.
    """

    cases: int = Field(examples=[200], description="At most 200; erased ones are not.")
    labels_changed: int = Field(
        examples=[24], description="Labels that would have been others."
    )
    saved: Units = Field(examples=[10.0], description="What it has charged for them.")


class ProviderReport(Answer):
    """Calls to a provider, what they changed, and what it would be to do without."""

    name: str = Field(examples=["firmo"])
    unit: str | None = Field(
        examples=["USD"], description="Of amounts; null: there was no call yet."
    )
    totals: CallSums = Field(description="Of the days.")
    days: list[CallDay] = Field(
        description="The last 30 days of UTC, those with calls, the oldest first."
    )
    newest: NewestCalls
    changes: list[ProviderChange] = Field(
        description="What has changed of late; empty: nothing that is sure."
    )
    without: ReplayWithout

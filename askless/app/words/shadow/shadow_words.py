"""Sentences of a shadow's report, for who pays the vendors."""

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np

from askless.app.words.wording import money
from askless.core.arrays import round_digits
from askless.core.model.figures import Estimate
from askless.core.shadow.day_sums import LEAST_DAYS, BoundedMean
from askless.core.shadow.results import ShadowResult

# Digits of amounts: means of money need no more.
DIGITS = 3

AIMS = {
    "error_price": "Askless weighs each error against money at the price that was "
    "given.",
    "error": "Askless was set to err as often as your waterfall did on the older "
    "cases, at the least spend.",
    "spend": "Your waterfall errs less on the older cases than Askless can, so Askless "
    "was set to spend as much.",
    "agreement": "Askless was set to agree with your decisions about as often as it "
    "can, at the least spend.",
    "none": "The algorithm of the spec takes no aims, so Askless asks as it would "
    "without a budget.",
}


def write_share(share: float) -> str:
    """Return a share in percent with one decimal."""
    return f"{100 * share:.1f} %"


def write_money(micros: float, unit: str = "") -> str:
    """Return an amount with few digits."""
    return money(float(round_digits(np.array([micros]), DIGITS)[0]), unit)


def loss_writer(result: ShadowResult) -> Callable[[float], str]:
    """Return a function that writes losses: money if errors have costs, else shares."""
    if result.model.ensemble.error_costs is None:
        return write_share
    unit = result.model.ensemble.catalogue.cost_unit
    return lambda loss: write_money(1e6 * loss, unit)


def write_range(
    interval: tuple[float, float] | None, write: Callable[[float], str]
) -> str:
    """Return an interval, or that there is none."""
    if interval is None:
        return "–"
    low, high = map(write, interval)
    return f"{low} to {high}"


def write_estimate(estimate: Estimate, write: Callable[[float], str]) -> str:
    """Return a mean with its interval."""
    if estimate.interval is None:
        return write(estimate.value)
    return f"{write(estimate.value)} ({write_range(estimate.interval, write)})"


def is_open(bounded: BoundedMean) -> bool:
    """Return whether a log leaves a mean open."""
    return bounded.most > bounded.least


def write_bounds(bounded: BoundedMean, write: Callable[[float], str]) -> str:
    """Return the bounds of a mean, or that it was measured."""
    if not is_open(bounded):
        return "measured"
    return f"{write(bounded.least)} to {write(bounded.most)}"


def name_error(result: ShadowResult) -> str:
    """Return what the report calls an error."""
    if result.is_agreement:
        return "decisions that differ"
    if result.model.ensemble.error_costs is not None:
        return "cost of errors"
    return "wrong decisions"


def list_short_lines(result: ShadowResult) -> list[str]:
    """Return the report in a few sentences."""
    figures, unit = result.figures, result.model.ensemble.catalogue.cost_unit
    before, after = figures.spend_logged.value, figures.spend.estimate.value
    ours = f"Askless {write_money(after, unit)}"
    is_estimate = is_open(figures.spend)
    ours += " by estimate" * is_estimate
    lines = [
        f"Your waterfall costs {write_money(before, unit)} a case, {ours}"
        f"{describe_saving(before, after)}."
    ]
    if result.has_errors:
        lines.append(compare_errors(result))
    differs, worse = figures.differs.estimate.value, figures.worse.estimate.value
    line = f"{write_share(differs)} of decisions differ"
    if result.has_errors:
        line += (
            f", {write_share(worse)} of all for the worse and "
            f"{write_share(figures.better.value)} for the better"
        )
    lines.append(f"{line}.")
    if result.is_agreement:
        lines.append(
            "The log has no outcomes. So Askless learnt your decisions, and what is "
            "called an error here is that it disagrees with one. Who is right, the log "
            "does not say."
        )
    lines += list_support_lines(result)
    if figures.n_days < LEAST_DAYS:
        lines.append(
            f"The newer cases are of {figures.n_days} days: too few for intervals."
        )
    return lines


def compare_errors(result: ShadowResult) -> str:
    """Return what both err, in a sentence."""
    figures, write = result.figures, loss_writer(result)
    before, after = write(figures.loss_logged.value), write(figures.loss.estimate.value)
    by_estimate = " by estimate" * is_open(figures.loss)
    if result.model.ensemble.error_costs is not None:
        return f"Errors cost you {before} a case, Askless {after}{by_estimate}."
    return f"Yours is wrong in {before} of the cases, Askless in {after}{by_estimate}."


def describe_saving(before: float, after: float) -> str:
    """Return by how much a spend changes, as the end of a sentence."""
    if before <= 0:
        return ""
    word = "less" if after <= before else "more"
    return f": {100 * abs(1 - after / before):.0f} % {word}"


def list_support_lines(result: ShadowResult) -> list[str]:
    """Return how much of the replay the log has answers for, and what the rest does."""
    figures, unit = result.figures, result.model.ensemble.catalogue.cost_unit
    if result.is_measured:
        return [
            "The log has every answer that Askless asks for: nothing here is guessed."
        ]
    write = loss_writer(result)
    spend = write_bounds(figures.spend, lambda micros: write_money(micros, unit))
    differs = write_bounds(figures.differs, write_share)
    lines = [
        f"The log has all answers that Askless asks for in "
        f"{write_share(figures.supported.value)} of the "
        "cases. In the others your waterfall had not asked: these answers are missing "
        "by design, and nobody can know them.",
        f"Whatever they are, Askless spends {spend} a case, and {differs} of decisions "
        "differ. The one figure between these bounds is a model's estimate: it takes "
        "answers of older cases of the same outcome that looked alike.",
    ]
    if result.has_errors:
        error = write_bounds(figures.loss, write)
        lines.append(f"Its {name_error(result)} lie between these bounds: {error}.")
    lacking = [vendor for vendor in figures.vendors if not vendor.has_donors]
    if lacking:
        catalogue = result.model.ensemble.catalogue
        names = [catalogue.offer_name(catalogue.offers[v.offer][0]) for v in lacking]
        lines.append(
            f"The log has too few answers of {', '.join(names)} to learn what they are "
            "worth. To learn it, ask them in some cases drawn at random."
        )
    return lines


def list_saving_lines(result: ShadowResult) -> list[str]:
    """Return where the saving comes from."""
    figures, unit = result.figures, result.model.ensemble.catalogue.cost_unit

    def write(micros: float) -> str:
        return write_money(micros, unit)

    return [
        f"Not asking a vendor twice: {write_estimate(figures.saved_repeats, write)} a "
        "case.",
        f"Stopping early: {write_estimate(figures.saved_early, write)} a case. This "
        "was bought after the last vendor that Askless still asks.",
        f"Another order: {write_estimate(figures.saved_order, write)} a case. This "
        "was bought before that vendor, and Askless passes over it.",
        "The last two are of the cases that the log supports: there your waterfall "
        f"costs {write(figures.spend_logged_supported.value)} without repeats, Askless "
        f"{write(figures.spend_supported.value)}.",
    ]


def list_method_lines(result: ShadowResult) -> list[str]:
    """Return how the comparison was made, and what it can't say."""
    figures = result.figures
    first, last = (f"{datetime.fromtimestamp(s, UTC):%d %B %Y}" for s in result.span)
    lines = [
        f"{result.n_older:,} older cases were for learning"
        + (
            f" ({result.n_trained:,} of them, evenly spaced)"
            if result.n_trained < result.n_older
            else ""
        )
        + f". {figures.n_cases:,} newer cases were replayed, decided from {first} to "
        f"{last}.",
        f"{AIMS[result.chosen.reason]} That was chosen on the older cases alone.",
        "All amounts are at the prices of the spec. An empty answer costs what its "
        "vendor's billing says.",
        "Intervals hold 95 % of 2,000 draws of whole days. They are of this model: "
        "that another training would differ is not in them.",
    ]
    if result.has_errors and figures.n_judged < figures.n_cases:
        lines.append(
            f"{figures.n_judged:,} of the newer cases have both an outcome and a "
            "decision; errors are of these. If outcomes are known of accepted cases "
            "only, errors on all cases may be others."
        )
    if not result.is_measured:
        lines.append(
            "Answers that nobody asked for were marked as missing by design (Rubin "
            "1976) when the model was trained: an empty answer says something of a "
            "case, one that nobody asked for does not. A vendor that was asked of "
            "doubtful cases only is learnt from doubtful cases."
        )
    if result.n_others < figures.n_cases:
        lines.append(
            f"The chart, and dropping vendors, are measured on {result.n_others:,} of "
            "the newer cases, evenly spaced."
        )
    return lines

"""Prices, reasons, questions and doubts in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from askless.core.catalogue.catalogue import UNSEEN, Catalogue, DoubtKind, Feature
from askless.core.catalogue.prices import from_micros
from askless.core.errors import find_nearest, list_some
from askless.core.model.ensemble import Ensemble
from askless.core.session.state import Forecast, Question
from askless.core.session.steps import AnswerStep, Prospect
from askless.core.table.texts.categories import label_of, match_name, name_category

# Why a session does not stop early by a certificate; None: it may.
LACKS: dict[str | None, str] = {
    None: "Shown on rows that nothing was trained on.",
    "no_rows": "The model has no rows set aside for it at these prices.",
    "other_policy": "Rows set aside were asked by another policy.",
    "small_budget": "No budget so small was tried on rows set aside.",
    "known_values": "Of rows set aside nothing was known beforehand.",
    "other_answers": "Rows set aside answered what was asked, under one budget.",
    "hidden_answers": "An answer was refused or unknown, and the sessions set aside "
    "had none.",
    "too_few_rows": "Too few rows were set aside for so small a share.",
    "not_shown": "The rows set aside don't show it.",
}

# Shown where the rules for ending early don't hold any more.
RULES_OFF = "An answer came without a value, so the rules for ending early are off."

# Of more features or categories than these only the number of the rest is shown.
MOST_NAMED = 6


def money(micros: float, unit: str = "") -> str:
    """Return an amount with two decimals, or as many as it needs, and its unit."""
    text = f"{from_micros(round(micros)):,.6f}".rstrip("0")
    whole, _, decimals = text.partition(".")
    return f"{whole}.{decimals:0<2}" + (f" {unit}" if unit else "")


def percent(share: float) -> str:
    """Return a share in whole percents; 0 % and 100 % only where it is exactly that."""
    if 0 < share < 0.01:
        return "< 1 %"
    if 0.99 < share < 1:
        return "> 99 %"
    return f"{100 * share:.0f} %"


def percents(shares: Sequence[float]) -> list[str]:
    """Return shares in whole percents that sum to 100 (largest remainders)."""
    # Rounded, so that 0.29 * 100 is 29.
    parts = [round(100 * share, 9) for share in shares]
    whole = [int(part) for part in parts]
    by_remainder = sorted(range(len(parts)), key=lambda idx: whole[idx] - parts[idx])
    for idx in by_remainder[: max(0, 100 - sum(whole))]:
        whole[idx] += 1
    return [
        percent(share) if share < 0.01 or share > 0.99 else f"{number} %"
        for share, number in zip(shares, whole, strict=True)
    ]


def number_range(low: float, high: float) -> str:
    """Return two numbers with two decimals each, without a leading zero."""
    return "–".join(f"{value:.2f}".removeprefix("0") for value in (low, high))


def number_span(least: int, most: int) -> str:
    """Return two whole numbers as `2 to 12`; only one if both are the same."""
    return f"{most}" if least == most else f"{least} to {most}"


def percent_range(low: float, high: float) -> str:
    """Return two whole percents, without the sign."""
    return f"{100 * low:.0f}–{100 * high:.0f}"


def explain_question(
    ensemble: Ensemble, question: Question, prospect: Prospect | None = None
) -> str:
    """Return why this feature is asked next, and what its price is made of."""
    reason = describe_reason(ensemble, question, prospect)
    return f"{reason} {describe_price(ensemble.catalogue, question)}".strip()


def describe_reason(
    ensemble: Ensemble, question: Question, prospect: Prospect | None = None
) -> str:
    """Return why this feature is asked next.

    With a prospect the reason is in chances; else in what the purchase should gain.
    """
    if question.explores:
        prospects = "" if prospect is None else describe_prospect(ensemble, prospect)
        return f"{describe_exploration(question)} {prospects}".strip()
    share, n_hypotheses = percent(question.open_share), question.n_hypotheses
    word = "weak hypothesis" if n_hypotheses == 1 else "weak hypotheses"
    reason = (
        f"It carries {share} of the vote that is still open, in {n_hypotheses} {word}."
    )
    if n_hypotheses is None:
        reason = f"It is to bring {share} of what the features to be bought still gain."
    promise = describe_promise(ensemble, question)
    if prospect is not None:
        promise = f"{describe_prospect(ensemble, prospect)} {promise}".strip()
    reason = promise or reason
    if question.is_outside_rules:
        reason = f"{reason} {RULES_OFF}"
    return reason


def describe_exploration(question: Question) -> str:
    """Return why an exploratory question is asked."""
    reason = (
        "It was drawn at random, not chosen for this case: its answer serves to judge "
        "other ways of asking."
    )
    if question.policy_stop is None:
        return reason
    return f"{reason} Without it we would suggest stopping now."


def describe_prospect(ensemble: Ensemble, prospect: Prospect) -> str:
    """Return how far the answer alone may move the chance of a class."""
    name = ensemble.classes[prospect.class_idx].display
    now, low, high = map(percent, (prospect.now, prospect.low, prospect.high))
    if low == high:
        return f"Whatever the answer, the chance of {name} stays at about {now}."
    return (
        f"Depending on the answer, the chance of {name} goes from {now} to between "
        f"{low} and {high}."
    )


def percent_span(low: str, high: str) -> str:
    """Return two percents as `12 to 18 %`; only one if both are the same."""
    return high if low == high else f"{low.removesuffix(' %')} to {high}"


def describe_step(ensemble: Ensemble, step: AnswerStep, class_idx: int) -> str:
    """Return what an answer did to the chance of a class."""
    name = ensemble.classes[class_idx].display
    before, after = (
        percent(chances[class_idx]) for chances in (step.before, step.after)
    )
    if before == after:
        return f"left the chance of {name} at {after}"
    verb = "raised" if step.after[class_idx] > step.before[class_idx] else "lowered"
    return f"{verb} the chance of {name} from {percent_span(before, after)}"


def describe_promise(ensemble: Ensemble, question: Question) -> str:
    """Return what the plan that a question begins costs, and does to the error.

    "" where nothing was measured, and where hypotheses vote: their questions carry
    shares of the vote.
    """
    promise = question.promise
    if promise is None or question.n_hypotheses is not None:
        return ""
    least, most = promise.questions_left
    size = f"{number_span(least, most)} question{'' if most == 1 else 's'}"
    size += "," if least == most else ", at most"
    cost = money(promise.spend_left, ensemble.catalogue.cost_unit)
    plan = f"the whole plan ({size} {cost})"
    return describe_error_change(
        ensemble, promise.error_now, promise.error_at_end, plan
    )


def describe_error_change(
    ensemble: Ensemble, now: float, then: float, plan: str
) -> str:
    """Return what a plan is expected to do to the error, or to its cost."""
    has_costs = ensemble.error_costs is not None
    noun = "expected cost of errors" if has_costs else "risk of a wrong prediction"
    before, after = (
        f"{error_rate:.3g}" if has_costs else percent(error_rate)
        for error_rate in (now, then)
    )
    change = f"{'fall' if then <= now else 'rise'} from {before} to {after}"
    if before == after:
        change = f"stay at {after}"
    return f"If you follow {plan}, the {noun} should {change}."


def describe_useless(features: Sequence[Feature]) -> str:
    """Return which features are not offered because nothing depends on them.

    "" if there are none; many are only counted.
    """
    if not features:
        return ""
    because = "Nothing that the model asks depends on"
    if len(features) > MOST_NAMED:
        return f"{because} {len(features)} other features, so they can't be used."
    names = ", ".join(feature.title for feature in features)
    who = "it" if len(features) == 1 else "they"
    return f"{because} {names}, so {who} can't be used."


def describe_price(catalogue: Catalogue, question: Question) -> str:
    """Return what a price is made of, if a group has a share in it; else ""."""
    feature = catalogue.features[question.feature_idx]
    if feature.group is None:
        return ""
    group = next(
        candidate for candidate in catalogue.groups if candidate.name == feature.group
    )
    name = group.label or group.name
    if group.is_bundle:
        n_features = len(question.feature_idxs)
        return f"The price buys all of {name} ({n_features} features)."
    if question.is_group_paid:
        return f"The fee for the {name} is already paid."
    if group.fee == 0:
        return ""
    cost, fee = money(feature.cost), money(group.fee)
    return f"{cost} and, once, {fee} for the {name}."


def describe_prediction(ensemble: Ensemble, forecast: Forecast) -> str:
    """Return the label with its probability."""
    display = ensemble.classes[forecast.label].display
    return f"{display} ({percent(forecast.probabilities[forecast.label])})"


@dataclass(frozen=True, slots=True)
class Doubt:
    """A doubt about a value, to be confirmed before the value is charged.

    `nearest` is the category seen in training that is spelt most alike.
    """

    feature: str
    kind: DoubtKind
    words: str
    nearest: str | None = None


def make_doubt(feature: Feature, value: float, text: str | None = None) -> Doubt | None:
    """Return what is odd about a value, or None; `text` is a category as typed."""
    if feature.type == "category":
        is_new = value == UNSEEN if text is None else not is_known(feature, text)
        return doubt_of_category(feature, text or "") if is_new else None
    low, high = feature.value_range or (value, value)
    if low <= value <= high:
        return None
    ends = " to ".join(describe_value(feature, end) for end in (low, high))
    return Doubt(feature.name, "outside_range", f"Training saw {ends} only.")


def describe_choices(feature: Feature, text: str) -> str:
    """Return the categories that training saw, the one nearest to a text alone."""
    nearest = find_nearest_category(feature, text)
    if nearest is not None:
        return f"such as {label_of(feature, nearest)}"
    return f"one of {list_some(feature.shown_categories, MOST_NAMED)}"


def find_nearest_category(feature: Feature, text: str) -> str | None:
    """Return the category whose name or label is spelt most like a text, or None."""
    names = (*feature.category_labels, *feature.categories)
    nearest = find_nearest(text, names)
    return None if nearest is None else name_category(feature, nearest)


def doubt_of_category(feature: Feature, text: str) -> Doubt:
    nearest = find_nearest_category(feature, text)
    words = "Training saw no such category."
    if nearest is not None:
        words += f" The nearest is {label_of(feature, nearest)}."
    return Doubt(feature.name, "unseen_category", words, nearest)


def is_known(feature: Feature, category: str) -> bool:
    """Return whether training saw a category, in this writing or another one."""
    return match_name(feature.categories, category) is not None


def describe_value(feature: Feature, value: float) -> str:
    """Return a value as people write it."""
    if feature.type == "category":
        code = int(value)
        return feature.shown_categories[code] if code >= 0 else "another category"
    if feature.type == "boolean":
        return "yes" if value else "no"
    return f"{value:g}" + (f" {feature.unit}" if feature.unit else "")


def write_answer(feature: Feature, value: object) -> str:
    """Return an answer as people write it, from what the API has; "" for no value."""
    if value is None:
        return ""
    if isinstance(value, str):
        return label_of(feature, value)
    return describe_value(feature, float(value))  # type: ignore[arg-type]  # a number


def describe_age(age: timedelta) -> str:
    """Return how long ago something was, in its largest whole unit."""
    seconds = max(0, int(age.total_seconds()))
    for length, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= length:
            count = seconds // length
            return f"{count} {unit}{'' if count == 1 else 's'}"
    return "less than a minute"


def describe_time_left(left: timedelta) -> str:
    """Return an estimate of the time left; it is rough, so it is rounded."""
    seconds = left.total_seconds()
    if seconds <= 5:
        return "A few seconds left."
    length, unit, step = 1, "second", 5
    if seconds >= 55:
        length, unit, step = (
            (60, "minute", 1) if seconds < 3_300 else (3_600, "hour", 1)
        )
    count = step * max(1, round(seconds / length / step))
    return f"About {count} {unit}{'' if count == 1 else 's'} left."


def format_number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:,g}"

"""Print a session line by line: the same for a person, a pipe and the demo."""

from rich.console import Console
from rich.markup import escape

from askless.app.words.stops import STOP_WORDS, describe_stop
from askless.app.words.wording import (
    LACKS,
    describe_prediction,
    describe_step,
    describe_value,
    explain_question,
    money,
    percent,
    percent_span,
)
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.certificates import make_certificate
from askless.core.session.position import Position
from askless.core.session.state import Question, State
from askless.core.session.steps import (
    AnswerStep,
    compute_prospect,
    reported_class,
    trace_answers,
)

# A smaller change of log odds counts as none.
LEAST_RISE = 0.005


def print_question(
    console: Console, ensemble: Ensemble, state: State, question: Question
) -> None:
    catalogue = ensemble.catalogue
    feature = catalogue.features[question.feature_idx]
    unit = f" ({feature.unit})" if feature.unit else ""
    price = money(question.price, catalogue.cost_unit)
    console.print(
        f"\n[bold]{question.number}. {escape(feature.text)}[/bold]{escape(unit)}"
        f"   [cyan]{price}[/cyan]"
    )
    prospect = compute_prospect(ensemble, state, question.feature_idx)
    console.print(
        f"   {escape(explain_question(ensemble, question, prospect))}", style="dim"
    )


def print_member(
    console: Console,
    ensemble: Ensemble,
    state: State,
    feature_idx: int,
    number: int | None,
) -> None:
    """Ask for what was bought with another feature, or was taken back."""
    feature = ensemble.catalogue.features[feature_idx]
    unit = f" ({feature.unit})" if feature.unit else ""
    head = "also bought:" if feature_idx in state.pending else "again:"
    number_words = "" if number is None else f"{number}. "
    charged = [c.feature_idx for c in state.charges if c.kind == "charge"]
    price = money(Position.of(ensemble, state).prices[feature_idx])
    amount = "paid" if feature_idx in (*charged, *state.known) else price
    console.print(
        f"\n[bold]{number_words}{head} {escape(feature.title)}[/bold]{escape(unit)}"
        f"   [cyan]{amount}[/cyan]"
    )


def print_standing(console: Console, ensemble: Ensemble, state: State) -> None:
    """Print what the last answer did; spent, remaining and the prediction now."""
    for step in trace_answers(ensemble, state)[-1:]:
        words = describe_step(ensemble, step, reported_class(step.after))
        console.print(f"   {escape(words)}")
    unit = ensemble.catalogue.cost_unit
    forecast = machine.forecast(ensemble, state)
    left = "no limit" if state.remaining is None else f"{money(state.remaining)} left"
    console.print(
        f"   spent {money(state.spent, unit)}, {left}   "
        f"now: [bold]{escape(describe_prediction(ensemble, forecast))}[/bold]"
    )


def print_end(console: Console, ensemble: Ensemble, state: State) -> None:
    unit = ensemble.catalogue.cost_unit
    forecast = machine.forecast(ensemble, state)
    reason = describe_stop(ensemble, state) or STOP_WORDS["client_stopped"]
    console.print(f"\nStopped: {reason}.")
    console.print(
        f"Prediction: [bold]{escape(describe_prediction(ensemble, forecast))}[/bold], "
        f"for {money(state.spent, unit)}"
    )
    for position, label in enumerate(ensemble.classes):
        share = percent(forecast.probabilities[position])
        console.print(f"   {escape(label.display)}: {share}")
    print_answer_effects(
        console, ensemble, state, reported_class(forecast.probabilities)
    )
    if forecast.label_set is not None:
        shown = ", ".join(ensemble.classes[idx].display for idx in forecast.label_set)
        coverage = percent(state.coverage or 0.0)
        console.print(f"With a chance of {coverage} it is one of: {escape(shown)}")
    if forecast.hoeffding_p is not None and forecast.n_draws:
        console.print(
            f"   {forecast.n_draws} draws; such a lead has a chance of at most "
            f"{forecast.hoeffding_p:.2g} if the full vote pointed the other way",
            style="dim",
        )


def print_answer_effects(
    console: Console, ensemble: Ensemble, state: State, class_idx: int
) -> None:
    """Print which answers spoke for a class and which against it."""
    steps = trace_answers(ensemble, state)
    name = escape(ensemble.classes[class_idx].display)
    parts: dict[str, list[str]] = {f"For {name}": [], f"Against {name}": []}
    for step in steps:
        rise = step.log_odds(class_idx)
        if abs(rise) < LEAST_RISE:
            continue
        ends = (percent(chances[class_idx]) for chances in (step.before, step.after))
        line = (
            f"   {describe_answer(ensemble, step)}: {percent_span(*ends)} ({rise:+.2f})"
        )
        parts[f"{'For' if rise > 0 else 'Against'} {name}"].append(line)
    if any(parts.values()):
        console.print(
            "What each answer did to the chance, given those before it (in brackets to "
            "the log odds, which add up); in another order the shares are others:",
            style="dim",
        )
    for heading, lines in parts.items():
        if lines:
            console.print("\n".join([f"{heading}:", *map(escape, lines)]))


def describe_answer(ensemble: Ensemble, step: AnswerStep) -> str:
    """Return a question with its answer."""
    title = ensemble.catalogue.features[step.feature_idx].title
    if step.value is None:
        return f"{title}, {step.outcome}"
    return f"{title}, {value_text(ensemble, step.feature_idx, step.value)}"


def print_certificate(console: Console, ensemble: Ensemble, state: State) -> None:
    """Print when the session stops early, if it asked for a certificate."""
    if state.stop.disagreement is None:
        return
    certificate = make_certificate(ensemble, state)
    if certificate.threshold is None:
        console.print(f"No early stop: {LACKS[certificate.lack]}")
        return
    unit = ensemble.catalogue.cost_unit
    mean, whole = certificate.mean_spend or 0, certificate.mean_spend_whole or 0
    console.print(
        f"Stops early from {percent(certificate.threshold)} on; for "
        f"{certificate.n_samples} rows that took {money(mean, unit)} of "
        f"{money(whole, unit)} on average."
    )


def value_text(ensemble: Ensemble, feature_idx: int, value: float) -> str:
    """Return a value as people write it."""
    return describe_value(ensemble.catalogue.features[feature_idx], value)

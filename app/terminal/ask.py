"""The command `ask`: a session in the terminal, or over a pipe."""

from collections.abc import Callable

from rich.console import Console
from rich.markup import escape

from app.terminal.transcript import say_end, say_question, say_standing
from app.wording import STOP_WORDS, money
from core import anytime
from core.answers import parse_answer
from core.errors import ClosedError, OverBudgetError, Refusal, RefusedError
from core.types import Ensemble, Feature, Outcome, Question, State

HELP = """   an answer         the value itself: {example}
   not available     it can't be had; costs nothing. Also: refused, unknown
   ordered           it is paid for, the result comes later
   NAME = ANSWER     answer or correct any feature by its name
   list              what else could be asked, with prices
   undo              take the last answer back (what was charged stays charged)
   stop              end here   ·   help"""

COMMANDS = ("help", "list", "undo")

OUTCOMES: dict[str, Outcome] = {
    "not available": "unavailable",
    "unavailable": "unavailable",
    "na": "unavailable",
    "refused": "refused",
    "unknown": "unknown",
    "ordered": "ordered",
}


def run_session(
    ensemble: Ensemble,
    state: State,
    console: Console,
    read_line: Callable[[str], str],
    *,
    is_terminal: bool,
    goes_on: bool = False,
) -> State:
    """Ask until the session ends, advises to stop, or the input does.

    Over a pipe a wrong answer raises, so that a script does not go on unawares.
    """
    asked: int | None = -1
    doubted = ""
    while True:
        question = anytime.next_question(ensemble, state)
        is_advised = state.stop_reason is not None and not goes_on
        if question is None or is_advised:
            if not state.pending:
                break
            question = None
        if question is not None and question.feature_idx != asked:
            say_question(console, ensemble, question)
        elif question is None and asked is not None:
            names = [ensemble.catalogue.features[idx].name for idx in state.pending]
            console.print(f"\nWaiting for {', '.join(names)}: NAME = ANSWER, or stop")
        asked = None if question is None else question.feature_idx
        try:
            line = read_line(prompt(ensemble, question)).strip()
        except (EOFError, KeyboardInterrupt):
            line = "stop"
        if line == "stop":
            if state.stop_reason is None or question is not None:
                state = anytime.stop(state)
            break
        if is_terminal and line != doubted and is_unseen(ensemble, question, line):
            # It would be charged; a slip of the finger should not be.
            console.print("   Training saw no such category. To keep it, repeat it.")
            doubted = line
            continue
        try:
            before, state = state, take_line(ensemble, state, question, line, console)
        except (RefusedError, OverBudgetError, ClosedError) as error:
            if not is_terminal:
                raise
            console.print(f"   {escape(say_error(error))}", style="red")
        else:
            if state is not before:
                say_standing(console, ensemble, state)
    say_end(console, ensemble, state)
    return state


def is_unseen(ensemble: Ensemble, question: Question | None, line: str) -> bool:
    """Whether a line answers with a category that training did not see."""
    if question is None or not line:
        return False
    feature = ensemble.catalogue.features[question.feature_idx]
    is_word = line.lower() in COMMANDS or line.lower() in OUTCOMES
    is_named = line.partition("=")[0].strip() in ensemble.catalogue.feature_idxs
    is_answer = not is_word and not ("=" in line and is_named)
    return feature.type == "category" and is_answer and line not in feature.categories


def prompt(ensemble: Ensemble, question: Question | None) -> str:
    if question is None:
        return "   > "
    return f"   {hint(ensemble.catalogue.features[question.feature_idx])} > "


def hint(feature: Feature) -> str:
    """What an answer looks like."""
    if feature.type == "boolean":
        return "yes / no"
    if feature.type == "category":
        shown = " / ".join(feature.categories[:6])
        return shown if len(feature.categories) <= 6 else f"{shown} / ..."
    return feature.unit or "a number"


def take_line(
    ensemble: Ensemble,
    state: State,
    question: Question | None,
    line: str,
    console: Console,
) -> State:
    """Carry out one line; commands give way to a category of the same name."""
    feature_idx = None if question is None else question.feature_idx
    categories: tuple[str, ...] = ()
    if feature_idx is not None:
        categories = ensemble.catalogue.features[feature_idx].categories
    name, equals, answer = (part.strip() for part in line.partition("="))
    if equals and name in ensemble.catalogue.feature_idxs:
        return give(ensemble, state, ensemble.catalogue.feature_idxs[name], answer)
    if line not in categories:
        word = line.lower()
        if word == "help":
            example = "the value"
            if feature_idx is not None:
                example = hint(ensemble.catalogue.features[feature_idx])
            console.print(HELP.format(example=escape(example)))
            return state
        if word == "list":
            list_alternatives(ensemble, question, console)
            return state
        if word == "undo":
            return undo(ensemble, state)
    if feature_idx is None:
        raise RefusedError([Refusal("answer", "must be NAME = ANSWER, or stop")])
    return give(ensemble, state, feature_idx, line)


def give(ensemble: Ensemble, state: State, feature_idx: int, text: str) -> State:
    feature = ensemble.catalogue.features[feature_idx]
    outcome = OUTCOMES.get(text.lower())
    if outcome is not None and text not in feature.categories:
        return anytime.observe(ensemble, state, feature_idx, outcome)
    value = parse_answer(feature, text)
    return anytime.observe(ensemble, state, feature_idx, "value", value)


def undo(ensemble: Ensemble, state: State) -> State:
    """Give the last answered feature its answer of before, or `unknown`."""
    if not state.history:
        raise RefusedError([Refusal("undo", "there is no answer yet")])
    *earlier, last = state.history
    for answer in reversed(earlier):
        if answer.feature_idx == last.feature_idx:
            return anytime.observe(
                ensemble, state, answer.feature_idx, answer.outcome, answer.value
            )
    return anytime.observe(ensemble, state, last.feature_idx, "unknown")


def list_alternatives(
    ensemble: Ensemble, question: Question | None, console: Console
) -> None:
    features, unit = ensemble.catalogue.features, ensemble.catalogue.cost_unit
    for feature_idx, price in question.alternatives if question else ():
        feature = features[feature_idx]
        line = f"   {feature.name}: {feature.title}, {money(price, unit)}"
        console.print(escape(line))


def say_error(error: Exception) -> str:
    if isinstance(error, OverBudgetError):
        return (
            f"{error.feature} costs {money(error.price)}, "
            f"and {money(error.remaining)} is left"
        )
    return str(error)


def say_reason(state: State) -> str:
    return STOP_WORDS[state.stop_reason or "client_stopped"]

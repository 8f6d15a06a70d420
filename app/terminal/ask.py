"""The command `ask`: a session in the terminal, or over a pipe."""

from collections.abc import Callable
from dataclasses import replace

from rich.console import Console
from rich.markup import escape

from app.terminal.transcript import say_end, say_question, say_standing
from app.wording import money
from core.errors import ClosedError, OverBudgetError, Refusal, RefusedError
from core.model.ensemble import Ensemble
from core.session import machine
from core.session.answers import parse_answer
from core.session.state import Answer, Outcome, Question, State
from core.table.catalogue import UNSEEN, Catalogue, Feature
from core.table.cells import category_code

HELP = """   an answer         the value itself: {example}
   not available     it can't be had; costs nothing. Also: refused, unknown
   ordered           it is paid for, the result comes later
   NAME = ANSWER     answer or correct any feature by its name
   list              what else could be asked, with prices
   undo              take the last answer back (what was charged stays charged)
   stop              end here   ·   help
   A category wins over a command: to give the command, write it in capitals."""

COMMANDS = ("help", "list", "stop", "undo")

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
        question = machine.next_question(ensemble, state)
        is_advised = state.stop_reason is not None and not goes_on
        if question is None or is_advised:
            if not state.pending:
                break
            question = None
        if question is not None and question.feature_idx != asked:
            say_question(console, ensemble, state, question)
        elif question is None and asked is not None:
            names = [ensemble.catalogue.features[idx].name for idx in state.pending]
            console.print(f"\nWaiting for {', '.join(names)}: NAME = ANSWER, or stop")
        asked = None if question is None else question.feature_idx
        try:
            line = read_line(prompt(ensemble, question)).strip()
            given = find_answer(ensemble, question, line)
        except (EOFError, KeyboardInterrupt):
            line, given = "stop", None
        if line.lower() == "stop" and given is None:
            if state.stop_reason is None or question is not None:
                state = machine.stop(state)
            break
        if is_terminal and line != doubted and is_unseen(ensemble, given):
            # It would be charged; a slip of the finger should not be.
            console.print("   Training saw no such category. To keep it, repeat it.")
            doubted = line
            continue
        try:
            before = state
            if given is None:
                state = obey(ensemble, state, question, line, console)
            else:
                state = give(ensemble, state, *given)
        except (RefusedError, OverBudgetError, ClosedError) as error:
            if not is_terminal:
                raise
            console.print(f"   {escape(say_error(error))}", style="red")
        else:
            if state is not before:
                say_standing(console, ensemble, state)
    say_end(console, ensemble, state)
    return state


def find_answer(
    ensemble: Ensemble, question: Question | None, line: str
) -> tuple[int, str] | None:
    """Find the feature that a line answers, and how; None for a command.

    Commands give way to a category of the same name.
    """
    if question is not None:
        feature = ensemble.catalogue.features[question.feature_idx]
        if line in feature.categories:
            return question.feature_idx, line
    named = split_named(ensemble.catalogue, line)
    if named is None and question is not None and line.lower() not in COMMANDS:
        return question.feature_idx, line
    return named


def split_named(catalogue: Catalogue, text: str) -> tuple[int, str] | None:
    """Read `NAME = ANSWER`, the longest name that fits; None if there is none."""
    parts = text.split("=")
    for n_parts in range(len(parts) - 1, 0, -1):
        name = "=".join(parts[:n_parts]).strip()
        if name in catalogue.feature_idxs:
            return catalogue.feature_idxs[name], "=".join(parts[n_parts:]).strip()
    return None


def is_unseen(ensemble: Ensemble, given: tuple[int, str] | None) -> bool:
    """Whether an answer is a category that training did not see."""
    if given is None:
        return False
    feature_idx, text = given
    feature = ensemble.catalogue.features[feature_idx]
    is_value = bool(text) and text.lower() not in OUTCOMES
    is_category = feature.type == "category" and is_value
    return is_category and category_code(feature, text) == UNSEEN


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


def obey(
    ensemble: Ensemble,
    state: State,
    question: Question | None,
    line: str,
    console: Console,
) -> State:
    """Carry out a command."""
    word = line.lower()
    if word == "help":
        example = "the value"
        if question is not None:
            example = hint(ensemble.catalogue.features[question.feature_idx])
        console.print(HELP.format(example=escape(example)))
    elif word == "list":
        list_alternatives(ensemble, question, console)
    elif word == "undo":
        return undo(ensemble, state)
    else:
        raise RefusedError([Refusal("answer", "must be NAME = ANSWER, or stop")])
    return state


def give(ensemble: Ensemble, state: State, feature_idx: int, text: str) -> State:
    feature = ensemble.catalogue.features[feature_idx]
    outcome = OUTCOMES.get(text.lower())
    answer = Answer(feature_idx, outcome or "unknown")
    if outcome is None or text in feature.categories:
        answer = Answer(feature_idx, "value", parse_answer(feature, text))
    return machine.observe(ensemble, state, [answer])


def undo(ensemble: Ensemble, state: State) -> State:
    """Return to the answer before the last one of its feature, or to `unknown`."""
    if not state.history:
        raise RefusedError([Refusal("undo", "there is no answer yet")])
    *earlier, last = state.history
    before = Answer(last.feature_idx, "unknown")
    for answer in earlier:
        if answer.feature_idx == last.feature_idx:
            before = replace(answer, charged=0)
    return machine.observe(ensemble, state, [before])


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

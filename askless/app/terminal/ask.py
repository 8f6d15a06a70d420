"""The command `ask`: a session in the terminal, or over a pipe."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from rich.console import Console
from rich.markup import escape

from askless.app.terminal.lines import (
    TypedAnswer,
    answer_hint,
    describe_doubt,
    parse_line,
    print_choices,
    read_answer,
    refuse_unseen,
)
from askless.app.terminal.transcript import (
    print_end,
    print_member,
    print_question,
    print_standing,
)
from askless.app.words.stops import describe_stop
from askless.app.words.wording import describe_useless, money
from askless.core.errors import (
    ClosedError,
    OverBudgetError,
    Refusal,
    RefusedError,
    UselessAnswerError,
)
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.position import Position
from askless.core.session.state import Answer, Question, State
from askless.core.session.uses import sort_open_features

HELP = """   an answer         the value itself: {example}
                     a category also by its number, or by how it begins
   not available     there is no such value, as in an empty cell of the table; that
                     may say something about the case. Costs nothing
   refused, unknown  they say nothing about the case. Cost nothing
   ordered           it is paid for, the result comes later
   NAME = ANSWER     answer or correct any feature by its name
   NAME! = ANSWER    charge it also where it can't be used
   ?                 all that may be answered
   list              what else may be answered, with prices
   go on             where stopping is suggested: ask on all the same
   undo              take the last answer back and ask it again (what was charged
                     stays charged)
   stop              end here   ·   help
   A category wins over a command: to give the command, write it in capitals."""

REFUSALS = (RefusedError, OverBudgetError, UselessAnswerError, ClosedError)


def run_session(talk: "Conversation", read_line: Callable[[str], str]) -> State:
    """Ask until the session or the input ends, or stopping is advised.

    Over a pipe a wrong answer raises, so that a script notices it. A person who is
    advised to stop may go on, or answer another feature.
    """
    while talk.prepare_question():
        talk.print_asked()
        try:
            line = read_line(talk.prompt()).strip()
        except (EOFError, KeyboardInterrupt):
            talk.stop()
            break
        if talk.is_stop(line):
            talk.stop()
            break
        before = talk.state
        try:
            talk.handle_line(line)
        except REFUSALS as error:
            if not talk.is_terminal:
                raise
            talk.console.print(f"   {escape(describe_error(error))}", style="red")
        if talk.state is not before:
            print_standing(talk.console, talk.ensemble, talk.state)
    print_end(talk.console, talk.ensemble, talk.state)
    if talk.withheld is not None and not talk.is_terminal:
        talk.console.print(escape(f"--go-on asks on: {talk.describe_withheld()}"))
    return talk.state


@dataclass
class Conversation:
    """A session and the console that it is played on."""

    ensemble: Ensemble
    state: State
    console: Console
    is_terminal: bool
    goes_on: bool = False
    accepts_unseen: bool = False
    #: the policy's present question
    question: Question | None = None
    #: its question past the advice to stop
    withheld: Question | None = None
    #: the feature that a line answers: of the question, its bundle, or undone
    asked: int | None = None
    #: the feature shown last; -1: nothing yet; None: waiting
    shown: int | None = -1
    #: number of each feature's question, counted as shown
    numbers: dict[int, int] = field(default_factory=dict)
    #: answers that restore features as they were, for undo
    trail: list[Answer] = field(default_factory=list)
    #: the feature that was undone and is asked again
    undone: int | None = None
    #: results that come later
    put_off: set[int] = field(default_factory=set)
    #: the last line with a doubtful answer; repeating it confirms
    doubted: str = ""

    def prepare_question(self) -> bool:
        """Set the question and feature to ask; return whether the session goes on."""
        self.question = machine.next_question(self.ensemble, self.state)
        self.withheld = None
        if self.state.stop_reason is not None and not self.goes_on:
            self.question, self.withheld = None, self.question
        bought = [idx for idx in self.state.pending if idx not in self.put_off]
        if self.undone is not None:
            self.asked = self.undone
        elif bought:
            self.asked = bought[0]
        else:
            self.asked = None if self.question is None else self.question.feature_idx
        return self.asked is not None or bool(self.state.pending) or self.offers_more

    @property
    def offers_more(self) -> bool:
        """Whether a person may answer other features: nothing is asked or pending."""
        if not self.is_terminal or self.asked is not None or self.state.pending:
            return False
        return bool(sort_open_features(self.ensemble, self.state).offered)

    def print_asked(self) -> None:
        """Print the question, unless it was just printed."""
        if self.asked == self.shown:
            return
        self.shown = self.asked
        if self.offers_more:
            self.print_offer()
            return
        if self.asked is None:
            features = self.ensemble.catalogue.features
            names = ", ".join(features[idx].name for idx in self.state.pending)
            text = f"Waiting for {names}: NAME = ANSWER, or stop"
            self.console.print(f"\n{escape(text)}")
            return
        question = self.question
        if question is None or question.feature_idx != self.asked:
            number = self.numbers.get(self.asked)
            print_member(self.console, self.ensemble, self.state, self.asked, number)
            return
        number = self.numbers.setdefault(self.asked, len(self.numbers) + 1)
        question = replace(question, number=number)
        print_question(self.console, self.ensemble, self.state, question)

    def print_offer(self) -> None:
        """Print why nothing is asked, and how to go on."""
        reason = describe_stop(self.ensemble, self.state)
        self.console.print(f"\nWe suggest stopping: {escape(reason)}.")
        ways = ["Enter to stop", "NAME = ANSWER for another feature (see list)"]
        if self.withheld is not None:
            ways.insert(1, f"go on to be asked {self.describe_withheld()}")
        self.console.print(f"   {escape('; '.join(ways))}", style="dim")

    def describe_withheld(self) -> str:
        """Return the feature that would be asked next, with its price."""
        assert self.withheld is not None, "asked only where there is one"
        catalogue = self.ensemble.catalogue
        feature = catalogue.features[self.withheld.feature_idx]
        return f"{feature.title}, {money(self.withheld.price, catalogue.cost_unit)}"

    def prompt(self) -> str:
        if self.asked is None:
            return "   > "
        return f"   {answer_hint(self.ensemble.catalogue.features[self.asked])} > "

    def is_stop(self, line: str) -> bool:
        """Return whether a line is the command to end the session."""
        is_word = line.lower() == "stop" or (not line and self.offers_more)
        return is_word and parse_line(self.ensemble, self.asked, line) is None

    def stop(self) -> None:
        """End the session, unless it has ended by itself."""
        if self.state.stop_reason is None or self.question is not None:
            self.state = machine.stop(self.state)

    def handle_line(self, line: str) -> None:
        """Send a line's answer, or run it as a command; raise if it is neither."""
        given = parse_line(self.ensemble, self.asked, line)
        if given is None:
            self.run_command(line.lower())
            return
        answer = read_answer(self.ensemble, given.feature_idx, given.text)
        odd = describe_doubt(self.ensemble, answer, given.text)
        if odd is None or self.accepts_unseen or line == self.doubted:
            self.send_answer(answer, is_insistent=given.is_insistent)
        elif self.is_terminal:
            self.doubted = line
            self.console.print(f"   {escape(odd)} To keep it, repeat it.")
        else:
            self.accept_piped(answer, odd, given)

    def accept_piped(self, answer: Answer, odd: str, given: TypedAnswer) -> None:
        """Send a doubtful answer from a pipe, where nobody can confirm it.

        New categories are refused, since a typing error would be charged.
        """
        refuse_unseen(self.ensemble, answer, given.text)
        self.console.print(f"   {escape(odd)}")
        self.send_answer(answer, is_insistent=given.is_insistent)

    def send_answer(self, answer: Answer, *, is_insistent: bool) -> None:
        """Send an answer to the session; record how to undo it."""
        feature_idx, before = answer.feature_idx, self.state
        self.state = machine.observe(
            self.ensemble, before, [answer], is_insistent=is_insistent
        )
        self.doubted = ""
        if self.asked is None and not self.state.pending:
            # The answer may have changed which features are offered.
            self.shown = -1
        if feature_idx == self.undone:
            self.undone = None
        if answer.outcome == "ordered":
            new = set(self.state.pending) - set(before.pending)
            self.put_off |= {feature_idx, *new}
        if self.state is not before:
            self.trail.append(make_undo_answer(before, feature_idx))

    def run_command(self, word: str) -> None:
        """Run a command; raise RefusedError for an unknown one."""
        if word == "help":
            example = "the value"
            if self.asked is not None:
                example = answer_hint(self.ensemble.catalogue.features[self.asked])
            self.console.print(HELP.format(example=escape(example)))
        elif word == "?" and self.asked is not None:
            print_choices(self.console, self.ensemble, self.asked)
        elif word == "list":
            print_other_features(self.ensemble, self.state, self.asked, self.console)
        elif word == "go on" and self.withheld is not None:
            self.goes_on = True
        elif word == "undo":
            self.undo()
        else:
            raise RefusedError([Refusal("answer", "must be NAME = ANSWER, or stop")])

    def undo(self) -> None:
        """Take the last answer back, and ask for it again."""
        if not self.trail:
            raise RefusedError([Refusal("undo", "there is no answer yet")])
        before = self.trail.pop()
        self.state = machine.observe(self.ensemble, self.state, [before])
        self.undone, self.shown = before.feature_idx, -1


def make_undo_answer(state: State, feature_idx: int) -> Answer:
    """Return the answer that restores a feature to what it is in a state."""
    old = state.outcomes[feature_idx]
    if old == "value" or old == "known":
        return Answer(feature_idx, "value", state.values[feature_idx])
    # An answer can't become none again; "unknown" says nothing about the case.
    return Answer(feature_idx, old or "unknown")


def print_other_features(
    ensemble: Ensemble, state: State, asked: int | None, console: Console
) -> None:
    """Print other features that may be answered, with prices, and useless ones."""
    features, unit = ensemble.catalogue.features, ensemble.catalogue.cost_unit
    prices, features_left = (
        Position.of(ensemble, state).prices,
        sort_open_features(ensemble, state),
    )
    for idx in features_left.offered:
        if idx != asked:
            price = money(int(prices[idx]), unit)
            line = f"   {features[idx].name}: {features[idx].title}, {price}"
            console.print(escape(line))
    useless = describe_useless([features[idx] for idx in features_left.useless])
    if useless:
        console.print(f"   {escape(useless)}")


def describe_error(error: Exception) -> str:
    if isinstance(error, UselessAnswerError):
        return f"{error}. To pay for it all the same: {error.feature}! = ANSWER"
    if isinstance(error, OverBudgetError):
        return (
            f"{error.feature} costs {money(error.price)}, "
            f"and {money(error.remaining)} is left"
        )
    return str(error)

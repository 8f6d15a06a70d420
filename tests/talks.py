"""Sessions of `askless ask`, typed by a test."""

import io

from rich.console import Console

from askless.app.terminal.ask import Conversation, run_session
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.state import State


def play(
    ensemble: Ensemble,
    *lines: str,
    is_terminal: bool = False,
    goes_on: bool = True,
    accepts_unseen: bool = False,
    budget: int | None = None,
) -> tuple[State, str]:
    """Type lines, then end the input; return the state, and all that was said."""
    rest = iter(lines)

    def read_line(_prompt: str) -> str:
        try:
            return next(rest)
        except StopIteration:
            raise EOFError from None

    said = io.StringIO()
    console = Console(file=said, soft_wrap=True, highlight=False)
    state = machine.start(ensemble, budget)
    talk = Conversation(ensemble, state, console, is_terminal, goes_on, accepts_unseen)
    return run_session(talk, read_line), said.getvalue()

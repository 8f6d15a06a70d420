"""The questions of a session in which every answer is a typical value."""

from askless.core.model.ensemble import Ensemble
from askless.core.model.values import middle_values
from askless.core.session import machine
from askless.core.session.state import Answer, Question, Spend, StopRule


def outline(
    ensemble: Ensemble,
    budget: int | None,
    policy: str | None = None,
    spend: Spend = "worthwhile",
) -> list[Question]:
    """Return the questions of a session in which every question gets a value.

    The value is a middle one, which matters where a policy's next question depends on
    the answers; nobody stops early. `budget` and `policy` are as in `machine.start`,
    `spend` as in `StopRule`.
    """
    values = middle_values(ensemble)
    stop = StopRule(certain=False, spend=spend)
    state = machine.start(ensemble, budget, policy=policy, stop=stop)
    questions = []
    while (question := machine.next_question(ensemble, state)) is not None:
        if state.stop_reason == "not_worth_it":
            break
        questions.append(question)
        answers = [Answer(idx, "value", values[idx]) for idx in question.feature_idxs]
        state = machine.observe(ensemble, state, answers)
    return questions

"""What a session asks on paper: every value comes, and is a middle one."""

import numpy as np

from core.model.ensemble import Ensemble
from core.model.hypotheses import Stump
from core.model.panels import NUMBER_CODE
from core.session import machine
from core.session.state import Answer, Question, StopRule


def outline(
    ensemble: Ensemble, budget: int | None, policy: str | None = None
) -> list[Question]:
    """Return the questions of a session to which every answer comes.

    Each answer is a middle value, for a policy that asks by what was answered; nobody
    stops early. `budget` and `policy` are those of `machine.start`.
    """
    values = middle_values(ensemble)
    stop = StopRule(certain=False)
    state = machine.start(ensemble, budget, policy=policy, stop=stop)
    questions = []
    while (question := machine.next_question(ensemble, state)) is not None:
        questions.append(question)
        answers = [Answer(idx, "value", values[idx]) for idx in question.feature_idxs]
        state = machine.observe(ensemble, state, answers)
    return questions


def middle_values(ensemble: Ensemble) -> list[float]:
    """Return a middle value of each feature: a mean that panels know, or a middle cut.

    Of a category that panels alone read the first.
    """
    known: list[list[float]] = [[] for _ in ensemble.catalogue.features]
    for one in ensemble.hypotheses:
        for stump in (one,) if isinstance(one, Stump) else one.stumps:
            known[stump.feature_idx].append(stump.cut)
    for panel in () if ensemble.panels is None else ensemble.panels.panels:
        if panel.blend is None:
            continue
        columns = panel.blend.columns
        for place in np.flatnonzero(columns.codes == NUMBER_CODE):
            known[columns.feature_idxs[place]] = [float(columns.means[place])]
    return [sorted(its)[len(its) // 2] if its else 0.0 for its in known]

"""The held-out patients that a demo has played, of which home shows some."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from askless.app.documents.session.state import parse_state
from askless.app.records import PredictSession
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions.opened import OpenSession
from askless.app.store import outcomes
from askless.app.store.database.transactions import Transaction
from askless.app.store.outcomes import StoredOutcome
from askless.app.words.own_questions import OWN, REFS, choose_cases
from askless.core.session import machine
from askless.core.session.answers import list_questions
from askless.core.session.state import State

# Models whose patients may have been played, at least.
MOST_MODELS = 8


class PlayedCase(NamedTuple):
    """A closed case of a patient, and what it turned out to be."""

    opened: OpenSession
    outcome: StoredOutcome

    @property
    def questions(self) -> tuple[int, ...]:
        """The feature of each question, in order."""
        catalogue = self.opened.model.ensemble.catalogue
        return list_questions(catalogue, self.opened.state.history)

    @property
    def is_right(self) -> bool:
        return self.outcome.label == self.outcome.predicted

    @property
    def advised(self) -> State:
        """The state before it was closed, with the policy's reason to stop."""
        state = replace(self.opened.state, is_ended=False, stop_reason=None)
        return machine.decide_next_step(self.opened.model.ensemble, state)


class Patients(NamedTuple):
    """The patients of a model that are shown, the short case first."""

    cases: tuple[PlayedCase, ...]
    n_played: int
    n_right: int

    @property
    def first(self) -> OpenSession:
        return self.cases[0].opened

    @property
    def has_own_questions(self) -> bool:
        """Whether the budget alone makes their questions differ."""
        state = self.first.state
        return state.aim is None and state.policy == OWN


def find_patients(
    db: Transaction, loaded: LoadedModels, scopes: Collection[str]
) -> Patients | None:
    """Return patients who part ways; None where no demo has played such.

    Of several models the first is one that asks each case its own questions under a
    budget alone; else the newest. Only who may read models and sessions sees them.
    """
    if not {"models:read", "predict:read"}.issubset(scopes):
        return None
    groups: dict[str, list[PlayedCase]] = {}
    for session, outcome in outcomes.list_by_references(
        db, REFS, MOST_MODELS * len(REFS)
    ):
        case = PlayedCase(open_closed(db, loaded, session), outcome)
        groups.setdefault(session.model_id, []).append(case)
    # Somebody else's case may have a patient's reference; then nobody is shown.
    played = [group for group in groups.values() if is_played_once(group)]
    picked = [choose_patients(group) for group in reversed(played)]
    parted = [patients for patients in picked if len(patients.cases) > 1]
    return min(parted, key=lambda shown: not shown.has_own_questions, default=None)


def is_played_once(group: Sequence[PlayedCase]) -> bool:
    """Return whether each patient has one case, and all the same budget and aim."""
    refs = {case.opened.session.client_ref for case in group}
    terms = {(case.opened.state.budget, case.opened.state.aim) for case in group}
    return len(refs) == len(group) and len(terms) == 1


def open_closed(
    db: Transaction, loaded: LoadedModels, session: PredictSession
) -> OpenSession:
    """Parse a closed session that is not erased."""
    assert session.document is not None, "an erased session has no reference"
    model = loaded.get(db, session.model_id, session.price_list_id)
    state, texts = parse_state(session.document, model.ensemble.catalogue)
    return OpenSession(session, model, state, texts)


def choose_patients(group: Sequence[PlayedCase]) -> Patients:
    """Return the cases of a model that the rule shows."""
    ordered = sorted(
        group, key=lambda case: REFS.index(case.opened.session.client_ref or "")
    )
    is_right = [case.is_right for case in ordered]
    picks = choose_cases([case.questions for case in ordered], is_right)
    cases = tuple(ordered[place] for place in picks if place is not None)
    return Patients(cases, len(ordered), sum(is_right))

"""The runs of a whole file, in a database that has nothing else."""

from typing import NamedTuple

from askless.app.records import ModelHead, PredictSession
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions.opened import open_stored
from askless.app.store import models, sessions
from askless.app.store.buying import calls, runs
from askless.app.store.database.transactions import Transaction
from askless.core.session import machine

let_all_go = runs.let_all_go
list_ended = runs.list_ended


class Decision(NamedTuple):
    """The decision on a case; money in micro-units."""

    number: int
    label: str
    probability: float
    spent: int
    stop_reason: str | None
    #: features that were asked, empty answers too, in order
    features: tuple[str, ...]
    #: providers whose call is in doubt
    in_doubt: tuple[str, ...]
    #: providers that the case went on without
    left_out: tuple[str, ...]
    hash: str | None


def find_model(db: Transaction) -> ModelHead | None:
    """Return the model of the file; None before it is stored."""
    return next(iter(models.page(db, 1, None).items), None)


def find_session(db: Transaction, number: int) -> PredictSession | None:
    """Return the session of the case with a number; None before it is started."""
    return sessions.find_referred(db, str(number))


def read_decision(db: Transaction, loaded: LoadedModels, number: int) -> Decision:
    """Return the decision on the case with a number."""
    session = find_session(db, number)
    assert session is not None, "it was started"
    model = loaded.get(db, session.model_id, session.price_list_id)
    state = open_stored(session, model)
    forecast = machine.forecast(model.ensemble, state)
    made, run = calls.list_of_session(db, session.id), runs.find(db, session.id)
    return Decision(
        number=number,
        label=model.ensemble.classes[forecast.label].label,
        probability=forecast.probabilities[forecast.label],
        spent=session.spent,
        stop_reason=state.stop_reason,
        features=tuple(dict.fromkeys(n for call in made for n in call.features)),
        in_doubt=tuple(call.provider for call in made if call.state == "in_doubt"),
        left_out=() if run is None else tuple(run.left_out),
        hash=None if run is None else run.digest,
    )

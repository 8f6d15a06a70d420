"""One turn of a run: its locked rows, and which providers are left for an offer."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Literal

from askless.app.documents.buying.providers import Provider
from askless.app.records import Moment, StoredCall, StoredRun
from askless.app.service.buying.calling.sending import Message
from askless.app.service.buying.calling.verdicts import EMPTY, NOT_SENT
from askless.app.service.buying.offers import (
    Filler,
    list_fillers,
    list_offers,
    open_fillers,
    price_filler,
)
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions.opened import (
    OpenSession,
    SessionCall,
    lock_open,
    save,
)
from askless.app.store.buying import calls, runs
from askless.app.store.database.transactions import Transaction
from askless.core.catalogue.catalogue import NO_GROUP, Catalogue
from askless.core.catalogue.prices import price_feature
from askless.core.session.answers import compute_paid
from askless.core.session.state import State


@dataclass(frozen=True, slots=True)
class Buying:
    """The models, holder and secrets that runs are carried out with."""

    loaded: LoadedModels
    #: who holds the runs
    holder: str
    #: folder of the secrets
    secrets: Path | None
    #: by tenant and provider: when its latency was learned, and its seconds if timed
    latencies: dict[tuple[str, str], tuple[datetime, float | None]] = field(
        default_factory=dict
    )


@dataclass(frozen=True, slots=True)
class CallOrder:
    """A call that is reserved, with its request."""

    call: StoredCall
    provider: Provider
    message: Message
    #: how long it waits for its turn, by the provider's calls a second
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Pause:
    """Nothing can leave just now; ask again in so many seconds, or after a call."""

    #: None: nothing can leave before a call on its way has ended
    seconds: float | None


#: None: the run has ended, or is somebody else's
Step = CallOrder | Pause | None


@dataclass
class RunTurn:
    """One transaction of a run, on its locked session and run."""

    db: Transaction
    buying: Buying
    at: Moment
    opened: OpenSession
    run: StoredRun

    @property
    def state(self) -> State:
        return self.opened.state

    @cached_property
    def own(self) -> Catalogue:
        """The model's catalogue, whatever the session's providers charge."""
        loaded, model_id = self.buying.loaded, self.opened.session.model_id
        return loaded.get(self.db, model_id).ensemble.catalogue

    @cached_property
    def fillers(self) -> dict[str, Filler]:
        """The providers of the tenant by name, as they were when the turn began."""
        return open_fillers(self.db)

    @cached_property
    def made(self) -> dict[str, StoredCall]:
        """The calls of the run by id, in order; whoever changes one changes it here."""
        listed = calls.list_of_session(self.db, self.run.session_id)
        return {call.id: call for call in listed}

    def change(self, state: State, released: int = 0) -> None:
        """Store the session in a new state, with its new charges."""
        charges = state.charges[len(self.state.charges) :]
        changed = replace(self.opened, state=state)
        self.opened = save(self.db, changed, self.at.now, charges, released)

    def leave_out(self, name: str, reason: str) -> None:
        """Go on without a provider, and keep why."""
        left_out = {**self.run.left_out, name: reason}
        runs.change(self.db, self.run.session_id, left_out=left_out)
        self.run = replace(self.run, left_out=left_out)


def open_turn(
    db: Transaction, buying: Buying, session_id: str, at: Moment
) -> RunTurn | None:
    """Lock a run and its session; None where they are not the holder's any more."""
    opened = lock_open(db, SessionCall(session_id, buying.loaded, at))
    # The lock of the session covers its run.
    run = None if opened is None else opened.run
    if opened is None or run is None or run.holder != buying.holder:
        return None
    return RunTurn(db, buying, at, opened, run)


def is_over(state: State) -> bool:
    return (
        state.is_ended
        or state.stop_reason is not None
        or state.next_feature_idx is None
    )


def find_fee_payers(turn: RunTurn, state: State) -> dict[int, int]:
    """Return the feature whose charge paid the fee of a group, by the group.

    Only a provider without a price of its own charges a fee; it may have got one since.
    """
    own, payers = turn.own, dict[int, int]()
    for charge in state.charges:
        idx, filler = charge.feature_idx, turn.fillers.get(charge.provider or "")
        group_idx = int(own.group_idxs[idx])
        if group_idx == NO_GROUP or own.is_bundle[group_idx]:
            continue
        is_whole = charge.amount == own.costs[idx] + own.fees[group_idx]
        if is_whole and (filler is None or filler.provider.price != charge.amount):
            payers[group_idx] = idx
    return payers


def list_usable(turn: RunTurn, offer: str, state: State) -> list[Filler]:
    """Return the providers of an offer that a state may still call for the case."""
    catalogue, made = turn.own, turn.made.values()
    tried = {call.provider for call in made if call.reason != NOT_SENT}
    gone = tried | turn.run.left_out.keys()
    paid = compute_paid(turn.opened.model.ensemble.catalogue, state)
    fees_paid = paid.group_idxs.union(find_fee_payers(turn, state))
    paid = replace(paid, group_idxs=fees_paid)
    own = price_feature(catalogue, paid, list_offers(catalogue)[offer][0])
    listed = list_fillers(turn.fillers.values(), catalogue, paid).get(offer, [])
    remaining = state.remaining
    return [
        filler
        for filler in listed
        if filler.name not in gone
        and not filler.is_cooling(turn.at.now)
        and (remaining is None or price_filler(filler, own) <= remaining)
    ]


def outcome_of(
    made: Iterable[StoredCall], names: tuple[str, ...]
) -> Literal["unavailable", "unknown"]:
    """Return the outcome of an offer that nobody is left for.

    Where a provider came back empty, that is the table's missing cell; where all of
    them failed, nothing is known about the case.
    """
    is_empty = any(
        call.state == "missed" and call.reason == EMPTY and {*names} & {*call.features}
        for call in made
    )
    return "unavailable" if is_empty else "unknown"


def make_call(
    turn: RunTurn, filler: Filler, price: int, revealed: tuple[int, ...]
) -> StoredCall:
    session, number = turn.opened.session, len(turn.made) + 1
    features = turn.opened.model.ensemble.catalogue.features
    text = f"{session.id},{filler.name},{number}"
    return StoredCall(
        id=calls.make_id(),
        session_id=session.id,
        provider=filler.name,
        number=number,
        state="reserved",
        features=tuple(features[idx].name for idx in revealed),
        price=price,
        charged=0,
        unit=session.unit,
        idempotency_key=sha256(text.encode()).hexdigest(),
        day=f"{turn.at.now:%Y-%m-%d}",
        created_at=turn.at.now,
    )

"""Take over a run that another buyer has left, and end calls that must not leave."""

from collections.abc import Sequence

from askless.app.records import Moment, StoredCall
from askless.app.service.buying.calling.reading import MissingError, make_message
from askless.app.service.buying.calling.settling import apply_verdict, settle_erased
from askless.app.service.buying.calling.verdicts import cut_off
from askless.app.service.buying.runs import free_erased, take_turn
from askless.app.service.buying.timing import list_on_the_way
from askless.app.service.buying.turns import (
    Buying,
    CallOrder,
    RunTurn,
    Step,
    open_turn,
)
from askless.app.store.buying import calls, runs
from askless.app.store.database.transactions import Transaction


def recover(db: Transaction, buying: Buying, session_id: str, at: Moment) -> list[Step]:
    """Take over a run: what was reserved is released, what was sent is sent again.

    A sent call goes out again with its key where the provider tells repetitions apart;
    else it is in doubt, and is never sent again by itself.
    """
    turn = open_turn(db, buying, session_id, at)
    if turn is None:
        recover_erased(db, buying, session_id, at)
        return []
    steps: list[Step] = []
    for call in list_on_the_way(turn):
        again = order_again(turn, call) if call.state == "sent" else None
        if again is None:
            apply_verdict(turn, call, cut_off(call))
        else:
            steps.append(again)
    return steps or [take_turn(turn)]


def release(
    db: Transaction, buying: Buying, session_id: str, at: Moment, call_id: str
) -> Step:
    """Release a call that must not leave, and decide what is next."""
    turn = open_turn(db, buying, session_id, at)
    if turn is None:
        recover_erased(db, buying, session_id, at, (call_id,))
        return None
    call = turn.made[call_id]
    if call.state in calls.ON_THE_WAY:
        apply_verdict(turn, call, cut_off(call))
    return take_turn(turn)


def recover_erased(
    db: Transaction,
    buying: Buying,
    session_id: str,
    at: Moment,
    call_ids: Sequence[str] | None = None,
) -> None:
    """End the calls of a run that was erased while its holder was silent.

    With `call_ids` the others are still on their way, and end by themselves.
    """
    run = runs.find(db, session_id)
    if run is None or run.holder != buying.holder:
        return
    for call in calls.list_of_session(db, session_id):
        is_lost = call_ids is None or call.id in call_ids
        if is_lost and call.state in calls.ON_THE_WAY:
            settle_erased(db, call, cut_off(call), at)
    free_erased(db, session_id)


def order_again(turn: RunTurn, call: StoredCall) -> CallOrder | None:
    """Return a sent call to send again; None where its provider can't tell."""
    filler = turn.fillers.get(call.provider)
    if filler is None or filler.provider.idempotency_header is None:
        return None
    provider = filler.provider
    try:
        message = make_message(provider, turn.run.keys or {}, turn.buying.secrets)
    except MissingError:
        return None
    return CallOrder(call, provider, message)

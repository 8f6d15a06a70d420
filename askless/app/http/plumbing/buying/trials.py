"""Test a provider by one paid call, which no transaction waits for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from anyio import CancelScope
from fastapi import Response

from askless.app.documents.buying import provider_bodies as schemas
from askless.app.http.plumbing.deps import Changer
from askless.app.service.buying.calling import trials
from askless.app.service.buying.calling.sending import Sender
from askless.app.service.buying.providers import CallRules
from askless.app.store.database.transactions import Transaction


@dataclass(frozen=True)
class Trial:
    """A test of a provider in the name of a caller."""

    changes: Changer
    rules: CallRules
    place: trials.TrialPlace

    async def run(
        self, name: str, keys: Mapping[str, str], clock: Callable[[], datetime]
    ) -> Response:
        """Reserve a call and send it; return what was read.

        The answer kept for an `Idempotency-Key` is that of the reservation: it exists
        before anything is paid, and no value is stored. The call is settled even if the
        caller hangs up.
        """
        orders: list[trials.TrialOrder] = []

        def prepare(db: Transaction) -> trials.TrialOrder:
            orders[:] = [trials.prepare(db, self.place, name, keys)]
            return orders[0]

        await self.changes(prepare, respond_reserved)
        return respond(await self.send(orders[0], clock))

    async def send(
        self, order: trials.TrialOrder, clock: Callable[[], datetime]
    ) -> trials.TriedCall:
        """Send a reserved call, and settle it."""
        sender = Sender(self.rules.hosts)
        with CancelScope(shield=True):
            work = self.changes.work_alone
            tried = await trials.call_once(order, sender, work, clock)
        return tried


def respond_reserved(order: trials.TrialOrder) -> Response:
    return respond(trials.TriedCall(order.call, {}, {}))


def respond(tried: trials.TriedCall) -> Response:
    """Return a call as the response; before its end it has no values."""
    has_ended = tried.call.state != "reserved"
    result = schemas.ProviderTestResult.of(
        tried.call,
        call=tried.call.id,
        values=tried.values if has_ended else None,
        problems=tried.refusals,
    )
    headers = {"Cache-Control": "no-store"}
    return Response(result.model_dump_json(), 200, headers, "application/json")

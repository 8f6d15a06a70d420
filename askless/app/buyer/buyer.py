"""Claims runs by lease, makes their calls, and delivers their webhooks."""

import asyncio
import json
import os
import secrets
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypeVar

import sqlalchemy as sa
from sqlalchemy.exc import InternalError, OperationalError
from standardwebhooks import Webhook

from askless.app.buyer.tracing import CallTracer
from askless.app.logs import LOGGER, log
from askless.app.records import StoredRun
from askless.app.service.buying import notices, recovery, runs, watching
from askless.app.service.buying.calling import trials
from askless.app.service.buying.calling.sending import Message, Reply, Sender
from askless.app.service.buying.calling.verdicts import keep_doubt, should_repeat
from askless.app.service.buying.turns import Buying, CallOrder, Pause, Step
from askless.app.service.loaded import LoadedModels
from askless.app.service.sessions.expiry import list_due
from askless.app.settings.settings import Settings
from askless.app.store.buying import calls
from askless.app.store.buying.deliveries import Delivery
from askless.app.store.database.engine import transaction
from askless.app.store.database.transactions import Transaction

Made = TypeVar("Made")

POLL_S = 0.1
# Runs that one process carries out at a time.
MOST_RUNS = 200
# Calls that are on their way have so long when the process is to end.
GRACE_S = 15.0
PAUSE_S = 2.0
DELIVERY_S = 1.0
SWEEP_S = 60.0
# Between two attempts of a call.
AGAIN_S = 0.2
# Errors of a database that is away; the last: PostgreSQL accepts no changes now.
AWAY = (OperationalError, InternalError)
# SQLite lets one write at a time; more threads would only take turns.
N_THREADS = {True: 1, False: 4}
NOTICES_AT_ONCE = 20
NOTICE_TIMEOUT_S = 15.0
# Waits after the first failures; the last one repeats until a day is over.
WAITS_S = (5, 60, 300, 1_800, 7_200, 14_400)
LONGEST = timedelta(days=1)
GONE = 410


class RunBuyer:
    """Carries out runs of all tenants; several processes share them."""

    def __init__(
        self, settings: Settings, engine: sa.Engine, tracer: CallTracer | None = None
    ) -> None:
        self.settings = settings
        self.engine = engine
        self.tracer = tracer
        self.holder = (
            f"{socket.gethostname()[:40]}-{os.getpid()}-{secrets.token_hex(4)}"
        )
        self.buying = Buying(LoadedModels(), self.holder, settings.secrets)
        self.sender = Sender(settings.provider_hosts)
        self.threads = ThreadPoolExecutor(
            N_THREADS[settings.is_embedded], thread_name_prefix="buying"
        )
        self.stop = asyncio.Event()
        self.carried: dict[str, asyncio.Task[None]] = {}

    async def work(self) -> None:
        """Claim and carry out runs until `stop` is set; then let them go."""
        beside = [
            asyncio.create_task(self.repeat(self.record_heartbeat, self.heartbeat_s)),
            asyncio.create_task(self.repeat(self.deliver, DELIVERY_S)),
            asyncio.create_task(self.repeat(self.sweep, SWEEP_S)),
        ]
        try:
            await self.repeat(self.claim, POLL_S)
            if self.carried:
                await asyncio.wait(self.carried.values(), timeout=GRACE_S)
        finally:
            for task in (*beside, *self.carried.values()):
                task.cancel()
            await asyncio.gather(
                *beside, *self.carried.values(), return_exceptions=True
            )
            await self.leave()
            self.threads.shutdown()

    @property
    def heartbeat_s(self) -> float:
        return self.settings.heartbeat_timeout_s / 4

    async def repeat(
        self, act: Callable[[], "asyncio.Future[None] | object"], every_s: float
    ) -> None:
        """Repeat an action until `stop` is set, also after it has failed."""
        while not self.stop.is_set():
            pause_s = every_s
            try:
                await act()  # type: ignore[misc]  # a coroutine
            except Exception:  # Outermost: the database may be away for a while.
                LOGGER.exception("buyer.failed")
                pause_s = max(every_s, PAUSE_S)
            try:
                await asyncio.wait_for(self.stop.wait(), pause_s)
            except TimeoutError:
                continue

    async def in_thread(
        self,
        tenant_id: str | None,
        act: Callable[[Transaction], Made],
        *,
        is_read: bool = False,
    ) -> Made:
        """Do something in a transaction of a tenant, in a thread.

        One that only reads makes nobody wait.
        """

        def work() -> Made:
            with transaction(self.engine, tenant_id, is_read=is_read) as db:
                return act(db)

        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.threads, work)

    async def claim(self) -> None:
        """Claim runs that nobody carries out, and begin with them."""
        room = MOST_RUNS - len(self.carried)
        if room <= 0 or not await self.is_any_free():
            return
        timeout_s = self.settings.heartbeat_timeout_s
        claimed = await self.in_thread(
            None, lambda db: runs.claim(db, self.holder, timeout_s, room)
        )
        for run in claimed:
            if run.session_id not in self.carried:
                task = asyncio.create_task(self.carry(run))
                self.carried[run.session_id] = task

    async def is_any_free(self) -> bool:
        timeout_s = self.settings.heartbeat_timeout_s
        return await self.in_thread(
            None, lambda db: runs.is_any_free(db, timeout_s), is_read=True
        )

    async def carry(self, run: StoredRun) -> None:
        """Carry a run out to its end; after a failure let it go for a while."""
        session_id, tenant_id = run.session_id, run.tenant_id
        log("run.claimed", session=session_id)
        sent = set[asyncio.Task[Step]]()
        try:
            await self.carry_out(run, sent)
        except Exception:  # Outermost: others or we go on where this one stopped.
            LOGGER.exception("run.failed", extra={"fields": {"session": session_id}})
            # Another buyer that takes the run over would count these calls as lost.
            await asyncio.gather(*sent, asyncio.sleep(PAUSE_S), return_exceptions=True)
            await self.in_thread(
                tenant_id, lambda db: runs.let_go(db, self.holder, session_id)
            )
        finally:
            for task in sent:
                task.cancel()
            del self.carried[session_id]

    async def carry_out(self, run: StoredRun, sent: set[asyncio.Task[Step]]) -> None:
        """Take step after step until the run has ended and no call is on its way.

        `sent` holds the calls on their way; the end of each brings another step.
        """
        steps = await self.decide(run, recovery.recover)
        while sent or (steps and not self.stop.is_set()):
            step = steps.pop(0) if steps else Pause(None)
            if isinstance(step, CallOrder):
                sent.add(asyncio.create_task(self.make_call(run, step)))
                # Something may leave beside it, or the deadline comes first.
                if run.terms is not None and not steps:
                    steps = [await self.decide(run, runs.advance)]
            elif step is not None and not steps:
                ended = await wait_for_any(sent, step.seconds)
                sent -= ended
                steps = [task.result() for task in ended]
                if not ended:
                    steps = [await self.decide(run, runs.advance)]

    async def decide(self, run: StoredRun, act: Callable[..., Made]) -> Made:
        at = self.settings.moment_at(datetime.now(UTC))
        return await self.in_thread(
            run.tenant_id, lambda db: act(db, self.buying, run.session_id, at)
        )

    async def make_call(self, run: StoredRun, order: CallOrder) -> Step:
        """Send a call that is reserved, and settle it; None where it must not leave."""
        if order.wait_s:
            await asyncio.sleep(order.wait_s)
        if self.stop.is_set():
            return None
        call_id = order.call.id
        if not await self.in_thread(
            run.tenant_id, lambda db: runs.mark_sent(db, call_id, datetime.now(UTC))
        ):
            # Its reservation is released, unless somebody has done so.
            return await self.decide(run, partial(recovery.release, call_id=call_id))
        reply, attempts = await self.send(order)
        log(
            "call.ended",
            session=run.session_id,
            call=order.call.id,
            provider=order.call.provider,
            status=reply.status,
            failure=reply.failure,
            latency_ms=reply.latency_ms,
        )
        step = await self.settle(run, runs.CallResult(order, reply, attempts))
        if self.tracer is not None:
            call = await self.in_thread(
                run.tenant_id, lambda db: calls.get(db, order.call.id), is_read=True
            )
            self.tracer.trace(call)
        return step

    async def settle(self, run: StoredRun, result: runs.CallResult) -> Step:
        """Settle a call, once the database is there: its answer comes only once."""
        while True:
            at = self.settings.moment_at(datetime.now(UTC))
            act = partial(runs.settle, buying=self.buying, result=result, at=at)
            try:
                return await self.in_thread(run.tenant_id, act)
            except AWAY:
                LOGGER.exception("buyer.failed")
                await asyncio.sleep(PAUSE_S)

    async def send(self, order: CallOrder) -> tuple[Reply, int]:
        """Send a call, again where that is safe; return the last reply."""
        provider, attempts = order.provider, 0
        # It has left before a crash: that attempt was not answered.
        is_lost = order.call.state == "sent"
        header, key = provider.idempotency_header, order.call.idempotency_key
        message = order.message.with_header(header, key)
        while True:
            attempts += 1
            reply = await self.sender.send(message, provider.timeout_s)
            if not should_repeat(provider, reply, attempts):
                return keep_doubt(reply) if is_lost else reply, attempts
            is_lost = is_lost or reply.failure == "no_answer"
            await asyncio.sleep(AGAIN_S * attempts)

    async def record_heartbeat(self) -> None:
        held = list(self.carried)
        if held:
            await self.in_thread(
                None, lambda db: runs.record_heartbeat(db, self.holder, held)
            )

    async def deliver(self) -> None:
        await deliver_due(self)

    async def sweep(self) -> None:
        """End tests of dead processes and runs left to expire; watch the providers."""
        now = datetime.now(UTC)
        before = list_due(self.settings.moment_at(now))
        await self.in_thread(None, lambda db: runs.wake_expired(db, before))
        held = await self.in_thread(None, trials.list_held, is_read=True)
        for tenant_id, name in held:
            end = partial(trials.end_lost, name=name, now=now)
            await self.in_thread(tenant_id, end)
        called = await self.in_thread(
            None, partial(watching.list_called, now=now), is_read=True
        )
        for tenant_id, name in called:
            look = partial(watching.find_news, name=name)
            changes = await self.in_thread(tenant_id, look, is_read=True)
            if changes is not None:
                note = partial(watching.note, name=name, changes=changes)
                await self.in_thread(tenant_id, note)

    async def leave(self) -> None:
        """Hand back the runs held; without it they would wait for the timeout."""
        await self.in_thread(None, lambda db: runs.leave(db, self.holder))


async def wait_for_any(
    sent: set[asyncio.Task[Step]], seconds: float | None
) -> set[asyncio.Task[Step]]:
    """Return the calls that have ended once one has, or none after some seconds."""
    if not sent:
        await asyncio.sleep(PAUSE_S if seconds is None else seconds)
        return set()
    ended, _ = await asyncio.wait(
        sent, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
    )
    return ended


async def deliver_due(buyer: RunBuyer) -> None:
    """Send the webhooks that are due, side by side."""
    now = datetime.now(UTC)
    # Another process takes over one that was claimed and not sent.
    again_at = now + timedelta(seconds=4 * NOTICE_TIMEOUT_S)
    due = await buyer.in_thread(
        None, lambda db: notices.claim_due(db, now, again_at, NOTICES_AT_ONCE)
    )
    await asyncio.gather(*(deliver(buyer, delivery) for delivery in due))


async def deliver(buyer: RunBuyer, delivery: Delivery) -> None:
    """Send one webhook, and store whether it arrived or when it is sent again."""
    notice = await buyer.in_thread(
        delivery.tenant_id,
        lambda db: notices.make_notice(db, buyer.buying.loaded, delivery.session_id),
    )
    status: int | None = None
    state = "failed"
    if notice is not None:
        text = json.dumps(notice.body, ensure_ascii=False)
        secrets = notices.read_secrets(buyer.settings.secrets, notice.secret)
        if secrets:
            headers = sign(secrets, f"msg_{delivery.session_id}", text)
            message = Message("POST", notice.url, headers, {}, text.encode())
            reply = await buyer.sender.send(message, NOTICE_TIMEOUT_S)
            status = reply.status
        state = judge(delivery, status)
    wait_s = WAITS_S[min(delivery.attempts, len(WAITS_S)) - 1]
    next_at = datetime.now(UTC) + timedelta(seconds=wait_s)
    await buyer.in_thread(
        delivery.tenant_id,
        lambda db: notices.note_attempt(db, delivery, state, status, next_at),
    )
    log("webhook.sent", session=delivery.session_id, state=state, status=status)


def judge(delivery: Delivery, status: int | None) -> str:
    """Return what has become of a webhook after an attempt."""
    if status is not None and 200 <= status < 300:
        return "delivered"
    is_old = datetime.now(UTC) - delivery.created_at > LONGEST
    return "failed" if is_old or status == GONE else "pending"


def sign(secrets: list[str], key: str, text: str) -> dict[str, str]:
    """Return the headers of a webhook, signed with each secret."""
    at = datetime.now(UTC)
    signatures = (Webhook(secret).sign(key, at, text) for secret in secrets)
    return {
        "Content-Type": "application/json",
        "webhook-id": key,
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": " ".join(signatures),
    }

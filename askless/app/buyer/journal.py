"""Decide a whole file of cases without a service, on a journal beside the result.

The journal is an embedded database, as a service has: the same sessions, calls, ledger
and rules. After a crash the same command goes on where it stopped.
"""

import asyncio
import fcntl
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from askless.app.buyer.buyer import RunBuyer
from askless.app.documents.buying.providers import Provider, write_provider
from askless.app.documents.files import replace_file
from askless.app.documents.http.sessions import PredictRequest
from askless.app.documents.shape import read_shape
from askless.app.records import DEFAULT_TENANT
from askless.app.service import models, operations
from askless.app.service.buying import listing, providers, starts
from askless.app.service.buying.listing import Decision
from askless.app.settings.settings import Settings
from askless.app.store.database.engine import create_engine, transaction
from askless.app.store.database.transactions import Transaction
from askless.core.errors import Refusal, RefusedError

ORDER, LOCK, DATABASE = "order.json", "lock", "askless.db"
LOOK_S = 0.05
# Decisions that may wait in memory for the run of an earlier case.
MOST_WAITING = 10_000
N_CONNECTIONS = 4


class FileCase(NamedTuple):
    """One row of a file: what is known of it, and its keys."""

    number: int
    known: dict[str, Any]
    keys: dict[str, str]


@dataclass(frozen=True)
class FileOrder:
    """The model, providers and terms by which a whole file is decided."""

    model: models.CheckedModel
    providers: Mapping[str, Provider]
    #: fields of each session's request, such as its budget
    terms: Mapping[str, Any]
    #: SHA-256 of the file of cases
    cases: str

    @property
    def digests(self) -> dict[str, str]:
        """Digests that tell this order from another one, by its parts."""
        listed = {name: write_provider(p) for name, p in self.providers.items()}
        parts = {"model": self.model.text, "providers": listed, "terms": {**self.terms}}
        return {
            name: sha256(json.dumps(part, sort_keys=True).encode()).hexdigest()
            for name, part in parts.items()
        } | {"cases": self.cases}


@contextmanager
def open_journal(
    folder: Path, order: FileOrder, settings: Settings
) -> Iterator["Journal"]:
    """Open the journal of a file, for this process alone.

    Raises RefusedError where another process has it, or where it is the journal of
    another order.
    """
    folder.mkdir(exist_ok=True)
    with (folder / LOCK).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            rule = "must not be in use: another process decides this file"
            raise RefusedError([Refusal("--out", rule, str(folder))]) from None
        check_order(folder, order)
        # Before anything is stored: what is stored is always of this order.
        replace_file(folder / ORDER, json.dumps(order.digests))
        own = settings.model_copy(update={"home": folder, "database_url": None})
        operations.migrate(own.url)
        engine = create_engine(own.url, N_CONNECTIONS)
        try:
            journal = Journal(RunBuyer(own, engine), order)
            journal.prepare()
            yield journal
        finally:
            engine.dispose()


def check_order(folder: Path, order: FileOrder) -> None:
    """Refuse a journal that was begun with another model, file or budget."""
    try:
        begun = json.loads((folder / ORDER).read_text("utf-8"))
    except FileNotFoundError:
        if (folder / DATABASE).exists():
            rule = f"must have {ORDER} in its journal; name another --out, or remove it"
            raise RefusedError([Refusal("--out", rule, str(folder))]) from None
    else:
        changed = [name for name, text in order.digests.items() if begun[name] != text]
        if changed:
            rule = (
                "must have a journal of the same order: "
                f"{' and '.join(changed)} differ; name another --out, or remove it"
            )
            raise RefusedError([Refusal("--out", rule, str(folder))])


@dataclass
class Journal:
    """The sessions of a file, and the buyer that carries them out."""

    buyer: RunBuyer
    order: FileOrder
    model_id: str = ""

    def work(self, act: Callable[[Transaction], Any]) -> Any:
        with transaction(self.buyer.engine, DEFAULT_TENANT) as db:
            return act(db)

    def prepare(self) -> None:
        """Store model and providers, and let go of what a killed process has held."""
        now, settings = datetime.now(UTC), self.buyer.settings
        rules = providers.CallRules(settings.secrets, settings.provider_hosts)

        def store(db: Transaction) -> str:
            listing.let_all_go(db)
            head = listing.find_model(db)
            if head is None:
                head = models.import_model(db, self.order.model, now, as_version=False)
            for name, provider in self.order.providers.items():
                providers.put(db, rules, name, provider, now)
            return head.id

        self.model_id = self.work(store)

    async def decide(
        self,
        cases: Iterable[FileCase],
        at_once: int,
        keep: Callable[[Decision], None],
    ) -> None:
        """Carry out the run of each case, so many at once.

        The cases are numbered from 1. `keep` takes the decisions in their order, each
        soon after its run has ended.
        """
        buying = asyncio.create_task(self.buyer.work())
        runs = OpenRuns(keep)
        try:
            for case in cases:
                while not runs.has_room(at_once):
                    await self.look(runs)
                session_id = await asyncio.to_thread(self.start, case)
                runs.running[session_id] = case.number
            while runs.running:
                await self.look(runs)
        finally:
            self.buyer.stop.set()
            await buying

    async def look(self, runs: "OpenRuns") -> None:
        """Take the decisions of runs that have ended; wait a little without any."""
        decisions = await asyncio.to_thread(self.read_ended, dict(runs.running))
        runs.take(decisions)
        if not decisions:
            await asyncio.sleep(LOOK_S)

    def read_ended(self, running: Mapping[str, int]) -> dict[str, Decision]:
        """Return the decisions of the runs that have ended, by session."""
        loaded = self.buyer.buying.loaded
        with transaction(self.buyer.engine, DEFAULT_TENANT, is_read=True) as db:
            return {
                session_id: listing.read_decision(db, loaded, running[session_id])
                for session_id in listing.list_ended(db, running)
            }

    def start(self, case: FileCase) -> str:
        """Start the run of a case, unless it was started before; return its session."""
        raw = {
            **self.order.terms,
            "model": self.model_id,
            "known": case.known,
            "keys": case.keys,
            "accept_unseen": True,
            "client_ref": str(case.number),
        }
        request = read_shape(PredictRequest, raw, f"row {case.number}")
        wish = starts.RunStart(request, self.buyer.settings.provider_hosts)
        at = self.buyer.settings.moment_at(datetime.now(UTC))
        loaded = self.buyer.buying.loaded

        def begin(db: Transaction) -> str:
            begun = listing.find_session(db, case.number)
            if begun is None:
                begun = starts.start(db, loaded, wish, at).session
            return begun.id

        return str(self.work(begin))


class OpenRuns:
    """Runs that have not ended, and decisions that wait for an earlier case."""

    def __init__(self, keep: Callable[[Decision], None]) -> None:
        self.keep = keep
        #: numbers of cases, by session
        self.running: dict[str, int] = {}
        self.waiting: dict[int, Decision] = {}
        self.n_kept = 0

    def has_room(self, at_once: int) -> bool:
        """Return whether one more run may be started."""
        return len(self.running) < at_once and len(self.waiting) < MOST_WAITING

    def take(self, decisions: Mapping[str, Decision]) -> None:
        """Take the decisions of runs that have ended; keep those that are next."""
        for session_id, decision in decisions.items():
            del self.running[session_id]
            self.waiting[decision.number] = decision
        while self.n_kept + 1 in self.waiting:
            self.n_kept += 1
            self.keep(self.waiting.pop(self.n_kept))

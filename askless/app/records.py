"""The application's frozen records, which pass between its layers."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, NamedTuple, TypeVar

TrainingState = Literal[
    "queued", "running", "succeeded", "failed", "cancelling", "cancelled"
]
#: What a job does: a training makes a model; the others apply one to a table, and
#: `learn` makes its next version.
JobKind = Literal["train", "predict", "evaluate", "learn", "shadow"]
SessionState = Literal["open", "waiting", "closed"]
EntryKind = Literal["charge", "miss", "reversal"]
#: What a run does: a `released` one was handed to a person.
RunState = Literal["buying", "paused", "ended", "released"]
CallState = Literal["reserved", "sent", "settled", "missed", "released", "in_doubt"]
#: What a person or a program may do, in one word.
Role = Literal["clinician", "analyst", "auditor", "integration", "admin"]
#: Who makes a challenger champion.
Promotion = Literal["by_person", "by_rule"]
ChallengeState = Literal["training", "playing", "ended"]
#: How a challenge has ended.
Decision = Literal["promoted", "kept", "overtaken", "failed"]

T = TypeVar("T")

#: The tenant of calls without a key.
DEFAULT_TENANT = "ten_default"
FINAL_STATES = ("succeeded", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class StoredDataset:
    """A table that was checked: an upload, or files that stay where they are.

    The bytes of an upload are in the blob `blob`. A table with a `url` has no blob.
    """

    id: str
    name: str
    blob: str
    n_bytes: int
    n_rows: int
    columns: tuple[str, ...]
    created_at: datetime
    url: str | None = None


@dataclass(frozen=True, slots=True)
class StoredJob:
    """The job that makes a model, or applies one.

    `share` is how much is done, 0 to 1.
    """

    id: str
    name: str
    dataset_id: str | None
    spec: dict[str, Any]
    warnings: tuple[str, ...]
    created_at: datetime
    state: TrainingState = "queued"
    share: float = 0.0
    attempt: int = 0
    model_id: str | None = None
    error: dict[str, Any] | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    kind: JobKind = "train"
    #: the model that a job applies
    asked_model: str | None = None
    #: what a job came to: its rows and formats
    result: dict[str, Any] | None = None
    # Whose it is; the worker, which serves all tenants, goes on in their name.
    tenant_id: str = ""


@dataclass(frozen=True, slots=True)
class JobEvent:
    """An event of a training or job, numbered from 1 within it."""

    number: int
    at: datetime
    type: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ModelHead:
    """A stored, versioned model without its document, as lists show it.

    A champion is what its name means without a version; `learnt_from` is the model that
    went on learning.
    """

    id: str
    name: str
    version: int
    training_id: str | None
    created_at: datetime
    is_champion: bool
    learnt_from: str | None


@dataclass(frozen=True, slots=True)
class PredictSession:
    """One interactive prediction; money in micro-units.

    `document` is the state as `askless.app.documents.session.state` writes it, None
    once it was erased. `version` grows by 1 with every change. Without a price list its
    prices are the model's own.
    """

    id: str
    model_id: str
    state: SessionState
    version: int
    budget_limit: int | None
    spent: int
    unit: str
    document: str | None
    created_at: datetime
    updated_at: datetime
    price_list_id: str | None = None
    #: what the caller knows the case by; None once it was erased
    client_ref: str | None = None
    #: reserved for calls on their way
    held: int = 0
    #: whether the service buys, or has bought, by itself
    is_run: bool = False

    @property
    def remaining(self) -> int | None:
        """Amount that may still be charged; None without a budget."""
        if self.budget_limit is None:
            return None
        return self.budget_limit - self.spent - self.held


class SessionFilter(NamedTuple):
    """A filter of sessions; None: any. `model` is an id or a name."""

    state: SessionState | None = None
    model: str | None = None
    client_ref: str | None = None


class Moment(NamedTuple):
    """The time of a request, and how long a session may be idle, or wait."""

    now: datetime
    ttl: timedelta
    waiting_ttl: timedelta


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A charge, a miss or a reversal; `amount` in micro-units, never negative."""

    #: among the entries of its session, oldest first, from 1
    position: int
    at: datetime
    session_id: str
    feature: str
    group: str | None
    kind: EntryKind
    amount: int
    unit: str
    #: of the feature's charges and misses in the session, from 1; of a reversal that of
    #: what it takes back
    number: int = 1
    #: the position of the charge that a reversal takes back, and why it does
    reverses: int | None = None
    reason: str | None = None
    key_id: str | None = None
    #: who was paid, where a run bought it
    provider: str | None = None
    #: SHA-256 of the entry and of the session's entry before it
    digest: str = ""
    #: that of the session
    model_id: str = ""

    @property
    def id(self) -> str:
        """Id for users, made of what their tenant knows: it counts no other's."""
        return f"{self.session_id}-{self.position}"

    @property
    def reversed_id(self) -> str | None:
        """Id of the charge that a reversal takes back."""
        return None if self.reverses is None else f"{self.session_id}-{self.reverses}"


@dataclass(frozen=True, slots=True)
class StoredProvider:
    """A provider as it was put, with what its calls have taught."""

    id: str
    name: str
    document: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    #: no call before; None: it does not cool down
    cools_until: datetime | None = None
    #: failures since its last answer
    failures: int = 0
    #: when the next call may leave, by its calls a second
    next_at: datetime | None = None
    #: changes that are named, as in its report; None: nothing has changed
    changes: tuple[dict[str, Any], ...] | None = None


@dataclass(frozen=True, slots=True)
class StoredRun:
    """The buying of one session; `keys` are None once they were erased."""

    session_id: str
    state: RunState
    keys: dict[str, str] | None
    #: address and name of the secret that are told of its end
    webhook: dict[str, str] | None
    #: providers that the case goes on without, each with the reason
    left_out: dict[str, str]
    created_at: datetime
    #: how it weighs time, see `RunTerms`; None: not at all
    terms: dict[str, float] | None = None
    holder: str | None = None
    ended_at: datetime | None = None
    #: the receipt as JSON text, None before the end and once it was erased
    receipt: str | None = None
    #: SHA-256 of the receipt
    digest: str | None = None
    tenant_id: str = ""
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class StoredCall:
    """One request to a provider; money in micro-units."""

    id: str
    #: None: a test of the provider
    session_id: str | None
    provider: str
    #: of the order in its session, from 1
    number: int
    state: CallState
    #: what it is to fill
    features: tuple[str, ...]
    #: reserved
    price: int
    charged: int
    unit: str
    idempotency_key: str
    #: whose ceiling counts it, such as 2026-11-28
    day: str
    created_at: datetime
    attempts: int = 0
    #: HTTP status of the last answer
    status: int | None = None
    #: why it ended so, in a word
    reason: str | None = None
    latency_ms: int | None = None
    #: chance of each class before it and after
    before: list[float] | None = None
    after: list[float] | None = None
    sent_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class LedgerFilter:
    """A filter of the ledger's entries; None: any.

    `since` and `until` are the first moment that counts, and the first that does not.
    """

    model_id: str | None = None
    session_id: str | None = None
    key_id: str | None = None
    unit: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class LedgerSum:
    """Sums of entries of one unit of money, in micro-units."""

    unit: str
    entries: int
    charged: int
    reversed: int
    #: the day, model or feature of them all, where that was asked for
    common: str = ""

    @property
    def net(self) -> int:
        return self.charged - self.reversed


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a key may have or send; None: as much as the settings allow."""

    requests_per_minute: int | None = None
    trainings: int | None = None
    sessions: int | None = None
    streams: int | None = None
    dataset_bytes: int | None = None
    rows: int | None = None
    columns: int | None = None
    rounds: int | None = None


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key without its secret, of which only the SHA-256 is stored.

    The key of a person who signs in has no secret; `subject` is who they are there.
    """

    id: str
    name: str
    digest: str
    scopes: tuple[str, ...]
    limits: dict[str, int]
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    #: an identity provider, and its name for the person; None: a key with a secret
    subject: str | None = None
    tenant_id: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """The tenant, key and rights of a request; without a key all, on loopback."""

    tenant_id: str
    key_id: str | None
    scopes: frozenset[str]
    limits: Limits


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """The answer to a request with an idempotency key; `digest` is the request's."""

    key: str
    digest: str
    status: int
    headers: dict[str, str]
    body: bytes
    created_at: datetime
    session_id: str | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Some items, newest first, and where the next ones start."""

    items: tuple[T, ...]
    next: str | None

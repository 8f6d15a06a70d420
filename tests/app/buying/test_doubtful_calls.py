"""What was sent and not answered stays in doubt, whatever fails after it."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest
import sqlalchemy as sa

from askless.app.buyer.buyer import RunBuyer
from askless.app.documents.buying.providers import Provider
from askless.app.records import StoredCall
from askless.app.service.buying.calling.sending import Message, Reply, Sender
from askless.app.service.buying.calling.verdicts import CallTerms, judge
from askless.app.service.buying.turns import CallOrder
from askless.app.settings.settings import Settings
from tests.app.buying.conftest import SHOP
from tests.app.clinic import on

pytest_plugins = ["tests.app.conftest_http"]

LOST, ANSWERED = Reply(None, failure="no_answer"), Reply(200, b'{"visits": 3}')
UNREACHED = Reply(None, failure="not_connected")
REFUSED = Reply(None, failure="refused_address")
FAILURES = [UNREACHED, REFUSED, Reply(503), Reply(429), Reply(422)]
CALL = StoredCall(
    *("cal_1", "ses_1", "visits", 1, "reserved", ("visits",), 1_000, 0, "USD"),
    *("k" * 64, "2026-11-28", on(1)),
)


@dataclass
class Script(Sender):
    """Replies as scripted, the last one again and again."""

    replies: list[Reply] = field(default_factory=list)

    async def send(self, message: Message, timeout_s: float) -> Reply:
        del message, timeout_s
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


@pytest.fixture
def buyer(settings: Settings, engine: sa.Engine) -> RunBuyer:
    return RunBuyer(settings, engine)


def judged(buyer: RunBuyer, replies: list[Reply], state: str) -> tuple[str, int]:
    """Return state and charge of a call whose attempts had these replies."""
    provider = Provider.model_validate(
        {
            "fills": "visits",
            "request": {"url": "http://127.0.0.1:1/"},
            "read": {"visits": "visits"},
            "attempts": 2,
            "idempotency_header": "Idempotency-Key",
        }
    )
    call = replace(CALL, state=state)
    order = CallOrder(call, provider, Message("GET", "", {}, {}, None))
    buyer.sender = Script([], replies=replies)
    reply, attempts = asyncio.run(buyer.send(order))
    terms = CallTerms(provider, SHOP, call.features, call.price, "per_answer")
    verdict = judge(terms, reply, attempts)
    return verdict.state, verdict.amount


@pytest.mark.parametrize("failure", FAILURES)
def test_a_failure_after_an_attempt_without_answer_leaves_it_in_doubt(
    buyer: RunBuyer, failure: Reply
) -> None:
    assert judged(buyer, [LOST, failure], "reserved") == ("in_doubt", 1_000)


@pytest.mark.parametrize("failure", FAILURES)
def test_a_call_of_before_a_crash_that_fails_now_is_in_doubt(
    buyer: RunBuyer, failure: Reply
) -> None:
    assert judged(buyer, [failure], "sent") == ("in_doubt", 1_000)


@pytest.mark.parametrize("failure", FAILURES)
def test_what_only_failed_is_released(buyer: RunBuyer, failure: Reply) -> None:
    assert judged(buyer, [failure], "reserved") == ("released", 0)


def test_an_answer_to_the_same_key_ends_the_doubt(buyer: RunBuyer) -> None:
    assert judged(buyer, [LOST, ANSWERED], "reserved") == ("settled", 1_000)
    assert judged(buyer, [ANSWERED], "sent") == ("settled", 1_000)

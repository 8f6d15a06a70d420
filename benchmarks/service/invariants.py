"""Play many sessions at once, then check that the money is right."""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import sqlalchemy as sa

from benchmarks.service.clients import Caller, value_of
from benchmarks.service.servers import Party

N_CLIENTS = 16
BUDGETS = (5.0, 60.0, 120.5, 260.0, None)
# Shares of requests that are sent twice, and that send an earlier answer again.
TWICE, EARLIER = 0.1, 0.05
VIOLATIONS = {
    "spent is not what the ledger says": """
        SELECT count(*) FROM sessions s WHERE s.spent <> (
            SELECT coalesce(
                sum(CASE kind WHEN 'charge' THEN amount ELSE -amount END), 0)
            FROM ledger WHERE session_id = s.id)""",
    "spent passes the budget": """
        SELECT count(*) FROM sessions WHERE spent > budget_limit""",
    "a feature is charged twice": """
        SELECT count(*) FROM (
            SELECT 1 FROM ledger GROUP BY session_id, feature, kind
            HAVING count(*) > 1) AS twice""",
    "a charge of no session": """
        SELECT count(*) FROM ledger WHERE session_id NOT IN (SELECT id FROM sessions)
        """,
}


class Game:
    """Sessions that all clients play together, so that two may meet in one."""

    def __init__(self, party: Party, model: str) -> None:
        self.party, self.model = party, model
        self.lock = threading.Lock()
        self.sessions: list[dict[str, Any]] = []
        self.statuses: Counter[int] = Counter()
        self.left = 0

    def each(self, act: Any, n_times: int) -> None:
        """Let all clients act until it was done so many times."""
        self.left = n_times
        with ThreadPoolExecutor(N_CLIENTS) as pool:
            for one in [pool.submit(self.work, act, i) for i in range(N_CLIENTS)]:
                one.result()

    def work(self, act: Any, number: int) -> None:
        ports = self.party.ports
        generator = random.Random(f"{number}/{self.left}")
        with Caller(ports[number % len(ports)]) as caller:
            while True:
                with self.lock:
                    self.left -= 1
                    if self.left < 0:
                        return
                act(caller, generator)

    def open(self, caller: Caller, generator: random.Random) -> None:
        wish = {"model": self.model, "budget": generator.choice(BUDGETS)}
        opened = caller.post("/predict", wish | {"stop": {"certain": False}})
        with self.lock:
            self.sessions.append({k: opened[k] for k in ("id", "question", "answers")})

    def answer(self, caller: Caller, generator: random.Random) -> None:
        place = generator.randrange(len(self.sessions))
        session = self.sessions[place]
        question, answers = session["question"], session["answers"]
        if question is None or (answers and generator.random() < EARLIER):
            if not answers:
                return
            given = generator.choice(answers)
            answer = {k: given[k] for k in ("feature", "outcome", "value")}
        else:
            value = value_of(question, generator)
            feature = question["feature"]
            answer = {"feature": feature, "outcome": "value", "value": value}
        path = f"/predict/{session['id']}/answers"
        for _ in range(1 + (generator.random() < TWICE)):
            status, found = caller.ask("POST", path, {"answers": [answer]})
            with self.lock:
                self.statuses[status] += 1
        if status == 200:
            told = json.loads(found)
            kept = {k: told[k] for k in ("id", "question", "answers")}
            with self.lock:
                self.sessions[place] = kept


def check_invariants(
    party: Party, model: str, url: str, n_sessions: int, n_answers: int
) -> dict[str, Any]:
    """Play, and count what must not be; memory after each tenth of the answers."""
    game = Game(party, model)
    started = time.perf_counter()
    game.each(game.open, n_sessions)
    memory = [party.rss_bytes]
    for _ in range(10):
        game.each(game.answer, n_answers // 10)
        memory.append(party.rss_bytes)
    return {
        "sessions": n_sessions,
        "answers": n_answers,
        "minutes": round((time.perf_counter() - started) / 60, 1),
        "statuses": {str(one): count for one, count in game.statuses.items()},
        "violations": dict(violations(url)),
        "memory_mib": [round(n_bytes / 2**20, 1) for n_bytes in memory],
        "memory_growth": round(memory[-1] / memory[1] - 1, 3),
    }


def violations(url: str) -> Iterator[tuple[str, int]]:
    engine = sa.create_engine(url)
    with ExitStack() as stack:
        stack.callback(engine.dispose)
        connection = stack.enter_context(engine.connect())
        for name, query in VIOLATIONS.items():
            yield name, int(connection.scalar(sa.text(query)))

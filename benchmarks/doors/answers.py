"""`python -m benchmarks.doors.answers`: an answer by a door beside one by /predict.

One server, one connection, plain sockets for both. Twin sessions of the demo's model
get the same answers, one after the other: over /predict, then by the door, and the
other way round in the next pair. The first pairs warm up and do not count. Every ratio
is of the medians of one block; the table shows the median and the quartiles of them.
"""

import argparse
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.documents import keep_rows
from benchmarks.doors.patients import Patient, read_patients
from benchmarks.doors.serving import compare, opened
from benchmarks.service.clients import Caller
from benchmarks.service.servers import ROOT, train_model

Json = dict[str, Any]
VERSION = "2026-07-28"
NAME_OF_VERSION = "io.modelcontextprotocol/protocolVersion"
MODERN = {
    NAME_OF_VERSION: VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
}
BLOCKS, PAIRS = 15, 40
JSON = "Content-Type: application/json\r\n"
ACCEPT = "Accept: application/json, text/event-stream\r\n"
Request = tuple[str, bytes, str]


def by_predict(case: str, given: Json) -> Request:
    body = {"answers": [{**given, "outcome": "value"}]}
    return f"/predict/{case}/answers", json.dumps(body).encode(), JSON


def by_mcp(case: str, given: Json) -> Request:
    """As clients of the present version of the protocol send it."""
    arguments = {"case": case, "answers": [given]}
    params = {"name": "answer", "arguments": arguments, "_meta": MODERN}
    headers = (
        f"{JSON}{ACCEPT}MCP-Protocol-Version: {VERSION}\r\n"
        "Mcp-Method: tools/call\r\nMcp-Name: answer\r\n"
    )
    return "/mcp", envelope(params), headers


def by_older_mcp(case: str, given: Json) -> Request:
    """As clients of the version before send it, which begins with a handshake."""
    params = {"name": "answer", "arguments": {"case": case, "answers": [given]}}
    headers = f"{JSON}{ACCEPT}MCP-Protocol-Version: 2025-11-25\r\n"
    return "/mcp", envelope(params), headers


def envelope(params: Json) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


DOORS: dict[str, Callable[[str, Json], Request]] = {
    f"mcp {VERSION}": by_mcp,
    "mcp 2025-11-25": by_older_mcp,
}


class Twins:
    """Two sessions that get the same answers, one by each way."""

    def __init__(self, caller: Caller, seed: int) -> None:
        self.caller = caller
        patients = read_patients()
        most = max(map(len, patients))
        self.patients = [one for one in patients if len(one) == most]
        random.Random(seed).shuffle(self.patients)
        self.patient: Patient = {}
        self.question: Json | None = None
        self.cases = ("", "")

    def next_answer(self) -> Json:
        if self.question is None:
            self.patient = self.patients.pop()
            self.patients.insert(0, self.patient)
            wish = {
                "model": "heart-cleveland",
                "budget": None,
                "seed": 1,
                "stop": {"certain": False},
            }
            made = [self.caller.post("/predict", wish) for _ in range(2)]
            self.cases = (made[0]["id"], made[1]["id"])
            self.question = made[0]["question"]
        question = self.question
        assert question is not None
        name = question["feature"]
        return {"feature": name, "value": self.patient[name]}

    def time_pair(self, door: Callable[[str, Json], Request], turn: int) -> Json:
        """Answer both; return the seconds of each."""
        given = self.next_answer()
        ways = [(by_predict, self.cases[0]), (door, self.cases[1])]
        took: Json = {}
        for way, case in ways if turn % 2 else reversed(ways):
            path, body, headers = way(case, given)
            started = time.perf_counter()
            status, found = self.caller.ask("POST", path, body, headers)
            took[way.__name__] = time.perf_counter() - started
            assert status == 200, found
            told = json.loads(found)
            if way is by_predict:
                self.question = told["question"]
            elif "result" in told:
                assert not told["result"]["isError"], found
        return took


def measure(caller: Caller, door: Callable[[str, Json], Request]) -> Json:
    ours, theirs = [], []
    twins = Twins(caller, 1)
    for turn in range(PAIRS):
        twins.time_pair(door, turn)
    for _ in range(BLOCKS):
        pairs = [twins.time_pair(door, turn) for turn in range(PAIRS)]
        ours.append(median(one[door.__name__] for one in pairs))
        theirs.append(median(one["by_predict"] for one in pairs))
    return compare(ours, theirs) | {"answers": BLOCKS * PAIRS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--door", choices=list(DOORS), action="append")
    parser.add_argument("--model", type=Path, help="The demo's, trained before.")
    asked = parser.parse_args()
    model = asked.model.read_text() if asked.model else train_model(ROOT)
    table = []
    with opened(model, "mcp") as caller:
        for name in asked.door or list(DOORS):
            found = measure(caller, DOORS[name])
            low, high = found["quartiles"]
            ratio = f"{found['ratio']:.2f} ({low:.2f} to {high:.2f})"
            table.append([name, found["ms"], found["ms_predict"], ratio])
            print(*table[-1], sep=" | ", flush=True)
    keep_rows("doors", "door-answers", table, n_keys=1)


if __name__ == "__main__":
    main()

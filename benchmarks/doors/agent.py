"""`python -m benchmarks.doors.agent`: an agent that buys beside one that reads all.

Both are plain loops over the tools, by the protocol's own client over HTTP. Patients of
the demo's table are dealt into folds; those of a fold are worked through with a model
that was trained on the other folds, so that every patient is held out once. The buyer
asks for what `question` names, until the session advises to stop. The reader gives all
values that there are, and is charged for all of them.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import anyio
import numpy as np
from mcp import Client

from askless.app.documents.files import model_text
from askless.app.terminal.demo import demo_training, load_demo
from askless.core.model.figures import wilson_interval
from benchmarks.documents import keep_rows
from benchmarks.doors.answers import opened
from benchmarks.doors.patients import Patient, read_patients

N_FOLDS = 5
BUDGETS = (30.0, 60.0, 120.0, None)
DOCUMENT = "doors"


@dataclass
class Tally:
    """What came of the cases of one agent."""

    wrong: list[bool] = field(default_factory=list)
    spent: list[float] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)

    def row(self, agent: str, budget: str) -> list[str]:
        n_wrong, n_cases = sum(self.wrong), len(self.wrong)
        low, high = wilson_interval(n_wrong / n_cases, n_cases)
        return [
            agent,
            budget,
            f"{n_wrong / n_cases:.3f} ({low:.3f} to {high:.3f})",
            f"{fmean(self.spent):.2f}",
            f"{max(self.spent):.2f}",
            f"{fmean(self.calls):.1f}",
            str(n_cases),
        ]


async def call(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    told = await client.call_tool(tool, arguments)
    assert not told.is_error, told.content
    content: dict[str, Any] = told.structured_content
    return content


async def buy(
    client: Client, model: str, patient: Patient, budget: float | None
) -> Any:
    """Work through a case as an agent does; return how it ended and the calls."""
    case = await call(client, "start_case", {"model": model, "budget": budget})
    n_calls = 1
    while case["question"] is not None and not case["should_stop"]:
        name = case["question"]["feature"]
        if name in patient:
            given = {"answers": [{"feature": name, "value": patient[name]}]}
            case = await call(client, "answer", {"case": case["case"], **given})
        else:
            given = {"feature": name, "outcome": "unavailable"}
            told = {"case": case["case"], **given}
            case = await call(client, "correct_or_refuse", told)
        n_calls += 1
    ended = await call(client, "stop_case", {"case": case["case"]})
    return ended, n_calls + 1


async def read_all(client: Client, model: str, patient: Patient) -> Any:
    case = await call(client, "start_case", {"model": model, "budget": None})
    answers = [
        {"feature": name, "value": value}
        for name, value in patient.items()
        if name != "label"
    ]
    given = {"case": case["case"], "answers": answers, "insist": True}
    await call(client, "answer", given)
    return await call(client, "stop_case", {"case": case["case"]}), 3


def folds(n_rows: int) -> Iterator[tuple[Any, Any]]:
    """Yield the rows to train on, and those to work through."""
    dealt = np.random.default_rng(0).permutation(n_rows) % N_FOLDS
    for fold in range(N_FOLDS):
        yield np.flatnonzero(dealt != fold), np.flatnonzero(dealt == fold)


def train(rows: Any) -> str:
    spec, dataset = load_demo()
    assert dataset.n_samples == len(read_patients()), "rows are patients, in order"
    training = demo_training(spec, dataset.take(rows))
    while True:
        try:
            next(training)
        except StopIteration as end:
            return model_text(end.value)


async def work(port: int, patients: list[Patient], tallies: dict[str, Tally]) -> None:
    async with Client(f"http://127.0.0.1:{port}/mcp") as client:
        (model,) = (await call(client, "list_models", {}))["items"]
        for patient in patients:
            for name, tally in tallies.items():
                budget = json.loads(name.partition(" ")[2] or "null")
                ended, n_calls = (
                    await read_all(client, model["id"], patient)
                    if name == "reader"
                    else await buy(client, model["id"], patient, budget)
                )
                tally.wrong.append(ended["label"] != patient["label"])
                tally.spent.append(ended["spent"])
                tally.calls.append(n_calls)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="One fold; write nothing.")
    is_quick = parser.parse_args().quick
    patients = read_patients()
    names = [f"buyer {json.dumps(budget)}" for budget in BUDGETS]
    tallies = {name: Tally() for name in (*names, "reader")}
    written = {
        f"buyer {json.dumps(budget)}": (
            "buys",
            "unlimited" if budget is None else f"{budget:g}",
        )
        for budget in BUDGETS
    } | {"reader": ("reads all", "unlimited")}
    for rows, held_out in folds(len(patients)):
        began = time.monotonic()
        with opened(train(rows)) as caller:
            port = caller.socket.getpeername()[1]
            anyio.run(work, port, [patients[row] for row in held_out], tallies)
        print(f"{len(held_out)} patients in {time.monotonic() - began:.0f} s")
        table = [tallies[name].row(*words) for name, words in written.items()]
        for row in table:
            print(*row, sep=" | ", flush=True)
        if is_quick:
            break
    if not is_quick:
        keep_rows(DOCUMENT, "door-agents", table, n_keys=2)


if __name__ == "__main__":
    main()

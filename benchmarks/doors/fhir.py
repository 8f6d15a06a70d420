"""Times a question through a door against the same one over /predict.

Two applications in this process, asked in turns: a case of the demo's table is worked
through by both, and each pair of answers gives one ratio. The client's own work is
outside the times.

    python -m benchmarks.doors.fhir [--cases N]
"""

import argparse
import asyncio
import csv
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from askless.app.main import create_app
from askless.app.settings.settings import Settings
from askless.app.store.database.migrate import migrate
from askless.core.warm import warm_up

ROOT = Path(__file__).resolve().parents[2]
Json = dict[str, Any]
KINDS = {"decimal": "valueDecimal", "boolean": "valueBoolean"}
FORM = "/fhir/Questionnaire/heart-cleveland/$next-question"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--model", type=Path, default=ROOT / "tests/pages/heart.json")
    arguments = parser.parse_args()
    warm_up()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), doors=["fhir"])
        migrate(settings.url)
        asyncio.run(measure(settings, arguments))


async def measure(settings: Settings, arguments: argparse.Namespace) -> None:
    app = create_app(settings, is_local=True)
    async with app.router.lifespan_context(app):
        model = json.loads(arguments.model.read_text(encoding="utf-8"))
        await call(app, "/models", model)
        with (ROOT / "app/demo/heart.csv").open(encoding="utf-8") as file:
            rows = [*csv.DictReader(file)]
        times: list[tuple[float, float]] = []
        for number in range(arguments.cases):
            pairs = await play(app, rows[number % len(rows)])
            # The first cases fill caches.
            times += pairs if number >= 5 else []
    report(times)


async def play(app: Any, row: dict[str, str]) -> list[tuple[float, float]]:
    """Work a case through by both ways in turns; give the pairs of seconds."""
    start = {"model": "heart-cleveland", "budget": None}
    _, session = await call(app, "/predict", start)
    sent: Json = {
        "resourceType": "QuestionnaireResponse",
        "status": "in-progress",
        "questionnaire": "http://x/fhir/Questionnaire/heart-cleveland",
    }
    _, form = await call(app, FORM, sent)
    pairs = []
    while (question := session["question"]) and not session["should_stop"]:
        item = form["contained"][0]["item"][-1]
        assert item["linkId"] == question["feature"], "both ask the same"
        by_api, by_form = answers(question, item, row[question["feature"]])
        form["item"] = [*form.get("item", []), by_form]
        path = f"/predict/{session['id']}/answers"
        if len(pairs) % 2:
            api_s, session = await call(app, path, {"answers": [by_api]})
            form_s, form = await call(app, FORM, form)
        else:
            form_s, form = await call(app, FORM, form)
            api_s, session = await call(app, path, {"answers": [by_api]})
        pairs.append((api_s, form_s))
    return pairs


def answers(question: Json, item: Json, cell: str) -> tuple[Json, Json]:
    feature = question["feature"]
    if not cell:
        url = "http://hl7.org/fhir/StructureDefinition/data-absent-reason"
        absent = [{"url": url, "valueCode": "not-performed"}]
        by_api = {"feature": feature, "outcome": "unavailable"}
        return by_api, {"linkId": feature, "extension": absent}
    value: Any = cell
    if question["type"] != "category":
        value = float(cell) if question["type"] == "number" else cell == "1"
    kind = KINDS.get(item["type"], "valueCoding")
    said = {"code": value} if kind == "valueCoding" else value
    by_api = {"feature": feature, "outcome": "value", "value": value}
    return by_api, {"linkId": feature, "answer": [{kind: said}]}


async def call(app: Any, path: str, body: Json) -> tuple[float, Json]:
    """Give the seconds of a POST within the application, and its answer."""
    content = json.dumps(body).encode()
    headers = [
        (b"host", b"127.0.0.1"),
        (b"content-type", b"application/json"),
        (b"content-length", str(len(content)).encode()),
    ]
    scope = {
        **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1"},
        **{"method": "POST", "scheme": "http", "path": path, "query_string": b""},
        **{"raw_path": path.encode(), "root_path": "", "headers": headers},
        **{"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80)},
    }
    parts: list[Json] = []

    body_parts = iter([{"type": "http.request", "body": content, "more_body": False}])

    async def receive() -> Json:
        for message in body_parts:
            return message
        # A caller that waits for its answer.
        await asyncio.Event().wait()
        raise AssertionError

    async def send(message: Any) -> None:
        parts.append(message)

    started = time.perf_counter()
    await app(scope, receive, send)
    seconds = time.perf_counter() - started
    status = parts[0]["status"]
    answer = b"".join(one.get("body", b"") for one in parts[1:])
    assert status in (200, 201), answer
    return seconds, json.loads(answer)


def report(times: list[tuple[float, float]]) -> None:
    ratios = [form / api for api, form in times]
    for name, values in (
        ("predict", [a for a, _ in times]),
        ("fhir", [b for _, b in times]),
    ):
        low, middle, high = statistics.quantiles([1000 * one for one in values], n=4)
        print(f"{name:8} {middle:6.2f} ms (quartiles {low:.2f}, {high:.2f})")
    low, middle, high = statistics.quantiles(ratios, n=4)
    spread = f"(quartiles {low:.2f}, {high:.2f})"
    print(f"ratio    {middle:6.2f}    {spread}, {len(times)} pairs")


if __name__ == "__main__":
    main()

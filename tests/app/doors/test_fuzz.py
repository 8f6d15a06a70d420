"""Whatever is sent to a door, it answers in its form, and charges no refused message.

`make test-fuzz` sends more.
"""

import copy
import io
import json
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from hypothesis import strategies as st
from mcp.server.stdio import stdio_server

from askless.app.doors.mcp.calls import Host
from askless.app.doors.mcp.server import make_server
from askless.app.doors.mcp.stdio import make_identifier
from askless.app.doors.mcp.tools import TOOLS
from askless.app.http.plumbing.auth import ANYBODY
from askless.app.settings.settings import Settings
from tests.app.clinic import Json, clinic, model_json
from tests.app.doors.agents import META, NAMED_BY, OLDER_VERSION, VERSION, Agent
from tests.app.doors.fhir import filler
from tests.app.doors.fhir.hooks import (
    KNOWN,
    PATH,
    SOME,
    cards,
    coded,
    drafts,
    hook,
)
from tests.app.doors.fuzzing import Door, Message, Right, fuzz
from tests.app.doors.openings import HEADER, INFER, KIND_OF, ROWS, inputs
from tests.kept import Applications

FEATURES = ("age", "sex", "chol", "fbs", "ecg", "echo1", "echo2")


def put(client: TestClient) -> None:
    raw = model_json(clinic(), "clinic")
    client.post("/models", json=raw).raise_for_status()


def prepare_mcp(client: TestClient) -> list[Right]:
    """Return a call of each tool, two of them about one case, and other methods."""
    put(client)
    cases = [
        Agent(client.post).do("start_case", model="clinic", budget=60)["case"]
        for _ in range(2)
    ]
    case = {"case": cases[0]}
    arguments: dict[str, Json] = {
        "list_models": {"limit": 2},
        "start_case": {
            **{"model": "clinic", "budget": 60, "known": {"age": 63}, "seed": 7},
            **{"stop": {"confidence": 0.9}, "client_ref": "x"},
        },
        "answer": case | {"answers": [{"feature": "chol", "value": 240}]},
        "correct_or_refuse": case | {"feature": "sex", "outcome": "refused"},
        "decide": case | {"wait_s": 0},
        "stop_case": {"case": cases[1]},
        "ledger": case | {"limit": 5},
    }
    assert arguments.keys() == TOOLS.keys()
    prompt = {"model": "clinic", "budget": "12.50", "facts": "A man."}
    params = [
        *(
            ("tools/call", {"name": name, "arguments": given})
            for name, given in arguments.items()
        ),
        ("tools/list", {}),
        ("resources/read", {"uri": f"askless://cases/{cases[0]}"}),
        ("resources/list", {"cursor": None}),
        ("prompts/get", {"name": "work_through_a_case", "arguments": prompt}),
    ]
    return [
        Right(
            "/mcp",
            {"jsonrpc": "2.0", "id": 1, "method": method}
            | {"params": given | {"_meta": META}},
            within=("params", "arguments") if "arguments" in given else ("params",),
        )
        for method, given in params
    ]


def is_done(answer: Any) -> bool:
    """Whether a message of the protocol says that a call has been done."""
    result = answer.get("result") if isinstance(answer, dict) else None
    return isinstance(result, dict) and not result.get("isError")


def named_in(body: Any) -> dict[str, str]:
    """The headers that repeat what a message names."""
    held = body if isinstance(body, dict) else {}
    params = held.get("params")
    method = held.get("method")
    field = NAMED_BY.get(method, "name") if isinstance(method, str) else "name"
    name = params.get(field) if isinstance(params, dict) else None
    names = {"Mcp-Method": method, "Mcp-Name": name}
    return {
        header: value
        for header, value in names.items()
        if isinstance(value, str) and value.isascii() and value.isprintable()
    }


def send_mcp(client: TestClient, message: Message) -> tuple[Any, bool]:
    version, is_named = message.more
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        **({} if version is None else {"MCP-Protocol-Version": version}),
        **(named_in(message.body) if is_named else {}),
    }
    response = client.post(message.path, content=message.content, headers=headers)
    return response, response.is_success and is_done(json.loads(response.text or "0"))


async def talk(app: FastAPI, text: str) -> str:
    """Let the server read lines from a file until its end; return what it wrote."""
    host = Host(app, make_identifier(app, ANYBODY.tenant_id, None))
    server = make_server(host)
    written = io.StringIO()
    files = anyio.wrap_file(io.StringIO(text)), anyio.wrap_file(written)
    with anyio.fail_after(60):
        async with stdio_server(*files) as (read, write):
            await server.run(read, write, server.create_initialization_options())
    return written.getvalue()


def send_lines(client: TestClient, message: Message) -> tuple[Any, bool]:
    assert client.portal is not None
    text = message.content.decode(errors="replace")
    written = client.portal.call(talk, client.app, f"{text}\n{text}")  # type: ignore[arg-type]
    answers = [json.loads(line) for line in written.splitlines()]
    assert all(answer["jsonrpc"] == "2.0" for answer in answers)
    return SimpleNamespace(text=written, status_code=200), any(map(is_done, answers))


MCP = Door(
    ["mcp"],
    (
        *("case", "answers", "feature", "outcome", "value", "version", "insist"),
        *("model", "budget", "known", "stop", "aim", "seed", "policy", "client_ref"),
        *("coverage", "accept_unseen", "prices", "costs", "limit", "after", "facts"),
        *("uri", "name", "arguments", "_meta", "cursor", "confidence", "mean_budget"),
        *("id", "method", "params"),
    ),
    (
        *(*FEATURES, *TOOLS, "clinic", "value", "ordered", "refused", "male", "", "\0"),
        *("askless://models/clinic/card", "askless://models/%2e%2e/card", "clinic@1"),
        *("resources/templates/list", "prompts/list", "server/discover", "ping"),
        *("subscriptions/listen", "logging/setLevel", "completion/complete", "%00"),
        *("notifications/initialized", "tasks/get", "initialize", "\ud800"),
        "notifications/cancelled",
    ),
    prepare_mcp,
    send_mcp,
    st.tuples(st.sampled_from((VERSION, OLDER_VERSION, None, "x")), st.booleans()),
    usual=(VERSION, True),
)


def prepare_inference(client: TestClient) -> list[Right]:
    put(client)
    order = {"budget": 20, "policy": "sample", "seed": 7, "binary_data_output": True}
    size = {"parameters": {"binary_data_size": 8}}
    outputs = [{"name": "label", "parameters": {"binary_data": True}}]
    short = [{**part, "shape": [1], "data": part["data"][:1]} for part in inputs()]
    age = {"name": "age", "shape": [1], "datatype": "FP64", **size}
    return [
        Right(INFER, {"parameters": {"budget": 20}, "inputs": inputs()}),
        Right(
            INFER,
            {"parameters": order, "inputs": inputs(), "outputs": outputs},
            within=("parameters",),
        ),
        Right(
            INFER,
            {"parameters": {"budget": "inf"}, "inputs": [age, *short[1:]]},
            tail=bytes(8),
            within=("inputs",),
        ),
    ]


def send_inference(client: TestClient, message: Message) -> tuple[Any, bool]:
    shift, rest = message.more
    headers = {}
    if shift is not None:
        size = len(message.content)
        headers[HEADER] = str(size + shift if isinstance(shift, int) else shift)
    content = message.content + message.tail + rest
    response = client.post(message.path, content=content, headers=headers)
    if response.status_code == 200:
        size = int(response.headers.get(HEADER, len(response.content)))
        assert json.loads(response.content[:size])["model_name"] == "clinic"
    else:
        assert response.status_code == 400, response.text
        assert list(response.json()) == ["error"]
    # It charges nothing, taken or not.
    return response, False


INFERENCE = Door(
    ["inference"],
    (
        *("name", "shape", "datatype", "data", "parameters", "inputs", "outputs"),
        *("budget", "policy", "seed", "mean_budget", "binary_data_size", "id"),
    ),
    (
        *(*ROWS, *sorted(set(KIND_OF.values())), "INT8", "FP16", "BF16", "sxe"),
        *("ordered", "sample", "panels", "label", "asked", "inf", "", "\0", "\ud800"),
    ),
    prepare_inference,
    send_inference,
    st.sampled_from(((None, b""), (0, b"")))
    | st.tuples(
        st.none() | st.integers(-3, 3) | st.text("0123456789x-", max_size=6),
        st.binary(max_size=24),
    ),
    usual=(0, b""),
)
NAMES = (
    *("resourceType", "id", "meta", "contained", "extension", "url", "identifier"),
    *("system", "value", "questionnaire", "status", "subject", "reference", "item"),
    *("linkId", "text", "answer", "valueDecimal", "valueInteger", "valueString"),
    *("valueBoolean", "valueCoding", "valueQuantity", "valueCode", "code", "unit"),
    *("derivedFrom", "parameter", "name", "resource", "_valueDecimal", "_status"),
    *("display", "comparator", "valueDate", "valueReference", "valueAttachment"),
    *("coding", "component", "entry", "effectiveDateTime", "birthDate", "gender"),
    *("card", "outcome", "overrideReason", "selections", "draftOrders", "prefetch"),
)
TEXTS = (
    *("QuestionnaireResponse", "Questionnaire", "Parameters", "Patient", "Bundle"),
    *("in-progress", "completed", "stopped", "amended", "entered-in-error", "#form"),
    *(*FEATURES, "male", "asked-declined", "", "\0"),
    *("temp-unknown", "questionnaire-response", "\ud800", "ses_" + "0" * 24, "1e999"),
    *("Observation", "final", "2026-11-01", "2093-3", "mg/dL", "http://loinc.org"),
    *(filler.url_of(name) for name in ("session", "version", "budget")),
    "http://hl7.org/fhir/StructureDefinition/data-absent-reason",
)


def prepare_forms(client: TestClient) -> list[Right]:
    """Return a first call, and later ones with answers of each kind."""
    put(client)
    begun = filler.call(client, filler.first("clinic", 60))
    more = filler.with_answer(begun, filler.asked(begun) or {}, 63)
    second = filler.call(client, more)
    later = filler.call(
        client, filler.with_answer(second, {"linkId": "sex"}, "ordered")
    )
    volunteered = {"linkId": "chol", "answer": [{"valueQuantity": {"value": 240}}]}
    wrapped = {"name": "questionnaire-response", "resource": copy.deepcopy(later)}
    refused = {"linkId": "fbs", "extension": filler.absent("refused")}
    path = "/fhir/Questionnaire/$next-question"
    return [
        Right(path, filler.first("clinic", 60)),
        Right(path, more),
        Right(path, later),
        Right(path, later | {"item": [*later["item"], volunteered]}),
        Right(path, later | {"item": [refused]}),
        Right(path, {"resourceType": "Parameters", "parameter": [wrapped]}),
    ]


def send_form(client: TestClient, message: Message) -> tuple[Any, bool]:
    headers = {"content-type": filler.MEDIA_TYPE}
    response = client.post(message.path, content=message.content, headers=headers)
    kind = "QuestionnaireResponse" if response.is_success else "OperationOutcome"
    assert filler.validated(response)["resourceType"] == kind
    return response, response.is_success


def prepare_hooks(client: TestClient) -> list[Right]:
    """Return calls of hooks, and feedback."""
    client.post("/models", json=coded()).raise_for_status()
    select = hook("order-select", context=drafts("2093-3", "34534-8"), prefetch={})
    (card,) = cards(client, hook(prefetch={}))
    reason = {"reason": card["overrideReasons"][0]}
    accepted = {"outcome": "accepted", "acceptedSuggestions": [{"id": card["uuid"]}]}
    overridden = {"outcome": "overridden", "overrideReason": reason}
    feedback = [{"card": card["uuid"], **answer} for answer in (accepted, overridden)]
    born = {"resourceType": "Patient", "birthDate": "1963-01-01", "gender": "male"}
    return [
        Right(PATH, hook(prefetch={"observations": KNOWN, "patient": born})),
        Right(PATH, hook(prefetch={"observations": SOME, "patient": born})),
        Right(PATH.replace("patient-view", "order-select"), select),
        Right(f"{PATH}/feedback", {"feedback": feedback}),
    ]


def send_hook(client: TestClient, message: Message) -> tuple[Any, bool]:
    headers = {"content-type": "application/json"}
    response = client.post(message.path, content=message.content, headers=headers)
    if response.is_success and not message.path.endswith("feedback"):
        assert isinstance(response.json()["cards"], list)
    elif not response.is_success:
        assert response.json()["status"] == response.status_code
    return response, response.is_success


FUZZED = {
    "mcp": MCP,
    "mcp by lines": MCP._replace(send=send_lines),
    "inference": INFERENCE,
    "fhir": Door(["fhir"], NAMES, TEXTS, prepare_forms, send_form),
    "cds": Door(["cds"], NAMES, TEXTS, prepare_hooks, send_hook),
}


@pytest.mark.parametrize("engine_name", ["sqlite"])
@pytest.mark.parametrize("door", FUZZED.values(), ids=FUZZED)
def test_fuzzed_messages_are_answered_and_charged_as_the_books_say(
    settings: Settings,
    applications: Applications,
    caplog: pytest.LogCaptureFixture,
    door: Door,
) -> None:
    opened = settings.model_copy(update={"doors": door.opened})
    app = applications.find(opened, is_local=True)
    more = {"raise_server_exceptions": False}
    with applications.client(app, "http://127.0.0.1", **more) as client:
        fuzz(door, app, client, caplog)

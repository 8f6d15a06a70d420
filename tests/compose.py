"""`make compose-test`: the containers, built and run for real, with a transcript.

Needs a Docker engine with Compose 2 and `curl`. It has a project of its own, whose
volumes it deletes at the end. From the environment: API_PORT (18000), PYTHON_IMAGE,
POSTGRES_IMAGE.
"""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PROJECT = "askless-test"
COMPOSE = f"docker compose --ansi never --project-name {PROJECT}"
PORT = os.environ.get("API_PORT", "18000")
ADDRESS = f"http://127.0.0.1:{PORT}"
CURL = 'curl -sS -H "Authorization: Bearer $KEY"'
HEART = Path("app/demo")
FOLDER = Path("build/compose")
LARGE = {
    "name": "large",
    "target": "y",
    "algorithm": "adaboost_bt_smoothed",
    "params": {"rounds": 2000},
    "validation": {"folds": 3},
}
MODELS = ["breast-cancer", "diabetes-progression", "heart-cleveland", "leads"]
# Where an answer is longer, the transcript shows its beginning.
SHOWN = 400
ERASED = "\x1b[2K"
READY = '"status":"ready"'
TRAINED_WITHIN_S = 600.0
DECIDED_WITHIN_S = 120.0
VENDOR = f"{PROJECT}-vendor"
# What a provider is put with; the rest is said of it.
PUT = ("fills", "request", "read", "empty", "price", "billing", "attempts")
LEAD = {
    "model": "leads",
    "budget": 1,
    "known": {"source": "customer", "role": "manager", "words": 7},
    "keys": {"domain": "amber-freight.example"},
    "run": True,
}


def run(command: str, *, is_shown: bool = True) -> str:
    """Run a command as the transcript shows it; return what it says, or end."""
    if is_shown:
        print(f"$ {command.replace(COMPOSE, 'docker compose')}", flush=True)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=ROOT,
        env=os.environ | {"API_PORT": PORT},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{command}\n{done.stdout}{done.stderr}\nfailed: {done.returncode}")
    if is_shown:
        for line in done.stdout.replace(ERASED, "").splitlines():
            print(line if len(line) <= SHOWN else f"{line[:SHOWN]} …", flush=True)
    return done.stdout


def assign(name: str, command: str) -> str:
    """Set a variable that later commands use, from what a command says."""
    os.environ[name] = run(command, is_shown=False).strip()
    print(f"$ {name}=$({command.replace(COMPOSE, 'docker compose')})", flush=True)
    return os.environ[name]


def find_key() -> str:
    """Take the key from the log of the last start, as an operator does."""
    find = f"{COMPOSE} logs --no-log-prefix api | grep --only-matching 'askl_.*'"
    key = assign("KEY", f"{find} | tail -n 1")
    expect("the start has told a key", key.startswith("askl_"))
    return key


def curl(path: str, body: Any = None, method: str = "") -> Any:
    sent = "" if body is None else f" --json '{json.dumps(body)}'{method}"
    return json.loads(run(f"{CURL} --fail-with-body{sent} {ADDRESS}{path}"))


def get(path: str) -> Any:
    """Ask without a line in the transcript."""
    return json.loads(run(f"{CURL} {ADDRESS}{path}", is_shown=False))


def train(table: Path, spec: Path) -> str:
    form = f"-F dataset=@{table} -F 'spec=<{spec}'"
    return str(json.loads(run(f"{CURL} --fail-with-body {form} {ADDRESS}/train"))["id"])


def until_trained() -> None:
    """Wait until the demo's trainings have ended; four models must be there."""
    began = time.monotonic()
    trainings = get("/train")["items"]
    ended = [until_progress(training["id"], 2.0)["state"] for training in trainings]
    names = [item["name"] for item in curl("/models")["items"]]
    expect("four models are there, each once", sorted(names) == MODELS)
    expect("each training has succeeded", ended == ["succeeded"] * len(MODELS))
    print(f"# waited for {time.monotonic() - began:.0f} s", flush=True)


def until_progress(training_id: str, share: float) -> dict[str, Any]:
    """Wait until a training is as far, or has ended."""
    deadline = time.monotonic() + TRAINED_WITHIN_S
    while time.monotonic() < deadline:
        training: dict[str, Any] = get(f"/train/{training_id}")
        if training["progress"] >= share or training["finished_at"] is not None:
            return training
        time.sleep(0.5)
    sys.exit(f"{training_id} has not come to {share} within {TRAINED_WITHIN_S} s")


def expect(what: str, is_true: bool) -> None:
    print(f"# {what}: {'yes' if is_true else 'NO'}", flush=True)
    if not is_true:
        sys.exit(f"not so: {what}")


@contextmanager
def engine() -> Iterator[None]:
    """Build and bring up the containers; take them down again whatever happens."""
    has_engine = (
        shutil.which("docker")
        and not subprocess.run(
            ["docker", "info"], capture_output=True, check=False
        ).returncode
    )
    if not has_engine:
        sys.exit(
            "compose-test needs a Docker engine, and `docker info` reaches none. "
            "Start one, or point DOCKER_HOST at it."
        )
    try:
        run(f"{COMPOSE} build --quiet")
        yield
    finally:
        run(f"{COMPOSE} logs --no-log-prefix worker | tail -n 40")
        run(f"{COMPOSE} down --volumes --remove-orphans")


def start_killed() -> None:
    """Kill the first start while it seeds, ever later; the next one finishes it."""
    run(f"{COMPOSE} up --detach --wait --quiet-pull db")
    for seconds in (1, 2, 3):
        kill = f"timeout --signal=KILL {seconds} askless migrate || true"
        run(f"{COMPOSE} run --rm -T migrate sh -c '{kill}' 2>&1 | grep Killed || true")
    run(f"{COMPOSE} up --detach --wait --quiet-pull")


def use_pages() -> None:
    """Sign in with the key, start a case and look at its question, as a browser."""
    jar, ui = FOLDER / "cookies.txt", f"{ADDRESS}/ui"
    (ROOT / FOLDER).mkdir(parents=True, exist_ok=True)
    curl = f"curl -sS --fail-with-body --cookie {jar} --cookie-jar {jar}"
    assign("BROWSER", f"echo {curl}")
    find = "grep -o 'form_token.*' | grep -m 1 -o '[0-9a-f]\\{64\\}'"
    assign("TOKEN", f"$BROWSER {ui}/sign-in | {find}")
    sent = "$BROWSER --data form_token=$TOKEN"
    run(f"{sent} --data key=$KEY {ui}/sign-in")
    home = run(f"$BROWSER {ui} | grep -o '<h[1-3].*</h[1-3]>'")
    expect("home shows four models", all(model in home for model in MODELS))
    model_id = get("/models")["items"][0]["id"]
    assign("TOKEN", f"$BROWSER {ui}/sessions/new?model={model_id} | {find}")
    run(f"{sent} --data model={model_id} --data budget=60 {ui}/sessions/new")
    (session,) = get("/predict")["items"]
    page = f"{ui}/sessions/{session['id']}"
    question = run(f"$BROWSER {page} | grep -E '<h1|class=.price'")
    expect("its question is asked", "<h1>Ask: " in question)


def decide_lead() -> None:
    """Decide a lead by the demo's vendors, as the card on home does."""
    ui = f"{ADDRESS}/ui"
    home = run(f"$BROWSER {ui} | grep -o 'Decide a lead'")
    expect("home has the card of the leads", "Decide a lead" in home)
    find = "grep -o 'form_token.*' | grep -m 1 -o '[0-9a-f]\\{64\\}'"
    assign("TOKEN", f"$BROWSER {ui} | {find}")
    run(f"$BROWSER --data form_token=$TOKEN --data lead=1 {ui}/leads")
    check_decided(get("/predict")["items"][0]["id"])


def check_decided(session_id: str) -> list[dict[str, Any]]:
    """Wait for the end of a run; its receipt and the ledger must agree."""
    deadline = time.monotonic() + DECIDED_WITHIN_S
    while get(f"/predict/{session_id}")["run"]["state"] != "ended":
        if time.monotonic() > deadline:
            sys.exit(f"{session_id} has not ended within {DECIDED_WITHIN_S} s")
        time.sleep(0.5)
    path = FOLDER / "receipt.json"
    run(f"{CURL} {ADDRESS}/predict/{session_id}/receipt > {path}")
    receipt = json.loads((ROOT / path).read_text())
    bought = [(line["provider"], line["charged"]) for line in receipt["bought"]]
    print(f"# bought: {bought}, {receipt['stop_reason']}", flush=True)
    expect("something was bought", receipt["budget"]["spent"] > 0)
    charged = sum(
        entry["amount"] for entry in get(f"/predict/{session_id}/ledger")["items"]
    )
    spent = receipt["budget"]["spent"]
    expect("it adds up to the ledger", round(charged - spent, 6) == 0)
    verify = "cat > /tmp/receipt.json && askless verify /tmp/receipt.json"
    said = run(f"{COMPOSE} exec -T api sh -c '{verify}' < {path}")
    expect("its receipt is as it was written", "as it was written" in said)
    calls: list[dict[str, Any]] = get(f"/calls?session={session_id}")["items"]
    return calls


def start_again(key: str) -> None:
    """Go down and up, and up once more: all is kept, and told again.

    Now that its model is trained, the start plays patients and prepares a case, once.
    """
    before, sessions = (get("/models"), get("/train")), get("/predict")["items"]
    run(f"{COMPOSE} down")
    run(f"{COMPOSE} up --detach --wait")
    expect("the same key is told", find_key() == key)
    expect(
        "models and trainings are those of before",
        (get("/models"), get("/train")) == before,
    )
    first, *others = get("/predict?limit=200")["items"]
    named = [str(session["client_ref"]) for session in others]
    patients = [name for name in named if name.startswith("Demo patient ")]
    expect("twelve patients are played", len(patients) == 12)
    expect(
        "the other sessions are those of before, after a first case",
        [it for it, name in zip(others, named, strict=True) if name not in patients]
        == sessions,
    )
    run(f"{COMPOSE} up --detach")
    expect(
        "no second one is prepared",
        len(get("/predict?limit=200")["items"]) == 1 + len(others),
    )
    told = run(f"{COMPOSE} logs --no-log-prefix migrate | grep 'first case'")
    expect("its address is told", first["id"] in told)
    told = run(f"{COMPOSE} logs --no-log-prefix migrate | tail -n 1")
    expect("a running one tells it too", told_line(key) in told)


def lose_buyer() -> None:
    """Kill the buyer while a call is on its way, to a vendor of ours that counts."""
    folder = FOLDER / "secrets"
    (ROOT / folder).mkdir(parents=True, exist_ok=True)
    (ROOT / folder / "VENDOR_KEY").write_text("not-a-real-key\n")
    script = "$PWD/tests/compose_vendor.py:/vendor.py:ro"
    run(
        f"{COMPOSE} run --detach --rm --no-deps --name {VENDOR} --volume {script} "
        "worker python /vendor.py"
    )
    show = "--format '{{(index .IPAM.Config 0).Subnet}}'"
    network = assign("NETWORK", f"docker network inspect {PROJECT}_backend {show}")
    os.environ["ASKLESS_PROVIDER_HOSTS"] = json.dumps([f"{VENDOR}:9009", network])
    os.environ["ASKLESS_SECRETS"] = f"./{folder}"
    run(f"{COMPOSE} up --detach --wait")
    for name, document in list_of_vendor():
        curl(f"/providers/{name}", document, " -X PUT")
    session_id = curl("/predict", LEAD)["id"]
    deadline = time.monotonic() + DECIDED_WITHIN_S
    while not get("/calls?state=sent")["items"] and time.monotonic() < deadline:
        time.sleep(0.1)
    run(f"{COMPOSE} exec -T buyer sh -c 'kill -KILL $(cat /proc/1/task/1/children)'")
    expect("it is under way", get(f"/predict/{session_id}")["run"]["state"] == "buying")
    calls = check_decided(session_id)
    asked = run(f"docker logs {VENDOR} | grep ^asked").splitlines()
    expect(
        "nothing is in doubt",
        {call["state"] for call in calls} <= {"settled", "missed"},
    )
    expect("a call was sent again", len(asked) == len(calls) + 1)
    expect("with its own key, so it is sold once", len(set(asked)) == len(calls))
    run(f"docker rm --force {VENDOR}")


def list_of_vendor() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the demo's providers, as they are put to be bought from our vendor."""
    for provider in get("/providers")["items"]:
        name = provider["name"]
        request = provider["request"] | {
            "url": f"http://{VENDOR}:9009/v1/{name}",
            "headers": {"Authorization": "Bearer {secret.VENDOR_KEY}"},
        }
        put = {field: provider[field] for field in PUT if field in provider}
        yield name, put | {"request": request, "idempotency_header": "Idempotency-Key"}


def start_without_demo() -> None:
    """Start anew without the demo: nothing of it is there."""
    run(f"{COMPOSE} down --volumes")
    run(f"ASKLESS_DEMO=0 {COMPOSE} up --detach --wait")
    told = run(f"{COMPOSE} logs --no-log-prefix api | grep -c Demo || true")
    expect("no demo is told", told == "0\n")
    tenants = run(f"{COMPOSE} exec -T api askless tenants list")
    expect("no demo is there", "demo" not in tenants)
    find_key()
    expect("no model is there", curl("/models")["items"] == [])


def told_line(key: str) -> str:
    return f"Demo: open http://localhost:{PORT}, key {key}\n"


def play_session(model_id: str) -> None:
    """Answer two questions under a budget; the ledger must say what was charged."""
    opened = curl("/predict", {"model": model_id, "budget": 60, "known": {"age": 63}})
    path = f"/predict/{opened['id']}"
    answers = [
        {"feature": "cp", "outcome": "value", "value": "asymptomatic"},
        {"feature": "chol", "outcome": "value", "value": 233},
        {"feature": "trestbps", "outcome": "refused"},
    ]
    session = curl(f"{path}/answers", {"answers": answers})
    closed = curl(f"{path}/stop", {})
    charges = curl(f"{path}/ledger")["items"]
    charged = [(charge["feature"], charge["amount"]) for charge in charges]
    expect("the ledger has both charges", charged == [("cp", 1.0), ("chol", 7.27)])
    expect("it adds up to what was spent", session["budget"]["spent"] == 8.27)
    expect("the session is closed", closed["state"] == "closed")


def restore_backup() -> None:
    """Back up while it serves, lose every volume, restore: the ledger is the same."""
    before = curl("/ledger")
    dump, uploads = FOLDER / "askless.dump", FOLDER / "uploads.tar"
    (ROOT / FOLDER).mkdir(parents=True, exist_ok=True)
    tar = f"{COMPOSE} run --rm --no-deps -T worker tar --directory /var/lib/askless"
    run(f"{COMPOSE} exec -T db pg_dump -U askless --format custom askless > {dump}")
    run(f"{tar} --create uploads > {uploads}")
    run(f"{COMPOSE} down --volumes")
    run(f"{COMPOSE} up --detach --wait db")
    restore = "pg_restore -U askless --dbname askless --exit-on-error"
    run(f"{COMPOSE} exec -T db {restore} < {dump}")
    run(f"{tar} --extract < {uploads}")
    run(f"{COMPOSE} up --detach --wait")
    expect("the ledger is that of before, and so is the key", curl("/ledger") == before)


def write_large() -> tuple[Path, Path]:
    """Write a table that is trained on for some seconds, and its spec."""
    draw = random.Random(0)
    names = [f"x{idx}" for idx in range(30)]
    lines = [",".join([*names, "y"])]
    for _ in range(20_000):
        row = [draw.gauss(0, 1) for _ in names]
        label = int(sum(row[:6]) + draw.gauss(0, 2) > 0)
        lines.append(",".join([*(f"{x:.4f}" for x in row), str(label)]))
    table, spec = FOLDER / "large.csv", FOLDER / "large.json"
    (ROOT / FOLDER).mkdir(parents=True, exist_ok=True)
    (ROOT / table).write_text("\n".join(lines) + "\n")
    (ROOT / spec).write_text(json.dumps(LARGE))
    return table, spec


def lose_worker() -> None:
    """Kill a worker in the middle: the next one ends its training, to the byte."""
    training_id = train(*write_large())
    reached = until_progress(training_id, 0.2)
    expect("it is under way", reached["finished_at"] is None)
    # Below the container's init; Docker starts another container for it.
    run(f"{COMPOSE} exec -T worker sh -c 'kill -KILL $(cat /proc/1/task/1/children)'")
    ended = until_progress(training_id, 2.0)
    events = run(f"{CURL} {ADDRESS}/train/{training_id}/events | grep ^data")
    expect("a second attempt has ended it", '"attempt":2' in events)
    exported = run(f"{CURL} {ADDRESS}/models/{ended['model_id']}/export | sha256sum")
    again = run(
        f"{COMPOSE} run --rm --no-deps -T --volume $PWD/{FOLDER}:/data:ro worker "
        "sh -c 'askless train /data/large.csv --spec /data/large.json -o /tmp/m.json "
        ">/tmp/said; sha256sum </tmp/m.json' 2>/dev/null"
    )
    expect("the model is that of a training without a break", exported == again)


def main() -> None:
    began = time.monotonic()
    with engine():
        start_killed()
        run(f"{COMPOSE} ps --all --format 'table {{{{.Service}}}}\t{{{{.Status}}}}'")
        expect("it is ready", READY in run(f"curl -sS {ADDRESS}/readyz"))
        asked = f"curl -sS --output /dev/null --write-out '%{{http_code}}' {ADDRESS}"
        expect("it asks for a key", run(f"{asked}/models") == "401")
        told = run(f"{COMPOSE} logs --no-log-prefix api | grep Demo")
        key = find_key()
        expect("address and key are told", told_line(key) in told)
        until_trained()
        use_pages()
        decide_lead()
        start_again(key)
        training_id = train(HEART / "heart.csv", HEART / "heart.json")
        model_id = until_progress(training_id, 2.0)["model_id"]
        expect("the training has made a model", model_id is not None)
        play_session(model_id)
        restore_backup()
        lose_worker()
        lose_buyer()
        start_without_demo()
    print(f"# all of it in {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()

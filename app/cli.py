"""The `askless` command."""

import csv
import io
import json
import math
import os
import signal
import socket
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
import typer
from rich.console import Console
from rich.markup import escape

from app import documents, logs
from app.ingest import read_columns
from app.memory import available_bytes
from app.settings import Settings
from app.terminal import selected, show
from app.terminal.ask import run_session, say_error, split_named
from app.terminal.demo import demo_training, load_demo, run_demo
from core.errors import CoreError, Refusal, RefusedError
from core.model.ensemble import Ensemble, PolicyName
from core.model.model import Curve, Model
from core.pipeline.train import train
from core.reader import Reader
from core.selection import SelectionLearner, SelectionMethod, SelectionParams, select
from core.session import machine
from core.session.answers import check_policy, parse_answer
from core.session.curves import evaluate
from core.session.probability import decide
from core.session.simulate import class_probabilities, walk
from core.session.state import StopRule
from core.table.check import check_rows, check_table, check_targets
from core.table.dataset import Dataset
from core.table.prices import from_micros, to_micros

app = typer.Typer(
    help="Predict from few features: train with prices, ask one feature at a time.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
)
output = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)

Data = Annotated[Path, typer.Argument(help="CSV (also .gz) or Parquet file.")]
Spec = Annotated[Path, typer.Option(help="Training spec, JSON.")]
ModelFile = Annotated[Path, typer.Argument(help="MODEL.json that `train` wrote.")]
Budget = Annotated[str, typer.Option(help="Most to spend per case, or inf.")]
Policy = Annotated[
    str | None,
    typer.Option(help="ordered, sample or cascade; by default the model's."),
]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="0: any free one.")]
Seed = Annotated[int, typer.Option(min=0, help="Of the policy sample.")]


def main() -> None:
    """Run the command; a refusal is exit code 2, one line for each broken rule."""
    try:
        app()
    except CoreError as error:
        refuse(error)


def refuse(error: CoreError) -> NoReturn:
    lines = error.refusals if isinstance(error, RefusedError) else [say_error(error)]
    for line in lines:
        errors.print(f"[red]refused[/red] {escape(str(line))}")
    sys.exit(2)


@app.command()
def demo(
    serve: Annotated[bool, typer.Option(help="Serve the API afterwards.")] = True,
    host: Host = "127.0.0.1",
    port: Port = 8000,
) -> None:
    """Train on real heart data with real prices, play a session, then serve."""
    bound = bind(host, port) if serve else None
    model = run_demo(output)
    if bound is not None:
        settings = Settings()
        migrate_database(settings.url)
        seed_model(settings, model)
        run_server(settings, bound, with_worker=True)


@app.command(name="serve")
def serve_command(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    worker: Annotated[bool, typer.Option(help="Run a worker beside the API.")] = True,
) -> None:
    """Serve the API; on the embedded database migrate it first."""
    bound = bind(host, port)
    settings = Settings()
    if settings.is_embedded:
        migrate_database(settings.url)
    run_server(settings, bound, with_worker=worker)


@app.command(name="worker")
def worker_command(
    with_parent: Annotated[
        bool, typer.Option("--with-parent", help="End when standard input does.")
    ] = False,
) -> None:
    """Take trainings from the queue until SIGTERM."""
    from app import worker

    logs.configure()
    if with_parent:
        end_with_parent()
    worker.run(Settings())


@app.command()
def migrate(
    seed_demo: Annotated[
        bool, typer.Option("--seed-demo", help="Train and store the heart model.")
    ] = False,
) -> None:
    """Bring the database to the present schema; change nothing on a current one."""
    settings = Settings()
    migrate_database(settings.url)
    if seed_demo:
        spec, dataset = load_demo()
        seed_model(settings, show.pull(demo_training(spec, dataset), "training"))
    output.print("the database is up to date")


def bind(host: str, port: int) -> socket.socket:
    from app.server import listen

    try:
        return listen(host, port)
    except OSError as error:
        found = f"{host}:{port}: {error.strerror}"
        raise RefusedError([Refusal("--port", "must be free", found)]) from None


def migrate_database(url: str) -> None:
    from app.service import operations

    operations.migrate(url)


def seed_model(settings: Settings, model: Model) -> None:
    """Store a model unless one of its name is there."""
    from app.service import models
    from app.store.engine import create_engine, transaction

    engine = create_engine(settings.url)
    with transaction(engine) as db:
        models.seed(db, model, datetime.now(UTC))
    engine.dispose()


def run_server(settings: Settings, bound: socket.socket, *, with_worker: bool) -> None:
    from app.server import serve

    host, port = bound.getsockname()[:2]
    output.print(
        f"Askless serves http://{host}:{port} (API pages: /docs). Stop: Ctrl+C"
    )
    sys.stdout.flush()
    logs.configure()
    serve(settings, bound, with_worker=with_worker)


def end_with_parent() -> None:
    """Send this process SIGTERM once its standard input is closed."""

    def wait() -> None:
        # Not through sys.stdin, whose lock would break the interpreter's exit.
        while os.read(sys.stdin.fileno(), 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="parent", daemon=True).start()


@app.command()
def check(data: Data, spec: Spec) -> None:
    """Check a table and a spec together; write nothing."""
    wanted = documents.load_spec(spec)
    columns = read_columns(data, wanted.text_columns, available_bytes())
    checked = check_table(columns, wanted, available_bytes())
    for warning in checked.warnings:
        errors.print(f"[yellow]warning[/yellow] {escape(warning)}")
    dataset = checked.dataset
    output.print(
        f"{dataset.n_samples} rows, {len(dataset.catalogue.features)} features, "
        f"classes {escape(', '.join(one.display for one in dataset.classes))}: "
        "ready to train"
    )


@app.command(name="train")
def train_command(
    data: Data,
    spec: Spec,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the model goes.")],
) -> None:
    """Train a model on a table with prices."""
    documents.check_writable(out, "--out")
    wanted = documents.load_spec(spec)
    columns = read_columns(data, wanted.text_columns, available_bytes())
    checked = check_table(columns, wanted, available_bytes())
    for warning in checked.warnings:
        errors.print(f"[yellow]warning[/yellow] {escape(warning)}")
    training = train(
        checked.dataset,
        wanted.boost,
        name=wanted.name,
        target=wanted.target,
        folds=wanted.folds,
        seed=wanted.seed,
        error_costs=checked.error_costs,
        selection=wanted.selection,
        auto=wanted.auto,
    )
    model = show.pull(training, "training")
    documents.write_whole(out, documents.model_text(model))
    output.print(escape(show.model_summary(model)))
    if model.curve is not None:
        output.print(show.curve_table(model.curve, wanted.cost_unit))
    output.print(f"wrote {escape(str(out))}")


@app.command(name="select")
def select_command(
    data: Data,
    spec: Spec,
    method: Annotated[
        str | None, typer.Option(help="fs2boost, ifs2boost or sfs; else the spec's.")
    ] = None,
    learner: Annotated[
        str | None, typer.Option(help="knn or stump; else the spec's.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Select the features that are worth knowing, one by one; write nothing."""
    wanted = documents.load_spec(spec)
    params = parse_selection(wanted.selection or SelectionParams(), method, learner)
    wanted = replace(wanted, selection=params)
    columns = read_columns(data, wanted.text_columns, available_bytes())
    checked = check_table(columns, wanted, available_bytes())
    for warning in checked.warnings:
        errors.print(f"[yellow]warning[/yellow] {escape(warning)}")
    catalogue = checked.dataset.catalogue
    found = show.pull(select(checked.dataset, params), "selection")
    if as_json:
        told = selected.selection_json(catalogue, params, found)
        sys.stdout.write(json.dumps(told) + "\n")
        return
    output.print(selected.path_table(catalogue, found))
    if found.feature_idxs:
        output.print(selected.subset_table(catalogue, found))
    output.print(escape(selected.summary(catalogue, found)))


@app.command(name="evaluate")
def evaluate_command(
    model: ModelFile,
    data: Data,
    budgets: Annotated[str, typer.Option(help="Such as 2,4,inf.")],
    policy: Policy = None,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure error and spend against budget on a labelled table."""
    stored = documents.load_model(model)
    ensemble = stored.ensemble
    limits = [parse_budget(one, "--budgets") for one in budgets.split(",")]
    chosen = parse_policy(policy, ensemble)
    text = [stored.target, *text_features(ensemble)]
    columns = read_columns(data, text, available_bytes())
    values = warned_values(columns, ensemble)
    dataset = Dataset(
        catalogue=ensemble.catalogue,
        classes=ensemble.classes,
        values=values,
        targets=check_targets(columns, ensemble, stored.target),
        weights=np.full(len(values), 1.0 / len(values)),
    )
    curve = evaluate(ensemble, dataset, limits, chosen, seed)
    if as_json:
        sys.stdout.write(json.dumps(curve_json(curve, chosen)) + "\n")
    else:
        output.print(show.curve_table(curve, ensemble.catalogue.cost_unit))


@app.command()
def predict(
    model: ModelFile,
    data: Data,
    budget: Budget,
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV to write.")],
    policy: Policy = None,
    seed: Seed = 0,
) -> None:
    """Predict every row of a table under a budget."""
    documents.check_writable(out, "--out")
    ensemble = documents.load_model(model).ensemble
    limit = parse_budget(budget, "--budget")
    chosen = parse_policy(policy, ensemble)
    columns = read_columns(data, text_features(ensemble), available_bytes())
    values = warned_values(columns, ensemble)
    walks = walk(ensemble, values, [limit], chosen, seed, needs_ranks=True)
    chances = class_probabilities(ensemble, walks, chosen)[:, 0]
    labels = decide(ensemble, chances)
    names = [feature.name for feature in ensemble.catalogue.features]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["label", "probability", "spend", "features"])
    for row, label in enumerate(labels):
        ranks = walks.ranks[row]
        asked = sorted((rank, idx) for idx, rank in enumerate(ranks) if rank > 0)
        writer.writerow(
            [
                ensemble.classes[label].label,
                f"{chances[row, label]:.6f}",
                f"{from_micros(int(walks.spent[row, 0])):.6f}".rstrip("0").rstrip("."),
                ";".join(names[idx] for _, idx in asked),
            ]
        )
    documents.write_whole(out, text.getvalue())
    output.print(f"wrote {len(labels)} rows to {escape(str(out))}")


@app.command()
def ask(
    model: ModelFile,
    budget: Budget,
    known: Annotated[
        list[str] | None, typer.Option(help="NAME=VALUE known beforehand, free.")
    ] = None,
    policy: Policy = None,
    seed: Seed = 0,
    confidence: Annotated[
        float | None, typer.Option(min=0.0, max=1.0, help="Certain enough to stop.")
    ] = None,
    max_questions: Annotated[int | None, typer.Option(min=0)] = None,
    go_on: Annotated[
        bool, typer.Option("--go-on", help="Ask on when nothing can change any more.")
    ] = False,
) -> None:
    """Work through one case in the terminal, or with piped answers."""
    stored = documents.load_model(model)
    ensemble = stored.ensemble
    state = machine.start(
        ensemble,
        parse_budget(budget, "--budget"),
        seed,
        parse_known(known or [], ensemble),
        parse_policy(policy, ensemble),
        StopRule(certain=True, confidence=confidence, max_questions=max_questions),
    )
    is_terminal = sys.stdin.isatty()
    output.print(f"{escape(stored.name)}. Type help for what can be answered.")
    run_session(
        ensemble,
        state,
        output,
        lambda text: output.input(escape(text) if is_terminal else ""),
        is_terminal=is_terminal,
        goes_on=go_on,
    )


def parse_budget(text: str, option: str) -> int | None:
    """An amount in micro-units; None for inf."""
    if text.strip().lower() in ("inf", "unlimited"):
        return None
    try:
        return to_micros(text.strip())
    except ValueError as error:
        raise RefusedError([Refusal(option, f"{error}, or inf", repr(text))]) from None


def parse_policy(text: str | None, ensemble: Ensemble) -> PolicyName:
    if text is None:
        return ensemble.policy
    return check_policy(text, ensemble, "--policy")


def parse_selection(
    params: SelectionParams, method: str | None, learner: str | None
) -> SelectionParams:
    """The spec's, with what options say instead."""
    reader = Reader()
    chosen = replace(
        params,
        method=reader.choice(
            params.method if method is None else method, "--method", SelectionMethod
        ),
        learner=reader.choice(
            params.learner if learner is None else learner,
            "--learner",
            SelectionLearner,
        ),
    )
    reader.finish()
    return chosen


def parse_known(entries: list[str], ensemble: Ensemble) -> dict[int, float]:
    known = {}
    for entry in entries:
        named = split_named(ensemble.catalogue, entry)
        if named is None:
            rule = "must be NAME=VALUE with a feature of the model"
            raise RefusedError([Refusal("--known", rule, repr(entry))])
        feature_idx, text = named
        feature = ensemble.catalogue.features[feature_idx]
        known[feature_idx] = parse_answer(feature, text)
    return known


def text_features(ensemble: Ensemble) -> list[str]:
    return [f.name for f in ensemble.catalogue.features if f.type != "number"]


def warned_values(columns: dict[str, Any], ensemble: Ensemble) -> Any:
    values, warnings = check_rows(columns, ensemble)
    for warning in warnings:
        errors.print(f"[yellow]warning[/yellow] {escape(warning)}")
    return values


def curve_json(curve: Curve, policy: PolicyName) -> dict[str, Any]:
    return {
        "policy": policy,
        "budgets": [None if b is None else from_micros(b) for b in curve.budgets],
        "error": list(curve.errors),
        "error_calibrated": list(curve.errors_calibrated),
        "mean_spend": [from_micros(math.floor(x + 0.5)) for x in curve.mean_spends],
        "max_spend": [from_micros(spend) for spend in curve.max_spends],
        "rows": curve.n_samples,
    }


if __name__ == "__main__":
    main()

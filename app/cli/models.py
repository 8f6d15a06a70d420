"""Commands that use a model: evaluate, predict, ask."""

import csv
import io
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from app.cli.aims import OneAim, parse_aim
from app.cli.options import (
    STOP,
    Budget,
    Confidence,
    Coverage,
    Data,
    Delta,
    Disagreement,
    MaxQuestions,
    ModelFile,
    Policy,
    Prices,
    Seed,
    load_priced,
    output,
    parse_budget,
    parse_policy,
    read_values,
)
from app.documents import files
from app.terminal.ask import run_session, split_named
from app.terminal.report import report_page
from app.terminal.transcript import say_certificate
from core.arrays import FloatArray, IntArray
from core.errors import Refusal, RefusedError
from core.model.ensemble import Ensemble
from core.session import machine
from core.session.answers import parse_answer
from core.session.probability import decide
from core.session.simulate import class_probabilities, walk
from core.session.state import StopRule
from core.session.walks import Walks
from core.table.prices import from_micros

Known = Annotated[
    list[str] | None, typer.Option(help="NAME=VALUE known beforehand, free.")
]
GoOn = Annotated[
    bool, typer.Option("--go-on", help="Ask on when nothing can change any more.")
]


def predict_rows(
    model: ModelFile,
    data: Data,
    budget: Budget,
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV to write.")],
    policy: Policy = None,
    seed: Seed = 0,
    prices: Prices = None,
    aim: OneAim = None,
) -> None:
    files.check_writable(out, "--out")
    ensemble = load_priced(model, prices).ensemble
    limit = parse_budget(budget, "--budget")
    chosen = parse_policy(policy, ensemble)
    _, values = read_values(data, ensemble)
    aims = [parse_aim(aim, ensemble, chosen)]
    walks = walk(ensemble, values, [limit], chosen, seed, needs_ranks=True, aims=aims)
    chances = class_probabilities(ensemble, walks)[:, 0]
    labels = decide(ensemble, chances)
    files.write_whole(out, predictions_csv(ensemble, walks, chances, labels))
    output.print(f"wrote {len(labels)} rows to {escape(str(out))}")


def report_model(
    model: ModelFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML to write.")],
    budgets: Annotated[
        str | None, typer.Option(help="Such as 2,4,inf; else some of the curve's.")
    ] = None,
) -> None:
    files.check_writable(out, "--out")
    named = [] if budgets is None else budgets.split(",")
    limits = [parse_budget(one, "--budgets") for one in named]
    files.write_whole(out, report_page(files.load_model(model), limits))
    output.print(f"wrote {escape(str(out))}")


def ask_case(
    model: ModelFile,
    budget: Budget,
    known: Known = None,
    policy: Policy = None,
    seed: Seed = 0,
    confidence: Confidence = None,
    disagreement: Disagreement = None,
    delta: Delta = STOP["delta"].default,
    coverage: Coverage = None,
    max_questions: MaxQuestions = None,
    go_on: GoOn = False,
    prices: Prices = None,
    aim: OneAim = None,
) -> None:
    stored = load_priced(model, prices)
    ensemble = stored.ensemble
    state = machine.start(
        ensemble,
        parse_budget(budget, "--budget"),
        seed,
        parse_known(known or [], ensemble),
        parse_policy(policy, ensemble),
        StopRule(True, confidence, disagreement, delta, max_questions),
        coverage=coverage,
        aim=parse_aim(aim, ensemble, policy),
    )
    is_terminal = sys.stdin.isatty()
    output.print(f"{escape(stored.name)}. Type help for what can be answered.")
    say_certificate(output, ensemble, state)
    run_session(
        ensemble,
        state,
        output,
        lambda text: output.input(escape(text) if is_terminal else ""),
        is_terminal=is_terminal,
        goes_on=go_on,
    )


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


def predictions_csv(
    ensemble: Ensemble, walks: Walks, chances: FloatArray, labels: IntArray
) -> str:
    """Return label, probability, spend and the features asked, row by row."""
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
    return text.getvalue()

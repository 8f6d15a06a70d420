"""The command `ask`: one case in the terminal."""

import sys
from typing import Annotated

import typer
from rich.markup import escape

from askless.app.batch.budgets import parse_budget
from askless.app.cli.aims import OneAim, parse_aim
from askless.app.cli.options import (
    STOP,
    AcceptUnseen,
    Budget,
    Confidence,
    Coverage,
    Delta,
    Disagreement,
    MaxQuestions,
    ModelFile,
    Policy,
    Prices,
    Seed,
    Spending,
    load_priced_model,
    output,
    parse_policy,
)
from askless.app.terminal.ask import Conversation, run_session
from askless.app.terminal.lines import read_answer, refuse_unseen, split_named
from askless.app.terminal.transcript import print_certificate
from askless.app.words.own_questions import describe_out_of_force
from askless.core.errors import Refusal, RefusedError, nearest_hint
from askless.core.model.ensemble import Ensemble
from askless.core.session import machine
from askless.core.session.state import StopRule

Known = Annotated[
    list[str] | None, typer.Option(help="NAME=VALUE known beforehand, free.")
]
GoOn = Annotated[
    bool, typer.Option("--go-on", help="Ask on when nothing can change any more.")
]

Explore = Annotated[
    float,
    typer.Option(
        help="Chance before each question that another one, drawn at random by the "
        "seed, is asked: once at most."
    ),
]


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
    accept_unseen: AcceptUnseen = False,
    explore: Explore = 0.0,
    spend: Spending = "worthwhile",
) -> None:
    stored = load_priced_model(model, prices)
    ensemble = stored.ensemble
    state = machine.start(
        ensemble,
        parse_budget(budget, "--budget"),
        seed,
        parse_known(known or [], ensemble, accepts_unseen=accept_unseen),
        parse_policy(policy, ensemble),
        StopRule(True, confidence, disagreement, delta, max_questions, spend),
        coverage=coverage,
        aim=parse_aim(aim, ensemble, policy),
        explore=explore,
    )
    is_terminal = sys.stdin.isatty()
    output.print(f"{escape(stored.name)}. Type help for what can be answered.")
    named = describe_out_of_force(ensemble, state)
    if named is not None:
        output.print(named)
    print_certificate(output, ensemble, state)
    run_session(
        Conversation(ensemble, state, output, is_terminal, go_on, accept_unseen),
        lambda text: output.input(escape(text) if is_terminal else ""),
    )


def parse_known(
    entries: list[str], ensemble: Ensemble, *, accepts_unseen: bool = False
) -> dict[int, float]:
    known = {}
    for entry in entries:
        named = split_named(ensemble.catalogue, entry)
        if named is None or named.is_insistent:
            name = entry.partition("=")[0]
            hint = nearest_hint(name, ensemble.catalogue.feature_idxs)
            rule = f"must be NAME=VALUE with a feature of the model{hint}"
            raise RefusedError([Refusal("--known", rule, repr(entry))])
        answer = read_answer(ensemble, named.feature_idx, named.text)
        if answer.value is None:
            rule = "must be NAME=VALUE: what is not known is left out"
            raise RefusedError([Refusal("--known", rule, repr(entry))])
        if not accepts_unseen:
            refuse_unseen(ensemble, answer, named.text)
        known[answer.feature_idx] = answer.value
    return known

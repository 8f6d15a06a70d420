"""The command `show`: a model explained."""

import json
import sys
from typing import Annotated

import typer
from rich.markup import escape

from askless.app.batch.budgets import parse_budget
from askless.app.cli.options import ModelFile, Policy, output, parse_policy
from askless.app.documents import files
from askless.app.terminal import show
from askless.app.terminal.explained import (
    build_budget_table,
    build_purchase_table,
    list_purchases,
    print_effects,
    to_json,
)
from askless.app.words.facts import describe_empty_answers
from askless.core.errors import Refusal, RefusedError, nearest_hint
from askless.core.simulation.effects import compute_effects

OneBudget = Annotated[
    str | None,
    typer.Option(help="What this budget buys, in order; else from which budget what."),
]
FeatureName = Annotated[
    str | None, typer.Option("--feature", help="Only this one, with all its values.")
]


def show_model(
    model: ModelFile,
    budget: OneBudget = None,
    feature: FeatureName = None,
    policy: Policy = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    stored = files.load_model(model)
    ensemble = stored.ensemble
    limit = None if budget is None else parse_budget(budget, "--budget")
    named = None
    if feature is not None:
        named = ensemble.catalogue.feature_idxs.get(feature)
        if named is None:
            known = ensemble.catalogue.feature_idxs
            rule = f"must be a feature of the model{nearest_hint(feature, known)}"
            raise RefusedError([Refusal("--feature", rule, repr(feature))])
    effects = compute_effects(ensemble, limit, parse_policy(policy, ensemble))
    purchases = list_purchases(stored, limit)
    if as_json:
        document = to_json(stored, purchases, effects)
        sys.stdout.write(json.dumps(document) + "\n")
        return
    if named is not None and named not in [
        effect.feature_idx for effect in effects.features
    ]:
        rule = "is not bought: nothing to show"
        raise RefusedError([Refusal("--feature", rule, repr(feature))])
    output.print(escape(show.summarise_model(stored)))
    if named is None:
        if budget is not None:
            output.print(build_purchase_table(stored, limit, purchases))
        else:
            output.print(build_budget_table(stored))
            sessions = show.build_sessions_table(stored)
            if sessions is not None:
                output.print(sessions)
            empty = describe_empty_answers(stored)
            if empty is not None:
                output.print(f"Empty answers: {escape(empty)}")
    print_effects(output, ensemble, effects, named)

"""What each answer does to a prediction, as charts and a table of a page."""

from collections.abc import Sequence

import numpy as np

from app.terminal.html import html_figures, html_notes, html_table
from app.terminal.transcript import say_value
from app.words.charts import Effect, effect_chart
from app.words.wording import percent
from core.model.ensemble import Ensemble
from core.session.policies import POLICIES, default_policy
from core.simulation.effects import FeatureEffect, find_effects

# Features that are drawn, classes in a chart, answers in a table.
N_FEATURES, N_CLASSES, N_ANSWERS = 12, 6, 9


def effects_part(ensemble: Ensemble) -> list[str]:
    """Return the effects of the features that are bought first without a budget."""
    found = find_effects(ensemble)
    shown = [one for one in found.features if one.values.size > 1][:N_FEATURES]
    if not shown:
        return []
    told = [*range(len(ensemble.classes))][:N_CLASSES]
    if ensemble.n_outputs == 1:
        told = [1]
    names = [ensemble.classes[idx].display for idx in told]
    has_votes = POLICIES[default_policy(ensemble, None, None)].has_votes
    charts = [
        effect_chart(make_effect(ensemble, one, told, has_votes), names)
        for one in shown
    ]
    rows = [row for one in shown for row in list_answers(ensemble, one, told)]
    head = "feature", "answer", *(f"chance of {one}" for one in names)
    return [
        "<h2>What each answer does</h2>",
        html_notes(explain_effects(ensemble, found.typical[told].tolist(), names)),
        html_figures(charts),
        html_table(head, rows, "What each answer does"),
    ]


def explain_effects(
    ensemble: Ensemble, typical: Sequence[float], names: Sequence[str]
) -> list[str]:
    """Return how the charts are to be read."""
    chances = ", ".join(
        f"{name} {percent(chance)}" for name, chance in zip(names, typical, strict=True)
    )
    lines = [
        f"One answer changes, all others are middle ones; with all of these: {chances}."
    ]
    lines.append("Dashed: without an answer. Other cases may differ.")
    left = len(ensemble.classes) - len(names)
    if left and ensemble.n_outputs > 1:
        lines.append(f"{left} more classes are not drawn.")
    return lines


def make_effect(
    ensemble: Ensemble, one: FeatureEffect, told: Sequence[int], has_votes: bool
) -> Effect:
    """Return what is drawn of a feature; its last value is "not available"."""
    feature = ensemble.catalogue.features[one.feature_idx]
    values = one.values[:-1].tolist()
    answers = [say_value(ensemble, one.feature_idx, value) for value in values]
    unit = f" ({feature.unit})" if feature.unit else ""
    return Effect(
        title=feature.title + unit,
        answers=values if feature.type == "number" else answers,
        chances=one.chances[:-1, told],
        without=one.chances[-1, told],
        has_steps=has_votes,
    )


def list_answers(
    ensemble: Ensemble, one: FeatureEffect, told: Sequence[int]
) -> list[tuple[str, ...]]:
    """Return some answers, evenly spaced, with their chances."""
    last = one.values.size - 1
    places = np.unique(np.linspace(0, last - 1, N_ANSWERS).round().astype(int))
    title = ensemble.catalogue.features[one.feature_idx].title
    rows = []
    for place in [*places.tolist(), last]:
        answer = "not available"
        if place < last:
            answer = say_value(ensemble, one.feature_idx, float(one.values[place]))
        chances = (percent(float(one.chances[place, idx])) for idx in told)
        rows.append((title if place == 0 else "", answer, *chances))
    return rows

"""Charts and a table of what each answer does to a prediction."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from askless.app.words.charts.charts import Effect, draw_effect
from askless.app.words.figures import Cells
from askless.app.words.wording import describe_value, percent
from askless.core.model.ensemble import Ensemble
from askless.core.session.policies import POLICIES, default_policy
from askless.core.simulation.effects import FeatureEffect, compute_effects

# Features that are drawn, classes in a chart, answers in a table.
N_FEATURES, N_CLASSES, N_ANSWERS = 12, 6, 9


class EffectsWithTable(NamedTuple):
    """Charts of effects, their explanation, and the same numbers as a table."""

    svgs: Sequence[str]
    notes: Sequence[str]
    cells: Cells


def show_effects(ensemble: Ensemble) -> EffectsWithTable | None:
    """Draw the effects of the features bought first; None if no feature is bought."""
    effects = compute_effects(ensemble)
    drawn = [effect for effect in effects.features if effect.values.size > 1][
        :N_FEATURES
    ]
    if not drawn:
        return None
    class_idxs = [*range(len(ensemble.classes))][:N_CLASSES]
    if ensemble.n_outputs == 1:
        class_idxs = [1]
    names = [ensemble.classes[idx].display for idx in class_idxs]
    has_votes = POLICIES[default_policy(ensemble, None, None)].has_votes
    charts = [
        draw_effect(make_effect(ensemble, effect, class_idxs, has_votes), names)
        for effect in drawn
    ]
    rows = [
        row for effect in drawn for row in list_answers(ensemble, effect, class_idxs)
    ]
    head = "Feature", "Answer", *(f"Chance of {name}" for name in names)
    notes = explain_effects(ensemble, effects.typical[class_idxs].tolist(), names)
    return EffectsWithTable(charts, notes, (head, rows))


def explain_effects(
    ensemble: Ensemble, typical: Sequence[float], names: Sequence[str]
) -> list[str]:
    """Return sentences that explain how to read the charts."""
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
    ensemble: Ensemble,
    effect: FeatureEffect,
    class_idxs: Sequence[int],
    has_votes: bool,
) -> Effect:
    """Return the drawn effect of a feature; its last value is "not available"."""
    feature = ensemble.catalogue.features[effect.feature_idx]
    values = effect.values[:-1].tolist()
    answers = [describe_value(feature, value) for value in values]
    unit = f" ({feature.unit})" if feature.unit else ""
    return Effect(
        title=feature.title + unit,
        answers=values if feature.type == "number" else answers,
        chances=effect.chances[:-1, class_idxs],
        without=effect.chances[-1, class_idxs],
        has_steps=has_votes,
    )


def list_answers(
    ensemble: Ensemble, effect: FeatureEffect, class_idxs: Sequence[int]
) -> list[tuple[str, ...]]:
    """Return answers with their chances: all of a few values, else some of them."""
    last = effect.values.size - 1
    feature = ensemble.catalogue.features[effect.feature_idx]
    n_listed = last if feature.values else N_ANSWERS
    places = np.unique(np.linspace(0, last - 1, n_listed).round().astype(int))
    rows = []
    for place in [*places.tolist(), last]:
        answer = "not available"
        if place < last:
            answer = describe_value(feature, float(effect.values[place]))
        chances = (percent(float(effect.chances[place, idx])) for idx in class_idxs)
        rows.append((feature.title, answer, *chances))
    return rows

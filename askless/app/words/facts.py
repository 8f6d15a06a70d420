"""A model in words: its card, its features, its limits of use."""

from typing import NamedTuple

from askless.app.documents.model.card import read_empty_answers, read_learnt
from askless.app.words.figures import Cells
from askless.app.words.own_questions import describe_own_questions
from askless.app.words.savings import describe_knee
from askless.app.words.wording import describe_value, money, percent, percent_range
from askless.core.catalogue.catalogue import Feature
from askless.core.catalogue.prices import to_micros
from askless.core.model.ensemble import Ensemble
from askless.core.model.model import Model

# Fewer rows in a class than these say little of it.
FEW_ROWS = 100

# Offers that come back empty in a card's line.
MOST_OFFERS = 8
# More classes than these are counted and not joined by "or".
MOST_CLASSES = 4


def name_classes(ensemble: Ensemble) -> str:
    """Return a model's classes in words."""
    names = [label.display for label in ensemble.classes]
    if len(names) <= MOST_CLASSES:
        return " or ".join(names)
    return f"one of {len(names)} classes: {', '.join(names)}"


def describe_target(model: Model) -> str:
    """Return what a model predicts: its classes, and what their column is called."""
    names = name_classes(model.ensemble)
    called = model.target
    if model.target_label:
        called = f"{model.target_label}, column {model.target}"
    return f"{names} ({called})" if called else names


def list_facts(model: Model) -> list[tuple[str, str]]:
    """Return the lines of a model's card that everybody reads: a term and its words."""
    ensemble, card = model.ensemble, model.card
    facts = [("Predicts", describe_target(model))]
    if isinstance(card.get("note"), str):
        facts.append(("Note", str(card["note"])))
    rows, by_class = card.get("rows"), count_rows_by_class(model)
    if isinstance(rows, int):
        facts.append(("Rows it was trained on", f"{rows:,}"))
    facts += [
        (f"of class {label.display}", f"{by_class[label.label]:,}")
        for label in ensemble.classes
        if label.label in by_class
    ]
    learnt = describe_learnt(model)
    if learnt is not None:
        facts.append(("Learnt since", learnt))
    n_features = len(ensemble.catalogue.features)
    facts.append(
        ("Features it reads", f"{int(ensemble.is_used.sum())} of {n_features}")
    )
    more = {
        "Empty answers": describe_empty_answers(model),
        "Questions": describe_own_questions(model),
        "Worth spending": describe_knee(model),
    }
    return facts + [(term, words) for term, words in more.items() if words]


def describe_learnt(model: Model) -> str | None:
    """Return how many rows were learnt since training, and how often it was wrong."""
    learnt = read_learnt(model)
    if learnt is None:
        return None
    rows = "1 row" if learnt.rows == 1 else f"{learnt.rows:,} rows"
    words = (
        f"{rows}, {percent(learnt.error)} of them predicted wrongly before they were "
        f"learnt (95 % interval {percent_range(*learnt.interval)} %); of late "
        f"{percent(learnt.recent_error)} ({percent_range(*learnt.recent_interval)} %)"
    )
    if not learnt.budgets:
        return words
    unit = model.ensemble.catalogue.cost_unit
    limits = (measured.budget for measured in learnt.budgets)
    named = (
        "no limit" if limit is None else money(to_micros(limit), unit)
        for limit in limits
    )
    pairs = zip(learnt.budgets, named, strict=True)
    under = (
        f"{percent(measured.recent_error)} under {name}" for measured, name in pairs
    )
    return f"{words}; sessions of late {', '.join(under)}"


def list_settings(model: Model) -> list[tuple[str, str]]:
    """Return the lines of a model's card on how it was trained."""
    ensemble, card = model.ensemble, model.card
    facts: list[tuple[str, str]] = []
    if isinstance(card.get("missing_cells"), int):
        facts.append(("Cells without a value", f"{card['missing_cells']:,}"))
    if isinstance(card.get("folds"), int):
        facts.append(("Tested by", f"{card['folds']}-fold cross-validation"))
    facts.append(("Algorithm", ensemble.algorithm))
    facts.append(("Weak hypotheses", f"{len(ensemble.hypotheses):,}"))
    if ensemble.panels is not None:
        facts.append(("Panels", f"{len(ensemble.panels.panels):,}"))
    facts.append(("Seed", str(card.get("seed", model.params.get("seed", "not told")))))
    return facts


class CommonestClass(NamedTuple):
    """The class of most rows, and the error of always predicting it."""

    display: str
    error: float


def find_commonest(model: Model) -> CommonestClass | None:
    """Return the commonest class of a training; None: its card does not tell."""
    by_class = count_rows_by_class(model)
    n_rows = sum(by_class.values())
    if not n_rows:
        return None
    label = max(by_class, key=lambda name: by_class[name])
    displays = {
        class_label.label: class_label.display for class_label in model.ensemble.classes
    }
    return CommonestClass(displays.get(label, label), 1.0 - by_class[label] / n_rows)


def describe_commonest(model: Model) -> list[str]:
    """Return a sentence where no budget errs less than always the commonest class."""
    commonest, curve = find_commonest(model), model.curve
    if commonest is None or curve is None or model.ensemble.error_costs is not None:
        return []
    if min(curve.errors_calibrated) < commonest.error:
        return []
    return [
        f"No budget errs less than always predicting {commonest.display} "
        f"({100 * commonest.error:.1f} %). Look at AUROC and log-loss: they tell what "
        "the chances are worth."
    ]


def describe_empty_answers(model: Model) -> str | None:
    """Return how often offers come back empty, the dearest first; None: unknown."""
    catalogue = model.ensemble.catalogue
    titles = {feature.name: feature.title for feature in catalogue.features}
    offers = [offer for offer in read_empty_answers(model) if offer.share > 0]
    offers.sort(key=lambda offer: (-offer.cost, -offer.share))
    words = []
    for offer in offers[:MOST_OFFERS]:
        costs = "nothing"
        if offer.billing == "per_call":
            cost = to_micros(round(offer.cost, 6))
            costs = f"{money(cost, catalogue.cost_unit)} a case"
        # The other offers are groups.
        name = titles.get(offer.offer, offer.offer)
        words.append(f"{name} in {percent(offer.share)}, which costs {costs}")
    n_more = len(offers) - len(words)
    words += [f"and {n_more} more"] if n_more else []
    return "; ".join(words) or None


def count_rows_by_class(model: Model) -> dict[str, int]:
    """Return the number of training rows by class; {} where the card has none."""
    counts = model.card.get("rows_by_class")
    if not isinstance(counts, dict):
        return {}
    return {str(label): n for label, n in counts.items() if isinstance(n, int)}


def bracket(unit: str) -> str:
    return f"({unit})" if unit else ""


class FeatureTables(NamedTuple):
    """Features in rows: those that a model reads, most asked first, and the rest."""

    read: Cells
    unread: Cells


def list_features(model: Model) -> FeatureTables:
    """Return the features with the values that training saw, their costs and groups."""
    catalogue, is_used = model.ensemble.catalogue, model.ensemble.is_used.tolist()
    groups = {group.name: group for group in catalogue.groups}
    rows: list[tuple[str, ...]] = []
    for feature in catalogue.features:
        cost, shared = money(feature.cost), ""
        group = groups.get(feature.group or "")
        if group is not None:
            named = group.label or group.name
            if group.price is not None:
                cost, shared = "–", f"{named}, all for {money(group.price)}"
            else:
                shared = f"{named}, once {money(group.fee)}"
        rows.append((feature.title, describe_seen(feature), cost, shared))
    head: tuple[str, ...] = (
        "Feature",
        "Values",
        f"Cost {bracket(catalogue.cost_unit)}".strip(),
    )
    if groups:
        head = (*head, "Group")
    else:
        rows = [cells[:-1] for cells in rows]
    order = order_by_use(model)
    return FeatureTables(
        (head, [rows[idx] for idx in order if is_used[idx]]),
        (head, [rows[idx] for idx in order if not is_used[idx]]),
    )


def order_by_use(model: Model) -> list[int]:
    """Return the features' positions, those asked in most cases first."""
    curve, places = model.curve, list(range(len(model.ensemble.catalogue.features)))
    if curve is None or curve.purchases is None:
        return places
    shares = curve.purchases[-1]
    return sorted(places, key=lambda idx: -shares[idx])


def describe_seen(feature: Feature) -> str:
    """Return the values of a feature that training saw, in words."""
    if feature.type == "category":
        return ", ".join(feature.shown_categories)
    if feature.type == "boolean":
        return "yes or no"
    if feature.value_range is None:
        return f"a number {bracket(feature.unit or '')}".strip()
    if feature.values:
        *others, last = (describe_value(feature, value) for value in feature.values)
        unit = f" {feature.unit}"
        return ", ".join([*(other.removesuffix(unit) for other in others), last])
    low, high = (describe_value(feature, value) for value in feature.value_range)
    return f"{low.removesuffix(f' {feature.unit}')} to {high}"


def list_cautions(model: Model) -> list[str]:
    """Return sentences about what the model can't be trusted with."""
    limits: list[str] = []
    curve = model.curve
    if curve is None and read_learnt(model) is not None:
        limits.append(
            "It has no curve: that of its training was of the version before. What is "
            "known of its error comes from the rows that it has learnt, each predicted "
            "before. Measure it on a table to know more."
        )
    elif curve is None:
        limits.append(
            "It was trained without validation: nobody knows how often it errs."
        )
    else:
        low, high = curve.intervals[-1]
        limits.append(
            f"Its error was measured on {curve.n_samples:,} rows of the table that it "
            f"was trained on. On other rows of the kind it lies, without a budget, "
            f"within {percent_range(low, high)} % with a chance of 95 %. At another "
            "place or time, with other people or other instruments, it may be larger."
        )
    few = [label for label, n in count_rows_by_class(model).items() if n < FEW_ROWS]
    names = [label.display for label in model.ensemble.classes if label.label in few]
    if names:
        listed = " and ".join(names)
        limits.append(f"Training saw fewer than {FEW_ROWS} rows of: {listed}.")
    if any(feature.value_range for feature in model.ensemble.catalogue.features):
        limits.append(
            "Of a value outside the range that training saw, it knows nothing; a "
            "session warns of it."
        )
    limits.append(
        "It finds what goes together, not what causes what. Prices are those it was "
        "trained with, unless a session names others."
    )
    return limits

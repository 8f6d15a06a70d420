"""Models and session states to and from JSON-able values, with a format version.

What comes in is trusted with nothing: every index is checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, get_args

from core.nodes import MAX_FLOAT, Node
from core.rules import RULES
from core.types import (
    Answer,
    Calibration,
    Catalogue,
    Charge,
    ClassLabel,
    Curve,
    Ensemble,
    Feature,
    FeatureType,
    Group,
    Memory,
    Model,
    Outcome,
    PolicyName,
    Round,
    State,
    StopReason,
    StopRule,
    Stump,
)

MODEL_FORMAT = "askless-model"
STATE_FORMAT = "askless-state"
VERSION = 1

Json = dict[str, Any]


def model_to_json(model: Model) -> Json:
    """Give a model as JSON-able values; amounts of money in micro-units."""
    ensemble = model.ensemble
    catalogue = ensemble.catalogue
    return {
        "format": MODEL_FORMAT,
        "version": VERSION,
        "name": model.name,
        "target": model.target,
        "algorithm": ensemble.algorithm,
        "policy": ensemble.policy,
        "params": dict(model.params),
        "cost_unit": catalogue.cost_unit,
        "features": [
            {
                "name": feature.name,
                "type": feature.type,
                "cost_micros": feature.cost,
                "label": feature.label,
                "unit": feature.unit,
                "group": feature.group,
                "categories": list(feature.categories),
            }
            for feature in catalogue.features
        ],
        "groups": [
            {
                "name": group.name,
                "fee_micros": group.fee,
                "price_micros": group.price,
                "label": group.label,
            }
            for group in catalogue.groups
        ],
        "classes": [
            {"label": one.label, "display": one.display} for one in ensemble.classes
        ],
        "priors": list(ensemble.priors),
        "stumps": [
            {"feature": h.feature_idx, "cut": h.cut, "vote": h.vote, "alpha": alpha}
            for h, alpha in zip(ensemble.hypotheses, ensemble.alphas, strict=True)
        ],
        "calibrations": {
            policy: {
                "offset": one.offset,
                "drift": one.drift,
                "slope_unknown": one.slope_unknown,
                "slope_known": one.slope_known,
            }
            for policy, one in ensemble.calibrations
        },
        "error_costs": None
        if ensemble.error_costs is None
        else [list(row) for row in ensemble.error_costs],
        "curve": None if model.curve is None else curve_to_json(model.curve),
        "card": dict(model.card),
    }


def curve_to_json(curve: Curve) -> Json:
    """Give a curve as JSON-able values."""
    return {
        "budgets_micros": list(curve.budgets),
        "errors": list(curve.errors),
        "errors_calibrated": list(curve.errors_calibrated),
        "mean_spends_micros": list(curve.mean_spends),
        "max_spends_micros": list(curve.max_spends),
        "rows": curve.n_samples,
    }


def model_from_json(raw: object) -> Model:
    """Read a model.

    Raises
    ------
    RefusedError
        Naming the first field that is missing, of the wrong type or out of range.
    """
    top = Node(raw, "model")
    top.expect_format(MODEL_FORMAT, VERSION)
    groups = tuple(read_group(node) for node in top.nodes("groups"))
    names = {group.name for group in groups}
    features = tuple(read_feature(node, names) for node in top.nodes("features"))
    top.require(bool(features), "features", "must not be empty")
    top.require(
        len({feature.name for feature in features}) == len(features),
        "features",
        "names must be unique",
    )
    top.require(len(names) == len(groups), "groups", "names must be unique")
    bundles = {group.name for group in groups if group.is_bundle}
    top.require(
        all(one.cost == 0 for one in features if one.group in bundles),
        "features",
        "a member of a bundle must have no cost of its own",
    )
    top.require(
        names == {feature.group for feature in features} - {None},
        "groups",
        "must each have a member",
    )
    classes = tuple(
        ClassLabel(node.text("label"), node.text("display"))
        for node in top.nodes("classes")
    )
    top.require(len(classes) == 2, "classes", "must be two")
    priors = tuple(top.numbers("priors", 0, 1))
    top.require(
        len(priors) == 2 and math.isclose(sum(priors), 1, abs_tol=1e-6),
        "priors",
        "must be two that sum to 1",
    )
    stumps = top.nodes("stumps")
    algorithm = top.choice("algorithm", tuple(RULES))
    ensemble = Ensemble(
        catalogue=Catalogue(features, groups, top.text("cost_unit")),
        classes=classes,
        hypotheses=tuple(read_stump(node, features) for node in stumps),
        alphas=tuple(node.number("alpha", 1e-300, 1e6) for node in stumps),
        priors=priors,
        algorithm=algorithm,
        policy=top.choice("policy", get_args(PolicyName)),
        calibrations=read_calibrations(top.node("calibrations")),
        error_costs=read_error_costs(top),
    )
    curve = None if top.get("curve") is None else read_curve(top.node("curve"))
    return Model(
        name=top.text("name"),
        ensemble=ensemble,
        target=top.text("target"),
        params=dict(top.node("params").raw),
        curve=curve,
        card=dict(top.node("card").raw),
    )


def read_group(node: Node) -> Group:
    """Read a group."""
    price = None if node.get("price_micros") is None else node.micros("price_micros")
    return Group(
        node.text("name"), node.micros("fee_micros"), price, node.maybe("label")
    )


def read_feature(node: Node, groups: set[str]) -> Feature:
    """Read a feature."""
    group = node.maybe("group")
    node.require(group is None or group in groups, "group", "must be a known group")
    categories = tuple(node.texts("categories"))
    node.require(
        list(categories) == sorted(set(categories)) and len(categories) <= 254,
        "categories",
        "must be at most 254, sorted and unique",
    )
    return Feature(
        name=node.text("name"),
        type=node.choice("type", get_args(FeatureType)),
        cost=node.micros("cost_micros"),
        label=node.maybe("label"),
        unit=node.maybe("unit"),
        group=group,
        categories=categories,
    )


def read_stump(node: Node, features: Sequence[Feature]) -> Stump:
    """Read a stump; its feature and its category must exist."""
    feature_idx = node.integer("feature", 0, len(features) - 1)
    feature = features[feature_idx]
    is_category = feature.type == "category"
    cut = node.number("cut", -MAX_FLOAT, MAX_FLOAT)
    if is_category:
        cut = float(node.integer("cut", 0, len(feature.categories) - 1))
    vote = node.integer("vote", -1, 1)
    node.require(vote != 0, "vote", "must be -1 or 1")
    return Stump(feature_idx, cut, vote, is_category)


def read_calibrations(
    node: Node,
) -> tuple[tuple[PolicyName, Calibration], ...]:
    """Read the calibration of each policy that has one."""
    policies: tuple[PolicyName, ...] = get_args(PolicyName)
    return tuple(
        (
            policy,
            Calibration(
                offset=one.number("offset", -1e6, 1e6),
                drift=one.number("drift", -1e6, 1e6),
                slope_unknown=one.number("slope_unknown", 0, 1e6),
                slope_known=one.number("slope_known", 0, 1e6),
            ),
        )
        for policy in policies
        if node.get(policy) is not None
        for one in [node.node(policy)]
    )


def read_error_costs(top: Node) -> tuple[tuple[float, ...], ...] | None:
    """Read the two by two costs of errors, where given."""
    rows = top.get("error_costs")
    if rows is None:
        return None
    costs = tuple(
        tuple(Node({"row": row}, "error_costs").numbers("row", 0, 1e12))
        for row in top.items("error_costs")
    )
    is_square = len(costs) == 2 and all(len(row) == 2 for row in costs)
    top.require(is_square, "error_costs", "must be two rows of two numbers")
    return costs


def read_curve(node: Node) -> Curve:
    """Read a curve; its lists must be of one length."""
    budgets = tuple(
        None if budget is None else Node({"b": budget}, "curve").micros("b")
        for budget in node.items("budgets_micros")
    )
    curve = Curve(
        budgets=budgets,
        errors=tuple(node.numbers("errors", 0, 1 + 1e-9)),
        errors_calibrated=tuple(node.numbers("errors_calibrated", 0, 1 + 1e-9)),
        mean_spends=tuple(node.numbers("mean_spends_micros", 0, 1e18)),
        max_spends=tuple(int(x) for x in node.numbers("max_spends_micros", 0, 1e18)),
        n_samples=node.integer("rows", 0, 2**53),
    )
    lengths = {
        len(curve.budgets),
        len(curve.errors),
        len(curve.errors_calibrated),
        len(curve.mean_spends),
        len(curve.max_spends),
    }
    node.require(len(lengths) == 1, "budgets_micros", "lists must be of one length")
    return curve


def state_to_json(state: State, catalogue: Catalogue) -> Json:
    """Give a session's state as JSON-able values; only features with an answer."""
    names = [feature.name for feature in catalogue.features]
    return {
        "format": STATE_FORMAT,
        "version": VERSION,
        "policy": state.policy,
        "budget_micros": state.budget,
        "seed": state.seed,
        "stream": state.stream,
        "stop": {
            "certain": state.stop.certain,
            "confidence": state.stop.confidence,
            "max_questions": state.stop.max_questions,
        },
        "features": {
            names[idx]: {
                "outcome": outcome,
                "value": None if math.isnan(state.values[idx]) else state.values[idx],
            }
            for idx, outcome in enumerate(state.outcomes)
            if outcome is not None
        },
        "known": [names[idx] for idx in state.known],
        "charges": [
            {"feature": names[charge.feature_idx], "amount_micros": charge.amount}
            for charge in state.charges
        ],
        "history": [
            {
                "feature": names[answer.feature_idx],
                "outcome": answer.outcome,
                "value": answer.value,
                "charged_micros": answer.charged,
            }
            for answer in state.history
        ],
        "n_draws": state.n_draws,
        "next_feature": None
        if state.next_feature_idx is None
        else names[state.next_feature_idx],
        "stop_reason": state.stop_reason,
        "is_ended": state.is_ended,
        "is_decided": state.is_decided,
    }


def state_from_json(raw: object, catalogue: Catalogue) -> State:
    """Read a session's state over a catalogue.

    Raises
    ------
    RefusedError
        Naming the first field that is missing, of the wrong type or out of range.
    """
    top = Node(raw, "state")
    top.expect_format(STATE_FORMAT, VERSION)
    n_features = len(catalogue.features)
    outcomes: list[Any] = [None] * n_features
    values = [math.nan] * n_features
    known = top.node("features")
    for name in known.raw:
        idx = feature_position(known, str(name), catalogue)
        entry = known.node(str(name))
        outcomes[idx] = entry.choice("outcome", ("known", *get_args(Outcome)))
        values[idx] = read_value(entry, math.nan)
    stop = top.node("stop")
    next_feature = top.maybe("next_feature")
    reason = top.maybe("stop_reason")
    top.require(
        reason is None or reason in get_args(StopReason), "stop_reason", "is unknown"
    )
    confidence, most = stop.get("confidence"), stop.get("max_questions")
    return State(
        policy=top.choice("policy", get_args(PolicyName)),
        budget=None
        if top.get("budget_micros") is None
        else top.micros("budget_micros"),
        seed=top.integer("seed", 0, 2**64 - 1),
        stream=top.integer("stream", 0, 2**64 - 1),
        stop=StopRule(
            certain=stop.flag("certain"),
            confidence=None if confidence is None else stop.number("confidence", 0, 1),
            max_questions=None
            if most is None
            else stop.integer("max_questions", 0, 10**9),
        ),
        outcomes=tuple(outcomes),
        values=tuple(values),
        known=tuple(
            feature_position(top, name, catalogue) for name in top.texts("known")
        ),
        charges=tuple(
            Charge(
                feature_position(node, node.text("feature"), catalogue),
                node.micros("amount_micros"),
            )
            for node in top.nodes("charges")
        ),
        history=tuple(
            Answer(
                feature_position(node, node.text("feature"), catalogue),
                node.choice("outcome", get_args(Outcome)),
                read_value(node, None),
                node.micros("charged_micros"),
            )
            for node in top.nodes("history")
        ),
        n_draws=top.integer("n_draws", 0, 2**32),
        next_feature_idx=None
        if next_feature is None
        else feature_position(top, next_feature, catalogue),
        stop_reason=reason,  # type: ignore[arg-type]  # one of them, as required above
        is_ended=top.flag("is_ended"),
        is_decided=top.flag("is_decided"),
    )


def rounds_to_json(rounds: Sequence[Round]) -> list[Json]:
    """Give rounds of boosting as JSON-able values, for a checkpoint."""
    return [
        {
            "number": one.number,
            "feature": one.hypothesis.feature_idx,
            "cut": one.hypothesis.cut,
            "vote": one.hypothesis.vote,
            "edge": one.edge,
            "alpha": one.alpha,
            "z": one.z,
            "spent_micros": one.spent,
            "first_quality": one.memory.first_quality,
            "is_smoothing": one.memory.is_smoothing,
        }
        for one in rounds
    ]


def rounds_from_json(raw: object, catalogue: Catalogue) -> tuple[Round, ...]:
    """Read rounds of boosting over a catalogue whose categories are known.

    Raises
    ------
    RefusedError
        Naming the first field that is missing, of the wrong type or out of range.
    """
    return tuple(
        Round(
            number=node.integer("number", 1, 2**31),
            hypothesis=read_stump(node, catalogue.features),
            edge=node.number("edge", 0, 1 + 1e-9),
            alpha=node.number("alpha", 0, 1e6),
            z=node.number("z", 0, 1e6),
            spent=node.micros("spent_micros"),
            memory=Memory(
                node.number("first_quality", 0, 1e300), node.flag("is_smoothing")
            ),
        )
        for node in Node({"rounds": raw}, "checkpoint").nodes("rounds")
    )


def feature_position(node: Node, name: str, catalogue: Catalogue) -> int:
    """Give a feature's position by name."""
    node.require(name in catalogue.feature_idxs, "feature", "must be in the catalogue")
    return catalogue.feature_idxs[name]


def read_value(node: Node, default: float | None) -> Any:
    """Read a value that may be null."""
    if node.get("value") is None:
        return default
    return node.number("value", -MAX_FLOAT, MAX_FLOAT)

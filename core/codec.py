"""Models and session states to and from JSON-able values, with a format version.

What comes in is trusted with nothing: every index is checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, get_args

from core.algorithms import ALGORITHMS
from core.hypotheses import LEAF, Hypothesis, Product, Stump, Tree
from core.nodes import MAX_FLOAT, Node
from core.types import (
    Answer,
    Calibration,
    Cascade,
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
    Stage,
    State,
    StopReason,
    StopRule,
    count_channels,
)

MODEL_FORMAT = "askless-model"
STATE_FORMAT = "askless-state"
MODEL_VERSION = 2
STATE_VERSION = 1
MAX_STUMPS = 100_000
STAGE_SHARES = ("detection", "false_alarm", "chance_reaching", "chance_rejected")

Json = dict[str, Any]


def model_to_json(model: Model) -> Json:
    """Give a model as JSON-able values; amounts of money in micro-units."""
    ensemble = model.ensemble
    catalogue = ensemble.catalogue
    return {
        "format": MODEL_FORMAT,
        "version": MODEL_VERSION,
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
        "hypotheses": [
            {**hypothesis_to_json(hypothesis), "alpha": alpha}
            for hypothesis, alpha in zip(
                ensemble.hypotheses, ensemble.alphas, strict=True
            )
        ],
        "is_multilabel": ensemble.is_multilabel,
        "cascade": None
        if ensemble.cascade is None
        else {
            "stages": [asdict(stage) for stage in ensemble.cascade.stages],
            "chance_passed": ensemble.cascade.chance_passed,
        },
        "calibrations": {
            policy: [
                {
                    "offset": one.offset,
                    "drift": one.drift,
                    "slope_unknown": one.slope_unknown,
                    "slope_known": one.slope_known,
                }
                for one in channels
            ]
            for policy, channels in ensemble.calibrations
        },
        "error_costs": None
        if ensemble.error_costs is None
        else [list(row) for row in ensemble.error_costs],
        "curve": None if model.curve is None else curve_to_json(model.curve),
        "card": dict(model.card),
    }


def hypothesis_to_json(hypothesis: Hypothesis) -> Json:
    """Give a weak hypothesis as JSON-able values; children as positions or null."""
    if isinstance(hypothesis, Stump):
        return {
            "kind": "stump",
            "feature": hypothesis.feature_idx,
            "cut": hypothesis.cut,
            "votes": list(hypothesis.votes),
        }
    stumps = [hypothesis_to_json(stump) for stump in hypothesis.stumps]
    if isinstance(hypothesis, Product):
        return {"kind": "product", "stumps": stumps}
    children = [
        [None if child == LEAF else child for child in pair]
        for pair in hypothesis.children
    ]
    tree: Json = {"kind": "tree", "stumps": stumps, "children": children}
    if hypothesis.below_votes is not None:
        tree["below_votes"] = [list(votes) for votes in hypothesis.below_votes]
    return tree


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
    if top.get("version") == 1:
        top = Node(upgrade_model(top), "model")
    top.expect_format(MODEL_FORMAT, MODEL_VERSION)
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
    is_multilabel = top.get("is_multilabel") is not None and top.flag("is_multilabel")
    top.require(len(classes) >= 2, "classes", "must be at least two")
    priors = tuple(top.numbers("priors", 0, 1 + 1e-9))
    is_whole = is_multilabel or math.isclose(sum(priors), 1, abs_tol=1e-6)
    top.require(
        len(priors) == len(classes) and is_whole,
        "priors",
        "must be one per class, and sum to 1",
    )
    n_channels = count_channels(len(classes), is_multilabel)
    hypotheses = top.nodes("hypotheses")
    ensemble = Ensemble(
        catalogue=Catalogue(features, groups, top.text("cost_unit")),
        classes=classes,
        hypotheses=tuple(
            read_hypothesis(node, features, n_channels) for node in hypotheses
        ),
        alphas=tuple(node.number("alpha", 1e-300, 1e6) for node in hypotheses),
        priors=priors,
        algorithm=top.choice("algorithm", tuple(ALGORITHMS)),
        policy=top.choice("policy", get_args(PolicyName)),
        calibrations=read_calibrations(top.node("calibrations"), n_channels),
        error_costs=read_error_costs(top, len(classes)),
        is_multilabel=is_multilabel,
        cascade=read_cascade(top, len(hypotheses), n_channels),
    )
    top.require(
        (ensemble.policy == "cascade") <= (ensemble.cascade is not None),
        "policy",
        "must not be cascade where there is none",
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


def upgrade_model(top: Node) -> Json:
    """Give a document of version 1 (two classes, stumps only) as one of version 2."""
    top.expect_format(MODEL_FORMAT, 1)
    calibrations = top.node("calibrations").raw
    return {
        **top.raw,
        "version": 2,
        "hypotheses": [
            {**node.raw, "kind": "stump", "votes": [node.get("vote")]}
            for node in top.nodes("stumps")
        ],
        "calibrations": {
            name: [one] for name, one in calibrations.items() if one is not None
        },
    }


def read_hypothesis(
    node: Node, features: Sequence[Feature], n_channels: int
) -> Hypothesis:
    """Read a weak hypothesis; its features, categories and children must exist."""
    kind = node.choice("kind", ("stump", "tree", "product"))
    if kind == "stump":
        return read_stump(node, features, n_channels)
    stumps = tuple(
        read_stump(one, features, n_channels) for one in node.nodes("stumps")
    )
    node.require(1 <= len(stumps) <= MAX_STUMPS, "stumps", f"must be 1 to {MAX_STUMPS}")
    if kind == "product":
        return Product(stumps)
    below_votes = None
    if node.get("below_votes") is not None:
        rows = node.items("below_votes")
        node.require(
            len(rows) == len(stumps), "below_votes", "must be one for each stump"
        )
        below_votes = tuple(
            read_votes(Node({"votes": row}, f"{node.where}.below_votes"), n_channels)
            for row in rows
        )
    return Tree(stumps, read_children(node, len(stumps)), below_votes)


def read_cascade(top: Node, n_hypotheses: int, n_channels: int) -> Cascade | None:
    """Read a cascade, where there is one; its stages part the hypotheses in order."""
    if top.get("cascade") is None:
        return None
    node = top.node("cascade")
    stages = tuple(
        Stage(
            length=one.integer("length", 1, n_hypotheses),
            threshold=one.number("threshold", -1e12, 1e12),
            **{name: one.number(name, 0, 1 + 1e-9) for name in STAGE_SHARES},
        )
        for one in node.nodes("stages")
    )
    lengths = [stage.length for stage in stages]
    is_parted = lengths == sorted(set(lengths)) and lengths[-1:] == [
        n_hypotheses
    ] * bool(n_hypotheses)
    rule = "must end one after the other, the last with the hypotheses"
    node.require(is_parted and n_channels == 1, "stages", rule)
    return Cascade(stages, node.number("chance_passed", 0, 1))


def read_children(node: Node, n_stumps: int) -> tuple[tuple[int, int], ...]:
    """Read where a tree goes on: each stump but the root is the child of one before."""
    pairs = node.items("children")
    rule = "must give two places for each stump: null, or a later stump, each once"
    children: list[tuple[int, int]] = []
    for position, pair in enumerate(pairs):
        is_pair = isinstance(pair, list) and len(pair) == 2
        node.require(is_pair, "children", rule)
        for child in pair:
            is_later = type(child) is int and position < child < n_stumps
            node.require(child is None or is_later, "children", rule)
        above, below = (LEAF if child is None else child for child in pair)
        children.append((above, below))
    named = sorted(child for pair in children for child in pair if child != LEAF)
    is_tree = len(children) == n_stumps and named == list(range(1, n_stumps))
    node.require(is_tree, "children", rule)
    return tuple(children)


def read_stump(node: Node, features: Sequence[Feature], n_channels: int) -> Stump:
    """Read a stump; its feature and its category must exist."""
    feature_idx = node.integer("feature", 0, len(features) - 1)
    feature = features[feature_idx]
    is_category = feature.type == "category"
    cut = node.number("cut", -MAX_FLOAT, MAX_FLOAT)
    if is_category:
        cut = float(node.integer("cut", 0, len(feature.categories) - 1))
    return Stump(feature_idx, cut, read_votes(node, n_channels), is_category)


def read_votes(node: Node, n_channels: int) -> tuple[int, ...]:
    """Read one vote per channel."""
    votes = tuple(node.items("votes"))
    is_signs = all(type(vote) is int and vote in (-1, 1) for vote in votes)
    rule = f"must be {n_channels} of -1 or 1"
    node.require(is_signs and len(votes) == n_channels, "votes", rule)
    return votes


def read_calibrations(
    node: Node, n_channels: int
) -> tuple[tuple[PolicyName, tuple[Calibration, ...]], ...]:
    """Read the calibrations of each policy that has them, one per channel."""
    policies: tuple[PolicyName, ...] = get_args(PolicyName)
    calibrations = []
    for policy in policies:
        if node.get(policy) is not None:
            channels = tuple(read_calibration(one) for one in node.nodes(policy))
            rule = f"must be {n_channels}"
            node.require(len(channels) == n_channels, policy, rule)
            calibrations.append((policy, channels))
    return tuple(calibrations)


def read_calibration(node: Node) -> Calibration:
    """Read one calibration."""
    return Calibration(
        offset=node.number("offset", -1e6, 1e6),
        drift=node.number("drift", -1e6, 1e6),
        slope_unknown=node.number("slope_unknown", 0, 1e6),
        slope_known=node.number("slope_known", 0, 1e6),
    )


def read_error_costs(top: Node, n_classes: int) -> tuple[tuple[float, ...], ...] | None:
    """Read the costs of errors, one row and column per class, where given."""
    rows = top.get("error_costs")
    if rows is None:
        return None
    costs = tuple(
        tuple(Node({"row": row}, "error_costs").numbers("row", 0, 1e12))
        for row in top.items("error_costs")
    )
    is_square = {len(costs), *map(len, costs)} == {n_classes}
    rule = f"must be {n_classes} rows of {n_classes} numbers"
    top.require(is_square, "error_costs", rule)
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
        "version": STATE_VERSION,
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
    top.expect_format(STATE_FORMAT, STATE_VERSION)
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
            "hypothesis": hypothesis_to_json(one.hypothesis),
            "edge": one.edge,
            "alpha": one.alpha,
            "z": one.z,
            "spent_micros": one.spent,
            "first_quality": one.memory.first_quality,
            "is_smoothing": one.memory.is_smoothing,
        }
        for one in rounds
    ]


def rounds_from_json(
    raw: object, catalogue: Catalogue, n_channels: int
) -> tuple[Round, ...]:
    """Read rounds of boosting over a catalogue whose categories are known.

    Raises
    ------
    RefusedError
        Naming the first field that is missing, of the wrong type or out of range.
    """
    return tuple(
        Round(
            number=node.integer("number", 1, 2**31),
            hypothesis=read_round_hypothesis(node, catalogue.features, n_channels),
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


def read_round_hypothesis(
    node: Node, features: Sequence[Feature], n_channels: int
) -> Hypothesis:
    """Read a round's hypothesis; one stored before trees holds a stump."""
    if node.get("hypothesis") is not None:
        return read_hypothesis(node.node("hypothesis"), features, n_channels)
    stump = {**node.raw, "votes": [node.get("vote")]}
    return read_stump(Node(stump, node.where), features, n_channels)


def feature_position(node: Node, name: str, catalogue: Catalogue) -> int:
    """Give a feature's position by name."""
    node.require(name in catalogue.feature_idxs, "feature", "must be in the catalogue")
    return catalogue.feature_idxs[name]


def read_value(node: Node, default: float | None) -> Any:
    """Read a value that may be null."""
    if node.get("value") is None:
        return default
    return node.number("value", -MAX_FLOAT, MAX_FLOAT)

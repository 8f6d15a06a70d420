"""States of sessions to and from JSON-able values, with a format version."""

from __future__ import annotations

import math
from typing import Any, get_args

from core.codec.nodes import MAX_FLOAT, Json, Node
from core.session.policies import POLICIES
from core.session.state import Answer, Charge, Outcome, State, StopReason, StopRule
from core.table.catalogue import Catalogue

STATE_FORMAT = "askless-state"
STATE_VERSION = 1


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
        "stop": stop_to_json(state.stop),
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
    return State(
        policy=top.choice("policy", tuple(POLICIES)),
        budget=None
        if top.get("budget_micros") is None
        else top.micros("budget_micros"),
        seed=top.integer("seed", 0, 2**64 - 1),
        stream=top.integer("stream", 0, 2**64 - 1),
        stop=read_stop(stop),
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


def stop_to_json(rule: StopRule) -> Json:
    """Give a stop rule as JSON-able values."""
    return {
        "certain": rule.certain,
        "confidence": rule.confidence,
        "max_questions": rule.max_questions,
    }


def read_stop(node: Node) -> StopRule:
    """Read a stop rule."""
    confidence, most = node.get("confidence"), node.get("max_questions")
    return StopRule(
        certain=node.flag("certain"),
        confidence=None if confidence is None else node.number("confidence", 0, 1),
        max_questions=None if most is None else node.integer("max_questions", 0, 10**9),
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

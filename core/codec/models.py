"""Models to and from JSON-able values, with a format version."""

from __future__ import annotations

import math

from core.codec.calibrations import calibration_to_json, read_calibrations
from core.codec.cascades import cascade_to_json, read_cascade
from core.codec.catalogues import feature_to_json, group_to_json, read_features
from core.codec.curves import curve_to_json, read_curve
from core.codec.hypotheses import hypothesis_to_json, read_hypothesis
from core.codec.nodes import Json, Node
from core.model.ensemble import Ensemble
from core.model.model import Model
from core.session.policies import POLICIES
from core.table.catalogue import Catalogue
from core.table.dataset import ClassLabel, count_outputs
from core.training.algorithms import ALGORITHMS

MODEL_FORMAT = "askless-model"
MODEL_VERSION = 3


def model_to_json(model: Model) -> Json:
    """Give a model as JSON-able values; amounts of money in micro-units."""
    ensemble = model.ensemble
    catalogue, cascade = ensemble.catalogue, ensemble.cascade
    return {
        "format": MODEL_FORMAT,
        "version": MODEL_VERSION,
        "name": model.name,
        "target": model.target,
        "algorithm": ensemble.algorithm,
        "policy": ensemble.policy,
        "params": dict(model.params),
        "cost_unit": catalogue.cost_unit,
        "features": [feature_to_json(feature) for feature in catalogue.features],
        "groups": [group_to_json(group) for group in catalogue.groups],
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
        "cascade": None if cascade is None else cascade_to_json(cascade),
        "calibrations": {
            policy: calibration_to_json(one) for policy, one in ensemble.calibrations
        },
        "error_costs": None
        if ensemble.error_costs is None
        else [list(row) for row in ensemble.error_costs],
        "curve": None if model.curve is None else curve_to_json(model.curve),
        "card": dict(model.card),
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
    if top.get("version") == 2:
        # Its calibrations were fitted on margins, from which F can't be recovered.
        top = Node({**top.raw, "version": MODEL_VERSION, "calibrations": {}}, "model")
    top.expect_format(MODEL_FORMAT, MODEL_VERSION)
    ensemble = read_ensemble(top)
    curve = None if top.get("curve") is None else read_curve(top.node("curve"))
    return Model(
        name=top.text("name"),
        ensemble=ensemble,
        target=top.text("target"),
        params=top.plain("params"),
        curve=curve,
        card=top.plain("card"),
    )


def upgrade_model(top: Node) -> Json:
    """Give a document of version 1 (two classes, stumps only) as one of version 2."""
    top.expect_format(MODEL_FORMAT, 1)
    return {
        **top.raw,
        "version": 2,
        "hypotheses": [
            {**node.raw, "kind": "stump", "votes": [node.get("vote")]}
            for node in top.nodes("stumps")
        ],
    }


def read_ensemble(top: Node) -> Ensemble:
    """Read the ensemble, whose fields stand among those of its model."""
    features, groups = read_features(top)
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
    n_outputs = count_outputs(len(classes), is_multilabel)
    hypotheses = top.nodes("hypotheses")
    ensemble = Ensemble(
        catalogue=Catalogue(features, groups, top.text("cost_unit")),
        classes=classes,
        hypotheses=tuple(
            read_hypothesis(node, features, n_outputs) for node in hypotheses
        ),
        alphas=tuple(node.number("alpha", 1e-300, 1e6) for node in hypotheses),
        priors=priors,
        algorithm=top.choice("algorithm", tuple(ALGORITHMS)),
        policy=top.choice("policy", tuple(POLICIES)),
        calibrations=read_calibrations(top.node("calibrations"), n_outputs),
        error_costs=read_error_costs(top, len(classes)),
        is_multilabel=is_multilabel,
        cascade=read_cascade(top, len(hypotheses), n_outputs),
    )
    top.require(
        (ensemble.policy == "cascade") <= (ensemble.cascade is not None),
        "policy",
        "must not be cascade where there is none",
    )
    return ensemble


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

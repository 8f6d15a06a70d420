"""Read and write MODEL.json, the document of a model.

Amounts of money in micro-units.
"""

import json
import math
from collections.abc import Iterator
from itertools import chain, islice
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import AfterValidator, BeforeValidator

from askless.app.documents.fields import ErrorCost, Name, Policy, Unit
from askless.app.documents.model.catalogue import (
    FeatureShape,
    GroupShape,
    check_catalogue,
)
from askless.app.documents.model.hypotheses import StoredHypothesis, hypothesis_shape
from askless.app.documents.model.learning import (
    LearningShape,
    build_learning,
    check_learning,
    check_stumps,
    learning_to_json,
)
from askless.app.documents.model.panel_checks import check_panels
from askless.app.documents.model.panels import (
    PanelLadderShape,
    build_panels,
    panels_to_json,
)
from askless.app.documents.shape import MAX_REFUSALS, Many, check_version, read_shape
from askless.app.documents.sizes import check_sizes
from askless.app.documents.stored import Stored, StoredShape, to_json_value
from askless.core.catalogue.catalogue import (
    Catalogue,
    Feature,
    Group,
)
from askless.core.errors import Refusal, RefusedError
from askless.core.model.certificates import N_STRATA, Certification
from askless.core.model.ensemble import (
    BudgetRange,
    Calibration,
    Cascade,
    Ensemble,
    Knee,
    to_limit,
)
from askless.core.model.model import Curve, Model, bind_errors
from askless.core.model.ranges import Each, Share
from askless.core.session.policies import POLICIES, list_serving_policies
from askless.core.table.dataset import ClassLabel, count_outputs
from askless.core.training.params import check_algorithm


def check_certification(certification: Certification | None) -> Iterator[Refusal]:
    """Yield refusals of lists and counts that don't fit together."""
    if certification is None:
        return
    for position, rule in enumerate(certification.rules):
        if not any(rule.opens):
            where = f"model.certification.rules[{position}].opens"
            yield Refusal(where, "must open a stratum")
    for position, level in enumerate(certification.levels):
        where = f"model.certification.levels[{position}]"
        n_rows_by_name = {
            "guide": certification.n_guide,
            "counts": certification.n_samples,
        }
        for name, n_rows in n_rows_by_name.items():
            counts = getattr(level, name)
            if not all(is_possible_count(count, n_rows) for count in counts):
                expected = f"must count {n_rows} rows, of which some differ"
                yield Refusal(f"{where}.{name}", expected)
        if max(level.n_covered, default=0) > certification.n_samples:
            expected = f"must be at most {certification.n_samples}"
            yield Refusal(f"{where}.covered_rows", expected)


def is_possible_count(counts: tuple[int, ...], n_rows: int) -> bool:
    """Return whether strata sum to `n_rows`, and none has more differing rows."""
    pairs = zip(counts[:N_STRATA], counts[N_STRATA:], strict=True)
    return sum(counts[:N_STRATA]) == n_rows and all(d <= n for n, d in pairs)


def check_finite(raw: dict[str, Any]) -> dict[str, Any]:
    """Return a document; raise ValueError if NaN or infinity is anywhere in it."""
    try:
        json.dumps(raw, allow_nan=False)
    except ValueError:
        raise ValueError("must have finite numbers only") from None
    return raw


Facts = Annotated[dict[str, Any], AfterValidator(check_finite)]


class ModelDocument(StoredShape):
    format: Literal["askless-model"]
    version: Literal[3]
    name: Name
    target: str
    target_label: str | None = None
    algorithm: Annotated[str, BeforeValidator(check_algorithm)]
    policy: Policy
    ranges: Stored[tuple[BudgetRange, ...]] | None = None
    knees: Stored[tuple[Knee, ...]] | None = None
    params: Facts
    cost_unit: Unit
    features: Annotated[Many[FeatureShape], Len(1)]
    groups: Many[GroupShape]
    classes: Annotated[Stored[tuple[ClassLabel, ...]], Len(2)]
    priors: Many[Share]
    hypotheses: Many[StoredHypothesis]
    is_multilabel: bool | None = None
    cascade: Stored[Cascade] | None = None
    calibrations: dict[Policy, Stored[Calibration] | None]
    panels: PanelLadderShape | None = None
    error_costs: (
        Annotated[Many[Annotated[Many[ErrorCost], Each("classes")]], Each("classes")]
        | None
    ) = None
    certification: Stored[Certification] | None = None
    curve: Stored[Curve] | None = None
    card: Facts
    learning: LearningShape | None = None

    @property
    def sizes(self) -> dict[str, int]:
        return {
            "features": len(self.features),
            "classes": len(self.classes),
            "outputs": self.n_outputs,
        }

    @property
    def n_outputs(self) -> int:
        """Number of outputs, that is of numbers in a vote."""
        return count_outputs(len(self.classes), bool(self.is_multilabel))


def model_to_json(model: Model) -> dict[str, Any]:
    """Return a model as JSON-able values."""
    ensemble, catalogue = model.ensemble, model.ensemble.catalogue
    # Absent fields of a hypothesis are left out; elsewhere they are null.
    hypotheses = [
        hypothesis_shape(hypothesis, alpha).model_dump(exclude_none=True)
        for hypothesis, alpha in zip(ensemble.hypotheses, ensemble.alphas, strict=True)
    ]
    document = {
        "format": "askless-model",
        "version": 3,
        "name": model.name,
        "target": model.target,
        "target_label": model.target_label,
        "algorithm": ensemble.algorithm,
        "policy": ensemble.policy,
        "ranges": to_json_value(ensemble.ranges),
        "knees": to_json_value(ensemble.knees),
        "params": model.params,
        "cost_unit": catalogue.cost_unit,
        "features": [
            FeatureShape.of(feature).model_dump() for feature in catalogue.features
        ],
        "groups": [GroupShape.of(group).model_dump() for group in catalogue.groups],
        "classes": to_json_value(ensemble.classes),
        "priors": list(ensemble.priors),
        "hypotheses": hypotheses,
        "is_multilabel": ensemble.is_multilabel,
        "cascade": to_json_value(ensemble.cascade),
        "calibrations": to_json_value(dict(ensemble.calibrations)),
        "error_costs": to_json_value(ensemble.error_costs),
        "certification": to_json_value(ensemble.certification),
        "curve": to_json_value(model.curve),
        "card": model.card,
        "panels": ensemble.panels and panels_to_json(ensemble.panels),
        "learning": model.learning and learning_to_json(model.learning),
    }
    omitted_if_empty = {
        *("target_label", "ranges", "knees", "certification", "panels", "learning"),
    }
    return {
        name: value
        for name, value in document.items()
        if value or name not in omitted_if_empty
    }


def model_from_json(raw: object) -> Model:
    """Read a model; raise RefusedError with what is wrong."""
    check_version(raw, 3, "model", "train the model again")
    document = read_shape(ModelDocument, raw, "model")
    catalogue = Catalogue(
        tuple(feature.to(Feature) for feature in document.features),
        tuple(group.to(Group) for group in document.groups),
        document.cost_unit,
    )
    check_all(check_sizes(document, {}, "model"))
    check_all(
        check_catalogue(catalogue, "model"),
        check_consistency(document),
        check_cascade(document),
        check_hypotheses(document, catalogue),
        check_certification(document.certification),
        check_panels(document.panels, document.n_outputs),
        check_learning(document.learning, catalogue, len(document.classes)),
    )
    ensemble = build_ensemble(document, catalogue)
    learning = None if document.learning is None else build_learning(document.learning)
    check_all(
        check_policies(ensemble),
        check_knees(ensemble),
        check_stumps(learning, ensemble),
    )
    return bind_errors(document.to(Model, ensemble=ensemble, learning=learning))


def check_all(*checks: Iterator[Refusal]) -> None:
    """Raise RefusedError with the first `MAX_REFUSALS` refusals, if there are any."""
    refusals = [*islice(chain(*checks), MAX_REFUSALS)]
    if refusals:
        raise RefusedError(refusals)


def build_ensemble(document: ModelDocument, catalogue: Catalogue) -> Ensemble:
    """Return the ensemble of a document whose checks have passed."""
    return document.to(
        Ensemble,
        catalogue=catalogue,
        hypotheses=tuple(
            hypothesis.build(catalogue.features) for hypothesis in document.hypotheses
        ),
        alphas=tuple(hypothesis.alpha or 0.0 for hypothesis in document.hypotheses),
        calibrations=tuple(
            (policy, calibration)
            for policy in POLICIES
            if (calibration := document.calibrations.get(policy)) is not None
        ),
        is_multilabel=bool(document.is_multilabel),
        panels=build_panels(document.panels),
        ranges=document.ranges or (),
        measured=None,
        knees=document.knees or (),
    )


def check_consistency(document: ModelDocument) -> Iterator[Refusal]:
    """Yield refusals of fields whose lengths, sums or labels contradict one another."""
    n_classes = len(document.classes)
    is_sum_right = document.is_multilabel or math.isclose(
        sum(document.priors), 1, abs_tol=1e-6
    )
    if len(document.priors) != n_classes or not is_sum_right:
        yield Refusal("model.priors", "must be one per class, and sum to 1")
    if len({label.label for label in document.classes}) < n_classes:
        yield Refusal("model.classes", "labels must be unique")


def check_hypotheses(
    document: ModelDocument, catalogue: Catalogue
) -> Iterator[Refusal]:
    """Yield refusals of the weak hypotheses and their alphas."""
    n_outputs = document.n_outputs
    for position, hypothesis in enumerate(document.hypotheses):
        where = f"model.hypotheses[{position}]"
        yield from hypothesis.check(catalogue.features, n_outputs, where)
        if hypothesis.alpha is None:
            yield Refusal(f"{where}.alpha", "is required")


def check_cascade(document: ModelDocument) -> Iterator[Refusal]:
    """Yield refusals of stages that are out of order, or for several outputs."""
    if document.cascade is None:
        return
    n_hypotheses = len(document.hypotheses)
    lengths = [stage.length for stage in document.cascade.stages]
    for position, length in enumerate(lengths):
        if length > n_hypotheses:
            where = f"model.cascade.stages[{position}].length"
            yield Refusal(where, f"must be at most {n_hypotheses}")
    ends = [n_hypotheses] if n_hypotheses else []
    is_ordered = lengths == sorted(set(lengths)) and lengths[-1:] == ends
    if not is_ordered or document.n_outputs != 1:
        rule = "must end one after the other, the last with the hypotheses"
        yield Refusal("model.cascade.stages", rule)


def check_policies(ensemble: Ensemble) -> Iterator[Refusal]:
    """Yield refusals of policies that can't serve, and of unordered ranges."""
    policy_by_field = {"model.policy": ensemble.policy}
    for position, policy_range in enumerate(ensemble.ranges):
        policy_by_field[f"model.ranges[{position}].policy"] = policy_range.policy
    policies = list_serving_policies(ensemble)
    for where, policy in policy_by_field.items():
        if policy not in policies:
            rule = f"must be one of {', '.join(policies)} for this model"
            yield Refusal(where, rule)
    ends = [
        math.inf if policy_range.up_to is None else policy_range.up_to
        for policy_range in ensemble.ranges
    ]
    if ends != sorted(set(ends)) or ends[-1:] not in ([], [math.inf]):
        yield Refusal("model.ranges", "must ascend in up_to_micros, null last")


def check_knees(ensemble: Ensemble) -> Iterator[Refusal]:
    """Yield refusals of knees out of order, and of parts that are not worthwhile."""
    budgets = [to_limit(knee.budget) for knee in ensemble.knees]
    if budgets != sorted(set(budgets)):
        yield Refusal("model.knees", "must ascend in budget_micros, null last")
    parts = [to_limit(knee.worthwhile) for knee in ensemble.knees]
    pairs = list(zip(budgets, parts, strict=True))
    worthwhile = {budget for budget, part in pairs if budget == part}
    is_above = any(part > budget for budget, part in pairs)
    if not worthwhile.issuperset(parts) or parts != sorted(parts) or is_above:
        rule = "must each be a budget up to its own whose own part it is, and ascend"
        yield Refusal("model.knees", f"worthwhile_micros {rule}")

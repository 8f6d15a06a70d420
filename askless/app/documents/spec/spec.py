"""The training spec: its document, and the `TrainingSpec` made of it."""

from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError

from askless.app.documents.fields import (
    Amount,
    ErrorCost,
    Label,
    Mark,
    Name,
    Text,
    Unit,
    Word,
)
from askless.app.documents.mending import FRESH, drop_wrong_fields, refusals_of
from askless.app.documents.shape import Shape, shape_of
from askless.app.documents.spec.spec_features import (
    WORDS_TEXT,
    Rare,
    SpecFeature,
    SpecGroup,
    build_features,
    map_members,
    to_tuple,
)
from askless.core.catalogue.costs import check_fee, check_member_lists
from askless.core.codes.folds import EXACT_ROWS, Deal
from askless.core.errors import Refusal, RefusedError
from askless.core.parameters import parameters_of
from askless.core.pipeline.choosing import AUTO_NAMES
from askless.core.pipeline.spec import TrainingSpec, split_auto
from askless.core.selection.params import SelectionParams
from askless.core.table.cells import MISSING_WORDS
from askless.core.table.spec import (
    MissingTarget,
    TableSpec,
    check_features,
    check_roles,
)
from askless.core.training.algorithms import ALGORITHMS
from askless.core.training.params import BoostParams, EffortName, check_algorithm

# Sessions are played under each budget on every row set aside.
MAX_BUDGETS = 24


FOLDS = parameters_of(TrainingSpec)["folds"]


def read_folds(raw: Any) -> int:
    """Return a number of folds: 0 for none, or at least 2."""
    if raw == 1:
        raise ValueError("must be 0 or at least 2")
    return int(FOLDS.check(raw))


class SpecParams(shape_of(BoostParams, ("algorithm", "effort", "seed"), AUTO_NAMES)):  # type: ignore[misc]  # made of core's fields
    """Parameters of the algorithm; those that it doesn't have are ignored."""


class SpecValidation(Shape):
    folds: Annotated[int, BeforeValidator(read_folds, json_schema_input_type=int)] = (
        Field(default=FOLDS.default, examples=[3], description="0, or 2 to 50.")
    )
    budgets: Annotated[list[Amount], Field(max_length=MAX_BUDGETS)] = Field(
        default=[],
        examples=[[20.0, 60.0]],
        description="Budgets on the curve, besides those that the model tells apart; "
        "panels choose a set of features for each, also with 0 folds.",
    )
    deal: Deal | None = Field(
        default=None,
        examples=["exact"],
        description="How rows come to folds: `exact` spreads each class evenly, "
        "`hashed` draws the fold of each row or row group; null: `exact` of at most "
        f"{EXACT_ROWS:,} rows.",
    )


NO_FOLDS = SpecValidation(folds=0)


class SpecCertificate(Shape):
    """Rows to set aside for certificates; nothing is trained on them.

    Sessions can then ask for early stops with a guarantee, and for label sets. Of rows
    with one `group_by` value one is used.
    """

    share: Annotated[
        float,
        BeforeValidator(
            parameters_of(TrainingSpec)["certify_share"].check,
            json_schema_input_type=float,
        ),
    ] = Field(default=0.25, examples=[0.25], description="Above 0, at most 0.5.")
    budgets: Annotated[list[Amount], Field(min_length=1, max_length=MAX_BUDGETS)] | (
        None
    ) = Field(
        default=None,
        examples=[[20.0, 60.0]],
        description="Budgets to certify sessions for, besides unlimited ones; by "
        "default those that the model tells apart.",
    )


class SpecSelection(shape_of(SelectionParams, ("criterion",))):  # type: ignore[misc]  # made of core's fields
    """Selection of features before training; no others are ever asked for.

    The selection is made anew for each fold, so that the curve is not flattered. The
    model's card reports the subset, its cost and the path to it (`selection`).
    """


# For the table of the demo, app/demo/heart.csv, as all examples are.
SPEC_EXAMPLE: dict[str, Any] = {
    "name": "heart-cleveland",
    "target": "label",
    "target_label": "Heart disease",
    "positive": "1",
    "classes": {"1": "disease", "0": "no disease"},
    "cost_unit": "CAD",
    "features": [
        {"name": "age", "label": "Age", "type": "number", "unit": "years", "cost": 1.0},
        {"name": "cp", "label": "Chest pain", "type": "category", "cost": 1.0},
        {
            "name": "chol",
            "type": "number",
            "unit": "mg/dL",
            "cost": 5.17,
            "group": "blood",
        },
        {"name": "fbs", "type": "boolean", "cost": 3.1, "group": "blood"},
        {"name": "ca", "label": "Coloured vessels", "type": "number", "cost": 100.9},
    ],
    "groups": [{"name": "blood", "fee": 2.10}],
    "algorithm": "auto",
    "effort": "fast",
    "seed": 0,
    "validation": {"folds": 5},
}


class SpecDocument(Shape):
    """The training spec; the command line reads the same file.

    Without `features` every column except the target is a feature, with the cost that
    `costs` gives it, or 1.
    """

    model_config = ConfigDict(
        title="TrainingSpec", json_schema_extra={"examples": [SPEC_EXAMPLE]}
    )

    target: Text = Field(examples=["label"])
    target_label: Text | None = Field(
        default=None,
        examples=["Heart disease"],
        description="What people call the target; by default as its column.",
    )
    name: Name = Field(default="model", examples=["heart-cleveland"])
    positive: Label | None = Field(
        default=None, examples=["1"], description="Of two classes only."
    )
    classes: dict[str, Text] | None = Field(
        default=None, examples=[{"1": "disease"}], description="How they are shown."
    )
    cost_unit: Unit = Field(default="", examples=["CAD"])
    note: Text | None = Field(
        default=None,
        examples=["Prices of 1995."],
        description="What readers of the model should know; its card says it.",
    )
    features: list[SpecFeature] | None = None
    costs: dict[str, Amount] | None = Field(
        default=None,
        examples=[{}],
        description="By name, or by pattern such as lab_*; the name wins, then the "
        "pattern with the most letters.",
    )
    groups: list[SpecGroup] | None = None
    ignore: list[Text] | None = Field(
        default=None,
        examples=[["patient_id"]],
        description="Columns that are no features: names, or patterns such as tmp_*.",
    )
    missing: list[Mark] | None = Field(
        default=None,
        examples=[["n.d.", -999]],
        description="Words and numbers that stand for a missing value in all features.",
    )
    missing_words: list[Word] | None = Field(
        default=None,
        examples=[list(MISSING_WORDS[1:])],
        description=f"{WORDS_TEXT} in all features and the target. By default the "
        f"examples, and more among numbers (docs/spec.md).",
    )
    missing_target: MissingTarget = Field(
        default="refuse",
        examples=["refuse"],
        description="What becomes of rows without a target: a refusal, or `drop`.",
    )
    rare: Rare | None = Field(
        default=None,
        examples=[20],
        description="Categories of fewer rows become one, `other`, and so does every "
        "category that training did not see.",
    )
    algorithm: Annotated[
        str,
        BeforeValidator(check_algorithm, json_schema_input_type=str),
        Field(json_schema_extra={"enum": list(ALGORITHMS)}),
    ] = Field(default="auto", examples=["auto"])
    effort: Annotated[
        EffortName, BeforeValidator(parameters_of(BoostParams)["effort"].check)
    ] = Field(
        default="standard",
        examples=["standard"],
        description=parameters_of(BoostParams)["effort"].text,
    )
    params: SpecParams | None = None
    seed: Annotated[
        int,
        BeforeValidator(
            parameters_of(BoostParams)["seed"].check, json_schema_input_type=int
        ),
    ] = Field(default=0, examples=[0])
    validation: SpecValidation | None = SpecValidation()
    weight: Text | None = Field(default=None, examples=[None])
    group_by: Text | None = Field(default=None, examples=[None])
    error_costs: dict[str, dict[str, ErrorCost]] | None = Field(
        default=None, examples=[None]
    )
    certificate: SpecCertificate | None = Field(
        default=None,
        examples=[{"share": 0.25}],
        description="Null: no row is set aside, so no stop has a certificate.",
    )
    selection: SpecSelection | None = Field(
        default=None,
        examples=[{"method": "fs2boost", "learner": "knn"}],
        description="Null: every feature may be read. Memory and time grow with the "
        "square of the rows.",
    )


def read_spec(raw: object) -> TrainingSpec:
    """Read a training spec; raise RefusedError with every broken rule."""
    spec, refusals = read_spec_parts(raw)
    if spec is None or refusals:
        raise RefusedError(refusals)
    return spec


def read_spec_parts(raw: object) -> tuple[TrainingSpec | None, list[Refusal]]:
    """Read a spec as far as it is right; return it, or None, and all refusals.

    Names that replace wrong ones begin with `FRESH`.
    """
    refusals: list[Refusal] = []
    try:
        document = SpecDocument.model_validate(raw)
    except ValidationError as error:
        refusals += refusals_of(error, SpecDocument, "spec")
        mended = read_mended(raw, error)
        if mended is None:
            return None, refusals
        document = mended
    spec, misfits = build_spec(document)
    # Leave out refusals that follow from the first ones: of objects around a refused
    # field, and of the names that replace wrong ones.
    refused = {refusal.field for refusal in refusals}
    refused |= {field.rpartition(".")[0] for field in refused}
    refusals += (
        misfit
        for misfit in misfits
        if FRESH not in str(misfit) and misfit.field not in refused
    )
    return spec, refusals


def read_mended(raw: object, error: ValidationError) -> SpecDocument | None:
    """Read a document without its wrong fields; None if nothing is left."""
    if not isinstance(raw, dict):
        return None
    try:
        return SpecDocument.model_validate(drop_wrong_fields(raw, error, SpecDocument))
    except ValidationError:
        return None


def build_spec(document: SpecDocument) -> tuple[TrainingSpec, list[Refusal]]:
    """Build a spec from its document; also return refusals of fields that don't fit."""
    table = build_table(document)
    given = {} if document.params is None else dict(document.params)
    fixed, auto, refusals = split_auto(document.algorithm, given)
    groups = document.groups or []
    for position, group in enumerate(groups):
        refusals += check_fee(f"groups[{position}]", group.fee, group.price)
    refusals += check_member_lists(
        [group.name for group in groups], [group.members or [] for group in groups]
    )
    refusals += [*check_features(table), *check_roles(table)]
    selection, certificate = document.selection, document.certificate
    if certificate is not None and not (document.validation or NO_FOLDS).folds:
        refusals.append(Refusal("certificate", "needs folds: see `validation`"))
    spec = document.to(
        TrainingSpec,
        table=table,
        boost=BoostParams(
            algorithm=document.algorithm,
            effort=document.effort,
            seed=document.seed,
            **fixed,  # type: ignore[arg-type]  # checked by their own rules
        ),
        auto=auto,
        folds=(document.validation or NO_FOLDS).folds,
        deal=(document.validation or NO_FOLDS).deal,
        curve_budgets=tuple((document.validation or NO_FOLDS).budgets),
        certify_share=None if certificate is None else certificate.share,
        certify_budgets=tuple(certificate.budgets or ()) if certificate else (),
        selection=None if selection is None else SelectionParams(**dict(selection)),
    )
    return spec, refusals


def build_table(document: SpecDocument) -> TableSpec:
    """Build the part of a spec that describes its table."""
    features, groups = document.features, document.groups or []
    return document.to(
        TableSpec,
        displays=document.classes or {},
        features=None if features is None else build_features(features, groups),
        untyped=frozenset(
            feature.name
            for feature in features or ()
            # Only a number has limits, and only a category has labels.
            if feature.type is None
            and feature.least is feature.most is None
            and not feature.category_labels
        ),
        costs=document.costs or {},
        groups=tuple(group.build() for group in groups),
        members=map_members(groups),
        ignore=tuple(document.ignore or ()),
        missing=tuple(document.missing or ()),
        missing_words=to_tuple(document.missing_words),
        declared=frozenset(),
        rare=document.rare or 0,
        rares={
            feature.name: feature.rare
            for feature in features or ()
            if feature.rare is not None
        },
        category_labels={
            feature.name: feature.category_labels for feature in features or ()
        },
    )

"""Features and groups of a spec: their shapes, and how they become core's."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from annotated_types import Interval
from pydantic import BeforeValidator, Field

from askless.app.documents.fields import Amount, Mark, Name, Text, Word
from askless.app.documents.shape import Shape
from askless.app.documents.words import Billing, FeatureType
from askless.core.catalogue.catalogue import Feature, Group
from askless.core.catalogue.patterns import expand
from askless.core.parameters import parameters_of
from askless.core.table.spec import TableSpec

# Far beyond any measure; a limit of the numbers that computers have says nothing.
MOST_LIMIT = 1e15
Rare = Annotated[
    int,
    BeforeValidator(parameters_of(TableSpec)["rare"].check, json_schema_input_type=int),
]


WORDS_TEXT = "The words that mean a missing value, and no others besides `missing`,"
Limit = Annotated[float, Interval(ge=-MOST_LIMIT, le=MOST_LIMIT)] | None


class SpecFeature(Shape):
    """A column that costs something to read."""

    name: Name = Field(examples=["chol"])
    label: Text | None = Field(default=None, examples=["Serum cholesterol"])
    type: FeatureType | None = Field(
        default=None,
        examples=["number"],
        description="By default what the column suggests.",
    )
    category_labels: dict[str, Text] = Field(
        default={},
        examples=[{"atypical ang": "Atypical angina"}],
        description="Of a category: what people read for its values. Each answers to "
        "its label too; the API shows both.",
    )
    question: Text | None = Field(
        default=None,
        examples=["What is the patient's serum cholesterol?"],
        description="How a person is asked; by default the label.",
    )
    unit: Text | None = Field(default=None, examples=["mg/dL"])
    code: Text | None = Field(
        default=None,
        examples=["2093-3"],
        description="What the feature is called in `system`.",
    )
    system: Text | None = Field(
        default=None,
        examples=["loinc"],
        description="The code system: `loinc`, `snomed`, or its address.",
    )
    ucum: Text | None = Field(
        default=None, examples=["mg/dL"], description="The unit as UCUM writes it."
    )
    least: Limit = Field(
        default=None,
        alias="min",
        examples=[0],
        description="Of a number; smaller values are refused.",
    )
    most: Limit = Field(
        default=None,
        alias="max",
        examples=[2000],
        description="Of a number; greater values are refused.",
    )
    cost: Amount = Field(
        default=1_000_000, examples=[5.17], json_schema_extra={"default": 1}
    )
    group: Text | None = Field(default=None, examples=["blood"])
    missing: list[Mark] | None = Field(
        default=None,
        examples=[["n.d.", -9]],
        description="Words and numbers that stand for a missing value here.",
    )
    missing_words: list[Word] | None = Field(
        default=None,
        examples=[["NA"]],
        description=f"{WORDS_TEXT} here, instead of the table's.",
    )
    decimal_comma: bool = Field(
        default=False,
        examples=[False],
        description="Of a number: its commas are decimal, as in 1,5. A table whose "
        "commas can be nothing else is read so anyway.",
    )
    rare: Rare | None = Field(
        default=None, examples=[20], description="Instead of the table's, here."
    )
    billing: Billing | None = Field(
        default=None,
        examples=["per_call"],
        description="By default that of the group, else `per_answer`.",
    )


class SpecGroup(Shape):
    """Features that share a one-time fee, or, as a bundle, have one price."""

    name: Name = Field(examples=["blood"])
    fee: Amount | None = Field(default=None, examples=[2.1])
    price: Amount | None = Field(default=None, examples=[None])
    label: Text | None = Field(default=None, examples=["blood sample"])
    members: list[Text] | None = Field(
        default=None,
        examples=[["chol", "fbs"]],
        description="Names, or patterns such as lab_*.",
    )
    billing: Billing = Field(
        default="per_answer",
        examples=["per_answer"],
        description="With a fee: the billing of members without their own.",
    )

    def build(self) -> Group:
        """Return core's group; other rules say which amounts it must have."""
        amounts = self.fee or 0, self.price
        return Group(self.name, *amounts, self.label, self.billing)


def to_tuple(words: Sequence[str] | None) -> tuple[str, ...] | None:
    """Return words as core has them; None where nothing is said."""
    return None if words is None else tuple(words)


def map_members(groups: Sequence[SpecGroup]) -> dict[str, str]:
    """Return the group of each feature name or pattern in the member lists."""
    members: dict[str, str] = {}
    for group in groups:
        for member in group.members or []:
            members.setdefault(member, group.name)
    return members


def build_features(
    features: Sequence[SpecFeature], groups: Sequence[SpecGroup]
) -> tuple[Feature, ...]:
    """Build features; a feature may name its group, or a group its members."""
    members = expand(map_members(groups), (feature.name for feature in features))
    built = {group.name: group.build() for group in groups}
    return tuple(build_feature(feature, members, built) for feature in features)


def guess_type(feature: SpecFeature) -> FeatureType:
    """Return the type of a feature that names none; its column may say otherwise."""
    return "category" if feature.category_labels else "number"


def build_feature(
    feature: SpecFeature, members: Mapping[str, str], groups: Mapping[str, Group]
) -> Feature:
    """Build a feature; a member of a bundle has cost 0 by default."""
    name = feature.group or members.get(feature.name)
    # A group that is not there is refused elsewhere.
    group = groups.get(name or "", Group(""))
    is_free = group.is_bundle and "cost" not in feature.model_fields_set
    values = dict(feature, type=feature.type or guess_type(feature), group=name)
    values["billing"] = feature.billing or group.billing
    values["missing"] = tuple(values["missing"] or ())
    values["missing_words"] = to_tuple(values["missing_words"])
    # These are learned from the column.
    del values["rare"], values["category_labels"]
    return Feature(**values | ({"cost": 0} if is_free else {}))

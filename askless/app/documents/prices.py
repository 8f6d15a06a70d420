"""Price lists in requests and in the database."""

import json
from typing import Annotated, Literal

from pydantic import Field

from askless.app.documents.fields import Amount, Key
from askless.app.documents.shape import Shape, read_shape
from askless.app.documents.stored import StoredShape
from askless.app.documents.words import Billing
from askless.core.catalogue.catalogue import Billing as CoreBilling
from askless.core.catalogue.catalogue import Catalogue, Group
from askless.core.catalogue.costs import check_fee
from askless.core.catalogue.price_lists import PriceList
from askless.core.errors import RefusedError
from askless.core.model.ranges import Micros

MAX_ITEMS = 10_000


class GroupPrice(Shape):
    """The one-time fee of a group, or the price of a bundle."""

    name: Key = Field(examples=["blood"])
    fee: Amount | None = Field(default=None, examples=[2.5])
    price: Amount | None = Field(default=None, examples=[None])
    billing: Billing | None = Field(
        default=None,
        examples=[None],
        description="By default what the model has; with a fee, of all its members.",
    )


class PriceListWish(Shape):
    """Prices of features and groups; fields are named as in a spec."""

    costs: Annotated[dict[Key, Amount], Field(max_length=MAX_ITEMS)] = Field(
        examples=[{"age": 1.0, "chol": 9.5}],
        description="One for each feature that the model reads, but for members of "
        "bundles.",
    )
    groups: list[GroupPrice] = Field(
        default_factory=list,
        max_length=MAX_ITEMS,
        examples=[[{"name": "blood", "fee": 2.5}]],
        description="Those that are left out keep what the model has.",
    )
    billing: dict[Key, Billing] = Field(
        default_factory=dict,
        max_length=MAX_ITEMS,
        examples=[{"age": "per_answer"}],
        description="By feature; those that are left out keep what the model has.",
    )

    def build(self, where: str) -> PriceList:
        """Return core's price list; `where` begins the fields of refusals."""
        refusals = [
            refusal
            for position, group in enumerate(self.groups)
            for refusal in check_fee(
                f"{where}.groups[{position}]", group.fee, group.price
            )
        ]
        if refusals:
            raise RefusedError(refusals)
        groups = (
            Group(group.name, group.fee or 0, group.price) for group in self.groups
        )
        billings = {
            group.name: group.billing
            for group in self.groups
            if group.billing is not None
        }
        return PriceList(self.costs, tuple(groups), self.billing, billings)


class StoredPrices(StoredShape):
    format: Literal["askless-prices"]
    version: Literal[1]
    costs: dict[str, Micros] = Field(alias="costs_micros")
    #: fees of groups, prices of bundles
    dues: dict[str, Micros] = Field(alias="dues_micros")
    #: of features outside of bundles, and of groups; {}: the model's
    billings: dict[str, CoreBilling] = Field(default_factory=dict)
    group_billings: dict[str, CoreBilling] = Field(default_factory=dict)
    #: features that pay no fee of a group
    alone: list[str] = Field(default_factory=list)


def write_prices(catalogue: Catalogue) -> str:
    """Return all prices of a catalogue as text; equal prices give equal texts."""
    document = StoredPrices(
        format="askless-prices",
        version=1,
        costs_micros={feature.name: feature.cost for feature in catalogue.features},
        dues_micros={
            group.name: due
            for group, due in zip(
                catalogue.groups, catalogue.fees.tolist(), strict=True
            )
        },
        billings={
            feature.name: feature.billing
            for idx, feature in enumerate(catalogue.features)
            if not catalogue.is_bundled[idx]
        },
        group_billings={group.name: group.billing for group in catalogue.groups},
        alone=[feature.name for feature in catalogue.features if not feature.group],
    )
    return json.dumps(document.model_dump(), ensure_ascii=False, separators=(",", ":"))


def parse_prices(text: str, catalogue: Catalogue) -> PriceList:
    """Read stored prices; the catalogue says which groups are bundles."""
    document = read_shape(StoredPrices, json.loads(text), "prices")
    groups = (
        Group(group.name, price=document.dues[group.name])
        if group.is_bundle
        else Group(group.name, fee=document.dues[group.name])
        for group in catalogue.groups
    )
    billings = document.billings, document.group_billings
    return PriceList(document.costs, tuple(groups), *billings, document.alone)

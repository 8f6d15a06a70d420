"""Vendors with prices, and cases of which each vendor knows some.

A vendor sells its features as a bundle, billed per call. It is empty on a case by a
chance that the case's hidden obscurity raises for all vendors alike.
"""

from collections.abc import Mapping
from dataclasses import fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.table.dataset import ClassLabel, Dataset
from benchmarks.data import MICROS


class Vendor(NamedTuple):
    """What is sold for a price; a category's type is the number of its values."""

    price: float
    #: chance of an answer on a case of no obscurity
    coverage: float
    types: Mapping[str, str | int]
    #: median and spread (of the logarithm) of the seconds that an answer takes
    seconds: tuple[float, float] = (0.0, 0.0)


class Market:
    """Vendors, the classes of cases, and how obscurity hides a case."""

    def __init__(
        self,
        vendors: tuple[Vendor, ...],
        classes: tuple[str, ...],
        obscurity: tuple[float, float],
        dimmed: float,
    ) -> None:
        self.vendors, self.classes = vendors, classes
        self.obscurity, self.dimmed = obscurity, dimmed
        #: by vendor
        self.prices: FloatArray = np.array([vendor.price for vendor in vendors])
        counts = [len(vendor.types) for vendor in vendors]
        #: the vendor of each feature
        self.vendor_of: IntArray = np.repeat(np.arange(len(vendors)), counts)

    @cached_property
    def catalogue(self) -> Catalogue:
        """Each vendor as a bundle; billed per call where the core knows billing."""
        knows_billing = "billing" in {field.name for field in fields(Group)}
        billing: Any = {"billing": "per_call"} if knows_billing else {}
        groups, features = [], []
        for number, vendor in enumerate(self.vendors):
            name = f"vendor{number}"
            groups.append(Group(name, price=round(vendor.price * MICROS), **billing))
            own = {"cost": 0, "group": name, **billing}
            features += [make_feature(*item, own) for item in vendor.types.items()]
        return Catalogue(tuple(features), tuple(groups))

    def list_features(self, vendors: IntArray | list[int]) -> IntArray:
        """Return the features that vendors sell, in the order of the catalogue."""
        return np.flatnonzero(np.isin(self.vendor_of, vendors))

    def draw_answers(self, n_rows: int, random: np.random.Generator) -> BoolArray:
        """Draw which vendor knows which case; (n_rows, n_vendors)."""
        obscurity = random.beta(*self.obscurity, n_rows)
        coverage = np.array([vendor.coverage for vendor in self.vendors])
        chances = coverage * (1.0 - self.dimmed * obscurity[:, None])
        answers: BoolArray = random.random(chances.shape) < chances
        return answers

    def draw_seconds(self, n_rows: int, random: np.random.Generator) -> FloatArray:
        """Draw how long each vendor takes for each case, empty or not; log-normal."""
        medians, spreads = np.array([vendor.seconds for vendor in self.vendors]).T
        noise = random.normal(0.0, spreads, (n_rows, spreads.size))
        return medians * np.exp(noise)

    def hide(
        self,
        columns: Mapping[str, FloatArray | IntArray],
        targets: IntArray,
        random: np.random.Generator,
    ) -> Dataset:
        """Return the cases with what their vendors don't know as missing."""
        answers = self.draw_answers(targets.size, random)
        names = [feature.name for feature in self.catalogue.features]
        values = np.column_stack([columns[name] for name in names]).astype(np.float64)
        return Dataset(
            self.catalogue,
            tuple(ClassLabel(name, name) for name in self.classes),
            np.where(answers[:, self.vendor_of], values, np.nan),
            targets.astype(np.int64),
            np.full(targets.size, 1.0 / targets.size),
        )

    def sum_prices(self, is_asked: np.ndarray) -> FloatArray:
        """Return the prices of the vendors asked; (n_rows, n_features) -> (n_rows,)."""
        owners = np.eye(self.prices.size)[self.vendor_of]
        asked: FloatArray = (is_asked @ owners > 0) @ self.prices
        return asked


def make_feature(name: str, type_: str | int, own: Mapping[str, Any]) -> Feature:
    if isinstance(type_, int):
        codes = tuple(map(str, range(type_)))
        return Feature(name, "category", categories=codes, **own)
    return Feature(name, type_, **own)

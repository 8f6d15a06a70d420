"""Leads of a made-up company, the six vendors that know something of them, and a form.

A seeded generator draws them: no company, person or vendor exists, and anybody may use
the data for anything.

A lead has two hidden traits, `means` and `need`, and comes from one of four sources.
The source decides which trait makes it good: the means for a fair, the need for a
search, both for an advert, either of them for a customer. Vendors see the traits
through noise. A hidden obscurity of the company decides which vendors have nothing of
it, so that their empty answers go together.
"""

import csv
from collections.abc import Mapping
from functools import cache
from io import BytesIO, StringIO
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SEED = 41
N_TRAINING = 1500
# The last rows, which training does not see: one of them is decided at a time.
N_SHOWN = 10
TARGET = "outcome"
GOOD, BAD = "good", "bad"
SOURCES = ("fair", "search", "advert", "customer")
ROLES = ("director", "manager", "staff")
FIRST_WORDS = (
    *("Amber", "Birch", "Cedar", "Delta", "Ember", "Fern", "Granite", "Harbour"),
    *("Indigo", "Juniper", "Kestrel", "Linden", "Maple", "North", "Opal", "Pine"),
)
LAST_WORDS = (
    *("Freight", "Dental", "Bakery", "Tools", "Textiles", "Optics", "Brewery"),
    *("Gardens", "Motors", "Paper"),
)

Floats = NDArray[np.float64]


class VendorTerms(NamedTuple):
    """The features that a vendor sells, its price, and the companies that it knows."""

    name: str
    #: micro-units of the dollar
    price: int
    billing: str
    features: tuple[str, ...]
    coverage: float


VENDORS = (
    VendorTerms("mailcheck", 1_000, "per_call", ("mail_score",), 0.97),
    VendorTerms("webprobe", 10_000, "per_call", ("technologies", "pages"), 0.93),
    VendorTerms("registry", 30_000, "per_call", ("age", "filings"), 0.92),
    VendorTerms("firmo", 80_000, "per_call", ("employees", "revenue", "growth"), 0.75),
    VendorTerms("intent", 200_000, "per_answer", ("searches", "visits"), 0.9),
    VendorTerms("analyst", 600_000, "per_answer", ("fit",), 0.95),
)
# The price of a wrong decision, and the most that a lead may cost; micro-units.
ERROR_PRICE, BUDGET = 3_000_000, 1_000_000
FORM = ("source", "role", "words")


class Lead(NamedTuple):
    """A lead that is decided: what its form says, and what vendors would answer."""

    name: str
    #: what vendors know it by
    domain: str
    known: Mapping[str, Any]
    #: by vendor; None: it has nothing of this company
    answers: Mapping[str, Mapping[str, float] | None]
    outcome: str


class Leads(NamedTuple):
    """Rows of leads, column by column; a missing number is NaN."""

    sources: list[str]
    roles: list[str]
    columns: Mapping[str, Floats]
    is_good: NDArray[np.bool_]


@cache
def draw_leads() -> Leads:
    """Draw the rows for training, then those that are shown."""
    return draw_rows(SEED, N_TRAINING + N_SHOWN)


def draw_rows(seed: int, n_rows: int) -> Leads:
    """Draw leads by a seed; another one brings others of the same kind."""
    rng = np.random.default_rng(seed)
    means, need, obscurity = rng.standard_normal((3, n_rows))
    obscurity -= 0.4 * means
    sources = rng.integers(len(SOURCES), size=n_rows)
    goodness = np.select(
        [sources == 0, sources == 1, sources == 2],
        [1.5 * means - 0.2, 1.5 * need - 0.2, 1.6 * np.minimum(means, need) + 0.4],
        1.3 * np.maximum(means, need) - 0.2,
    )
    is_good = goodness + 0.25 * rng.logistic(size=n_rows) > 0
    roles = np.digitize(0.5 * means + rng.standard_normal(n_rows), (-0.3, 0.9))

    def blur(trait: Floats, noise: float) -> Floats:
        return trait + noise * rng.standard_normal(n_rows)

    columns = {
        "words": np.rint(np.exp(3.2 + 0.5 * blur(need, 1.2))),
        "mail_score": np.rint(50 + 15 * blur((means + need) / 2, 0.8)),
        "technologies": np.rint(np.exp(2.0 + 0.4 * blur(need, 0.8))),
        "pages": np.rint(np.exp(3.5 + 0.8 * blur(means, 1.2))),
        "age": np.rint(np.exp(2.3 + 0.5 * blur(means, 0.8))),
        "filings": np.rint(np.exp(1.2 + 0.5 * blur(means, 1.2))),
        "employees": np.rint(np.exp(3.5 + 1.0 * blur(means, 0.4))),
        "revenue": np.round(np.exp(1.0 + 1.1 * blur(means, 0.5)), 1),
        "growth": np.rint(8 + 10 * blur(need, 1.2)),
        "searches": np.rint(np.exp(2.5 + 0.7 * blur(need, 0.4))),
        "visits": np.rint(np.exp(1.5 + 0.7 * blur(need, 0.6))),
        "fit": np.rint(50 + 15 * blur(goodness, 0.9)),
    }
    for vendor in VENDORS:
        hidden = blur(obscurity, 0.5)
        is_empty = hidden > np.quantile(hidden, vendor.coverage)
        for name in vendor.features:
            columns[name][is_empty] = np.nan
    return Leads(
        [SOURCES[idx] for idx in sources],
        [ROLES[len(ROLES) - 1 - idx] for idx in roles],
        columns,
        is_good,
    )


def cell(number: float) -> str:
    return "" if np.isnan(number) else f"{number:.10g}"


def read_training_rows() -> BytesIO:
    """Return the rows for training as CSV."""
    leads, text = draw_leads(), StringIO()
    names = [name for vendor in VENDORS for name in vendor.features]
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*FORM, *names, TARGET])
    for row in range(N_TRAINING):
        numbers = [leads.columns[name][row] for name in ("words", *names)]
        writer.writerow(
            [
                leads.sources[row],
                leads.roles[row],
                *map(cell, numbers),
                GOOD if leads.is_good[row] else BAD,
            ]
        )
    return BytesIO(text.getvalue().encode())


@cache
def list_shown() -> tuple[Lead, ...]:
    """Return the leads that a user may decide."""
    return tuple(make_lead(place) for place in range(N_SHOWN))


def make_lead(place: int) -> Lead:
    leads, row = draw_leads(), N_TRAINING + place
    name = f"{FIRST_WORDS[place]} {LAST_WORDS[place]}"
    known = {
        "source": leads.sources[row],
        "role": leads.roles[row],
        "words": float(leads.columns["words"][row]),
    }
    answers = {vendor.name: answer_of(leads, vendor, row) for vendor in VENDORS}
    domain = f"{name.lower().replace(' ', '-')}.example"
    return Lead(name, domain, known, answers, GOOD if leads.is_good[row] else BAD)


def answer_of(leads: Leads, vendor: VendorTerms, row: int) -> dict[str, float] | None:
    numbers = {name: float(leads.columns[name][row]) for name in vendor.features}
    return None if any(map(np.isnan, numbers.values())) else numbers

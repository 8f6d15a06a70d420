"""Made cases for eight priced vendors that don't know every case.

How a case is made, in this order; all draws are independent where nothing else is said.

- Its class is `good`, `slow` or `bad` with chances .45, .33 and .22; its kind `shop`,
  `plant` or `office` with .40, .35 and .25.
- Two numbers that nobody sees carry the class: size ~ N(-1.3, .3, 1.7 by class; 1) and
  trust ~ N(1.0, -1.4, .6 by class; 1).
- Its obscurity ~ Beta(.6, 1.8). Vendor v answers with chance coverage_v * (1 - .85 *
  obscurity), else all its features are missing: misses correlate by case. They say
  nothing of the class.

What the vendors answer; near-copies are staff and turnover, and the last two vendors'
readings of trust:

| price | coverage | features |
|---|---|---|
| .001 | .92 | region: category of six, with chance .25 one that leans to the class; |
|      |     | free_mail: boolean, true with .60, .40, .25 by class |
| .0025 | .86 | words: size + N(0, 2.5) |
| .006 | .74 | kind: category, right with .85; has_page: trust + N(0, 2) > 0 |
| .015 | .88 | staff: size + N(0, 1.2) of shops and plants, of offices N(0, 1.8) |
| .04 | .70 | turnover: staff + N(0, .3); band: size + N(0, 1.5), cut at -1, 0 and 1 |
| .10 | .80 | paid: trust + N(0, .5) of shops, else N(0, 1.5); late: paid < -.5, wrong |
|     |     | with .10; stock: size + N(0, 1.5) |
| .24 | .64 | score: trust + N(0, .5), of shops N(0, 1.5); |
|     |     | grade: size + N(0, .7), cut at -1.5, -.5, .5 and 1.5 |
| .60 | .82 | audit: score + N(0, .3), of shops trust + N(0, .4); |
|     |     | size: size + N(0, .5); verdict: the class, wrong with .30 |
"""

from collections.abc import Mapping

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.table.dataset import Dataset
from benchmarks.buying.market import Market, Vendor

CLASSES, CLASS_SHARES = ("good", "slow", "bad"), (0.45, 0.33, 0.22)
KINDS, KIND_SHARES = ("shop", "plant", "office"), (0.40, 0.35, 0.25)
SHOP, OFFICE = 0, 2
SIZES, TRUSTS = np.array([-1.3, 0.3, 1.7]), np.array([1.0, -1.4, 0.6])
FREE_MAIL = np.array([0.60, 0.40, 0.25])
N_REGIONS, LEANING = 6, 0.25
BANDS, GRADES = (-1.0, 0.0, 1.0), (-1.5, -0.5, 0.5, 1.5)

MARKET = Market(
    (
        Vendor(0.001, 0.92, {"region": N_REGIONS, "free_mail": "boolean"}),
        Vendor(0.0025, 0.86, {"words": "number"}),
        Vendor(0.006, 0.74, {"kind": len(KINDS), "has_page": "boolean"}),
        Vendor(0.015, 0.88, {"staff": "number"}),
        Vendor(0.04, 0.70, {"turnover": "number", "band": len(BANDS) + 1}),
        Vendor(0.10, 0.80, {"paid": "number", "late": "boolean", "stock": "number"}),
        Vendor(0.24, 0.64, {"score": "number", "grade": len(GRADES) + 1}),
        Vendor(
            *(0.60, 0.82),
            {"audit": "number", "size": "number", "verdict": len(CLASSES)},
        ),
    ),
    CLASSES,
    obscurity=(0.6, 1.8),
    dimmed=0.85,
)


def make_cases(n_rows: int, random: np.random.Generator) -> Dataset:
    """Return cases as the vendors know them; see above."""
    targets = random.choice(len(CLASSES), n_rows, p=CLASS_SHARES)
    return MARKET.hide(make_answers(targets, random), targets, random)


def make_answers(
    targets: IntArray, random: np.random.Generator
) -> Mapping[str, FloatArray | IntArray]:
    """Return what each feature would be if its vendor knew the case."""
    n_rows = targets.size

    def blur(values: FloatArray | float, spread: float) -> FloatArray:
        return values + random.normal(0.0, spread, n_rows)

    def is_drawn(chance: FloatArray | float) -> FloatArray:
        return random.random(n_rows) < chance

    kind = random.choice(len(KINDS), n_rows, p=KIND_SHARES)
    size, trust = blur(SIZES[targets], 1.0), blur(TRUSTS[targets], 1.0)
    other_kind = (kind + random.integers(1, len(KINDS), n_rows)) % len(KINDS)
    other_class = (targets + random.integers(1, len(CLASSES), n_rows)) % len(CLASSES)
    leaning = 2 * targets + random.integers(0, 2, n_rows)
    region = random.integers(0, N_REGIONS, n_rows)
    staff = np.where(kind == OFFICE, blur(0.0, 1.8), blur(size, 1.2))
    paid = np.where(kind == SHOP, blur(trust, 0.5), blur(0.0, 1.5))
    score = np.where(kind == SHOP, blur(0.0, 1.5), blur(trust, 0.5))
    return {
        "region": np.where(is_drawn(LEANING), leaning, region),
        "free_mail": is_drawn(FREE_MAIL[targets]),
        "words": blur(size, 2.5),
        "kind": np.where(is_drawn(0.85), kind, other_kind),
        "has_page": blur(trust, 2.0) > 0,
        "staff": staff,
        "turnover": blur(staff, 0.3),
        "band": np.digitize(blur(size, 1.5), BANDS),
        "paid": paid,
        "late": (paid < -0.5) ^ is_drawn(0.10),
        "stock": blur(size, 1.5),
        "score": score,
        "grade": np.digitize(blur(size, 0.7), GRADES),
        "audit": np.where(kind == SHOP, blur(trust, 0.4), blur(score, 0.3)),
        "size": blur(size, 0.5),
        "verdict": np.where(is_drawn(0.70), targets, other_class),
    }

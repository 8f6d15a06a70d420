"""Made cases of four ordered tiers, and eight vendors that don't know every case.

This text was written and committed before anything was run on it, and what it says has
not been tuned since. How a case is made, in this order; all draws are independent where
nothing else is said.

- Its class is a tier, `d`, `c`, `b` or `a` (0 to 3), with chances .34, .28, .22 and
  .16; its sector `shop`, `plant`, `office` or `fleet` with .30, .30, .25 and .15.
- Two numbers that nobody sees carry the tier: reach ~ N(tier, .45) and
  money ~ N(tier, .45). Neighbouring tiers overlap and others hardly do, so that near
  misses are commoner than far ones.
- A *reading* of the tier is right with a chance that stands below. A wrong one is a
  neighbour with chance .8 (each of two as likely), else any tier farther off.
- Its obscurity ~ Beta(.6, 1.8), which nobody sees. A vendor answers with chance
  coverage * (1 - .85 * obscurity), else all its features are missing: a case that one
  vendor doesn't know is less likely known to the others. Obscurity says nothing of the
  tier.

Prices are in dollars a call, and an empty answer is billed as any other. Seconds are
median and spread of a log-normal time; no figure rests on them yet.

| price | coverage | seconds | features |
|---|---|---|---|
| .001 | .95 | .1, .5 | sector: category of four, right with .9; |
|      |     |        | mail: boolean, true with .25, .40, .55, .70 by tier |
| .003 | .90 | .3, .5 | pages: reach + N(0, 1.5) |
| .008 | .80 | .5, .5 | staff: of plants and offices reach + N(0, .7), |
|      |     |        | of others N(1.5, 1.2) |
| .02  | .85 | .4, .5 | guess: a reading, right with .55 |
| .05  | .70 | 1.2, .5 | revenue: of shops and fleets money + N(0, .5), |
|      |     |        | of others N(1.5, 1.2); |
|      |     |        | band: money + N(0, 1), cut at .5, 1.5 and 2.5 |
| .12  | .80 | 2, .5  | turnover: revenue + N(0, .15), a near-copy; |
|      |     |        | filings: reach + N(0, .6) |
| .25  | .65 | 3, .9  | credit: of plants and offices money + N(0, .4), |
|      |     |        | of others money + N(0, 1); |
|      |     |        | grade: a reading, right with .75 |
| .60  | .85 | 8, .9  | audit: money + N(0, .25); visit: reach + N(0, .25); |
|      |     |        | verdict: a reading, right with .85 |
"""

from collections.abc import Mapping

import numpy as np

from askless.core.arrays import FloatArray, IntArray
from askless.core.table.dataset import Dataset
from benchmarks.buying.market import Market, Vendor

TIERS, TIER_SHARES = ("d", "c", "b", "a"), (0.34, 0.28, 0.22, 0.16)
SECTORS, SECTOR_SHARES = ("shop", "plant", "office", "fleet"), (0.30, 0.30, 0.25, 0.15)
SHOP, PLANT, OFFICE, FLEET = range(4)
SPREAD, NEAR = 0.45, 0.8
SECTOR_RIGHT = 0.9
READINGS = {"guess": 0.55, "grade": 0.75, "verdict": 0.85}
MAIL = np.array([0.25, 0.40, 0.55, 0.70])
BANDS = (0.5, 1.5, 2.5)
# What says nothing of the tier: its mean and spread.
OTHERS = (1.5, 1.2)

TIER, QUICK, SLOW = len(TIERS), 0.5, 0.9
MARKET = Market(
    (
        Vendor(0.001, 0.95, {"sector": len(SECTORS), "mail": "boolean"}, (0.1, QUICK)),
        Vendor(0.003, 0.90, {"pages": "number"}, (0.3, QUICK)),
        Vendor(0.008, 0.80, {"staff": "number"}, (0.5, QUICK)),
        Vendor(0.02, 0.85, {"guess": TIER}, (0.4, QUICK)),
        Vendor(0.05, 0.70, {"revenue": "number", "band": TIER}, (1.2, QUICK)),
        Vendor(0.12, 0.80, {"turnover": "number", "filings": "number"}, (2.0, QUICK)),
        Vendor(0.25, 0.65, {"credit": "number", "grade": TIER}, (3.0, SLOW)),
        Vendor(
            *(0.60, 0.85, {"audit": "number", "visit": "number", "verdict": TIER}),
            (8.0, SLOW),
        ),
    ),
    TIERS,
    obscurity=(0.6, 1.8),
    dimmed=0.85,
)


def make_cases(n_rows: int, random: np.random.Generator) -> Dataset:
    """Return cases as the vendors know them; see above."""
    targets = random.choice(len(TIERS), n_rows, p=TIER_SHARES)
    return MARKET.hide(make_answers(targets, random), targets, random)


def make_answers(
    targets: IntArray, random: np.random.Generator
) -> Mapping[str, FloatArray | IntArray]:
    """Return what each feature would be if its vendor knew the case."""
    n_rows = targets.size

    def blur(values: FloatArray | float, spread: FloatArray | float) -> FloatArray:
        return values + random.normal(0.0, spread, n_rows)

    sector = random.choice(len(SECTORS), n_rows, p=SECTOR_SHARES)
    is_heavy = (sector == PLANT) | (sector == OFFICE)
    reach, money = blur(targets, SPREAD), blur(targets, SPREAD)
    other = (sector + random.integers(1, len(SECTORS), n_rows)) % len(SECTORS)
    revenue = np.where(is_heavy, random.normal(*OTHERS, n_rows), blur(money, 0.5))
    return {
        "sector": np.where(random.random(n_rows) < SECTOR_RIGHT, sector, other),
        "mail": random.random(n_rows) < MAIL[targets],
        "pages": blur(reach, 1.5),
        "staff": np.where(is_heavy, blur(reach, 0.7), random.normal(*OTHERS, n_rows)),
        "guess": read_tiers(targets, READINGS["guess"], random),
        "revenue": revenue,
        "band": np.digitize(blur(money, 1.0), BANDS),
        "turnover": blur(revenue, 0.15),
        "filings": blur(reach, 0.6),
        "credit": blur(money, np.where(is_heavy, 0.4, 1.0)),
        "grade": read_tiers(targets, READINGS["grade"], random),
        "audit": blur(money, 0.25),
        "visit": blur(reach, 0.25),
        "verdict": read_tiers(targets, READINGS["verdict"], random),
    }


def read_tiers(
    targets: IntArray, chance: float, random: np.random.Generator
) -> IntArray:
    """Read each tier: right with a chance, else near more often than far."""
    ends = list_chances(chance).cumsum(axis=1)[targets]
    drawn = random.random(targets.size)[:, None] >= ends
    return np.minimum(drawn.sum(axis=1), TIER - 1)


def list_chances(chance: float) -> FloatArray:
    """Return the chance of each reading (across) of each tier."""
    tiers = np.arange(TIER)
    distances = abs(tiers[:, None] - tiers)
    near, far = distances == 1, distances > 1
    wrong = NEAR * near / near.sum(axis=1, keepdims=True)
    wrong += (1.0 - NEAR) * far / far.sum(axis=1, keepdims=True)
    chances: FloatArray = chance * np.eye(TIER) + (1.0 - chance) * wrong
    return chances

"""Which rows train and test, and what features cost: all of it drawn by set and draw.

`uniform` draws a price for every feature; `fees` lays groups with a fee, a bundle and
dear features over the same prices. Rows are the same under both.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from askless.core.catalogue.catalogue import Catalogue, Group
from askless.core.catalogue.prices import total_cost
from askless.core.table.dataset import ClassLabel, Dataset
from benchmarks import data
from benchmarks.data import MICROS, Table

SEED = 11
N_TRAIN, N_TEST = 1000, 4000
MAX_PRICE, LEAST_PRICE = 2.0, 0.001
BUDGETS = tuple(range(2, 25, 2))
SHARES = tuple(round(0.1 * 10 ** (step / 4), 3) for step in range(5))

# Of `fees`: in usual prices, which are 1.
DEAR, FEES, MEMBER_SHARE, BUNDLE_SHARE = 60, (2, 8), 0.2, 0.7
MOST_BUNDLED, MOST_IN_GROUP, FEATURES_OF_TWO_DEAR = 4, 5, 12
MISSING = "~missing"

# Those that panels was made on, and others. Small ones first: a run that is stopped
# early has most of them.
SMALL = ("ecoli", "heart_cleveland", "pima", "sonar", "ionosphere", "wdbc")
LARGE = ("splice_onehot", "ocr17", "ocr49", "adult_onehot")
DEVELOPMENT = frozenset((*SMALL, *LARGE))
OTHERS = (
    *("bupa", "hepatitis", "breast_cancer_wisconsin", "house_votes", "australian"),
    *("credit_approval", "horse_colic", "thyroid_ann"),
)
SETS = (*SMALL, *OTHERS, *LARGE)


@dataclass(frozen=True)
class Draw:
    """Rows to train and to test on, with prices, and budgets in micro-units."""

    training: Dataset
    testing: Dataset
    budgets: tuple[int, ...]


@lru_cache(maxsize=4)
def load(name: str) -> Table:
    """Read a set; of several classes the largest against all others."""
    table = data.load(name, is_two_class=False)
    if len(table.classes) == 2:
        return table
    if name in data.JOINED:
        return data.load(name)
    largest = int(np.bincount(table.targets).argmax())
    classes = (table.classes[largest], ClassLabel("other", "other"))
    return replace(
        table, classes=classes, targets=(table.targets != largest).astype(np.int64)
    )


def draw(table: Table, protocol: str, number: int) -> Draw:
    """Draw rows and prices of a set."""
    generator = np.random.default_rng([SEED, number, *table.name.encode()])
    order = generator.permutation(table.n_samples)
    n_train = min(N_TRAIN, 2 * table.n_samples // 3)
    table = fill(table, order[:n_train])
    units = generator.uniform(0.0, MAX_PRICE, table.n_features)
    prices = np.rint(np.maximum(units, LEAST_PRICE) * MICROS).astype(np.int64)
    training = table.training(order[:n_train], prices)
    catalogue, budgets = PROTOCOLS[protocol](training.catalogue, generator)
    training = replace(training, catalogue=catalogue)
    testing = table.encode(order[n_train : n_train + N_TEST], catalogue)
    return Draw(training, testing, budgets)


def fill(table: Table, row_idxs: Sequence[int]) -> Table:
    """Put values where cells are missing, so that all methods read the same table.

    Of a category one of its own, else the median of the rows to train on.
    """
    values, features = table.values.copy(), list(table.features)
    for idx, feature in enumerate(features):
        is_missing = np.isnan(values[:, idx])
        if not is_missing.any():
            continue
        if feature.type == "category":
            features[idx] = replace(feature, categories=(*feature.categories, MISSING))
            values[is_missing, idx] = len(feature.categories)
        else:
            seen = values[row_idxs, idx]
            values[is_missing, idx] = np.nanquantile(seen, 0.5, method="lower")
    return replace(table, values=values, features=tuple(features))


def keep_uniform(
    catalogue: Catalogue, _: np.random.Generator
) -> tuple[Catalogue, tuple[int, ...]]:
    return catalogue, tuple(budget * MICROS for budget in BUDGETS)


def lay_fees(
    catalogue: Catalogue, generator: np.random.Generator
) -> tuple[Catalogue, tuple[int, ...]]:
    """Lay a bundle, dear features and groups over the features, in drawn order.

    The bundle takes a sixth of the features (2 to 4) at 0.7 of their sum; one feature,
    of 12 features two, costs 60 times the usual price; of the others half are in groups
    of 2 to 5, each with a fee of 2 to 8, after which a member costs a fifth.
    """
    features = list(catalogue.features)
    order = generator.permutation(len(features)).tolist()
    size = min(MOST_BUNDLED, max(2, len(features) // 6))
    bundled, order = order[:size], order[size:]
    price = int(BUNDLE_SHARE * sum(features[idx].cost for idx in bundled))
    groups = [Group("bundle", price=price)]
    for idx in bundled:
        features[idx] = replace(features[idx], group="bundle", cost=0)
    n_dear = 2 if len(features) >= FEATURES_OF_TWO_DEAR else 1
    for idx in order[:n_dear]:
        features[idx] = replace(features[idx], cost=DEAR * MICROS)
    order = order[n_dear:]
    left = order[: max(2, len(order) // 2)]
    while len(left) > 1:
        size = min(int(generator.integers(2, MOST_IN_GROUP + 1)), len(left))
        fee = int(generator.uniform(*FEES) * MICROS)
        groups.append(Group(f"group {len(groups)}", fee=fee))
        for idx in left[:size]:
            cost = int(MEMBER_SHARE * features[idx].cost)
            features[idx] = replace(features[idx], group=groups[-1].name, cost=cost)
        left = left[size:]
    priced = replace(catalogue, features=tuple(features), groups=tuple(groups))
    most = total_cost(priced)
    return priced, tuple(int(share * most) for share in SHARES)


Lay = Callable[[Catalogue, np.random.Generator], tuple[Catalogue, tuple[int, ...]]]
PROTOCOLS: dict[str, Lay] = {"uniform": keep_uniform, "fees": lay_fees}

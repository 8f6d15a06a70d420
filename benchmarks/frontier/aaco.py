"""The acquisition conditioned oracle (Valancius, Lennon and Oliva 2024), under budgets.

For each row anew: the training rows nearest by what is known say which set is worth
buying, what costs and predicts least over them; of this set one purchase is made.
Few enough features for all sets to be looked at, as in the authors' smaller trials.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, compress, product

import lightgbm
import numpy as np

from askless.core.arrays import BoolArray, FloatArray, IntArray
from askless.core.table.dataset import Dataset
from benchmarks.frontier.draws import Draw
from benchmarks.frontier.measures import Method, find_losses, measure
from benchmarks.frontier.rivals import BASE, lay, make_shop

MOST_OFFERS = 13
N_FOLDS, SEED, TINY = 4, 11, 1e-9

# Leaves, learning rate and rounds of the predictor for any set; each row is shown so
# often, every time with other features hidden, and a leaf holds so many rows.
SETTINGS = ((8, 0.08, 100), (15, 0.05, 200), (31, 0.05, 300))
N_SHOWN, LEAF_ROWS = 30, 3

# Neighbours, and log-loss that the whole budget counts as; a pair by training rows.
NEIGHBOURS, STRENGTHS = (5, 20, 50), (0.0, 0.03, 0.1, 0.3)
MOST_TUNED_ON = 60


@dataclass(frozen=True)
class Oracle:
    """What training rows say about all sets of offers; a set is a number of bits."""

    #: (n_sets,), in micro-units
    prices: IntArray
    #: (n_train, n_sets), log-loss by what was not fitted to the row
    losses: FloatArray

    @cached_property
    def means(self) -> FloatArray:
        """Mean loss of all training rows; (n_sets,)."""
        means: FloatArray = self.losses.mean(axis=0)
        return means

    def average(self, rows: IntArray | None, sets: IntArray) -> FloatArray:
        """Mean loss of some training rows, None: of all, by some sets; (n_sets,)."""
        if rows is None:
            return self.means[sets]
        means: FloatArray = self.losses[rows[:, None], sets].mean(axis=0)
        return means


@dataclass(frozen=True)
class Rule:
    """How many neighbours say, and what the whole budget counts as."""

    n_neighbours: int
    strength: float


class AnySet:
    """LightGBM on training rows with features hidden, which predicts from any set.

    One is fitted to all rows, and one to each choice of folds but one.
    """

    def __init__(self, dataset: Dataset, setting: tuple[int, float, int]) -> None:
        self.offers = make_shop(dataset).offers
        self.rows, self.owners = self.lay(dataset)
        self.targets, self.setting = dataset.targets, setting
        self.folds = np.arange(dataset.n_samples) % N_FOLDS
        generator = np.random.default_rng(SEED)
        shape = (N_SHOWN, dataset.n_samples)
        shares = generator.uniform(size=(*shape, 1))
        self.shown = generator.uniform(size=(*shape, len(self.offers))) < shares
        everyone = np.ones(dataset.n_samples, np.bool_)
        self.whole = self.fit(everyone)
        self.parts = [self.fit(self.folds != fold) for fold in range(N_FOLDS)]

    def lay(self, dataset: Dataset) -> tuple[FloatArray, IntArray]:
        """Return the columns of all offers, and the offer of each."""
        laid = [lay(dataset, one) for one in self.offers]
        sizes = [one.shape[1] for one in laid]
        return np.hstack(laid), np.repeat(np.arange(len(laid)), sizes)

    def hide(self, rows: FloatArray, has: BoolArray) -> FloatArray:
        """Return rows without what isn't had; (n_rows, n_columns)."""
        return np.where(has[..., self.owners], rows, np.nan)

    def fit(self, is_row: BoolArray) -> lightgbm.Booster:
        leaves, rate, rounds = self.setting
        params = {**BASE, "num_leaves": leaves, "learning_rate": rate}
        params |= {"min_data_in_leaf": LEAF_ROWS * N_SHOWN}
        rows = np.vstack([self.hide(self.rows, one)[is_row] for one in self.shown])
        targets = np.tile(self.targets[is_row], N_SHOWN)
        return lightgbm.train(params, lightgbm.Dataset(rows, targets), rounds)

    def predict_held_out(self, has: BoolArray) -> FloatArray:
        """Predict training rows by what wasn't fitted to them; `has` as in `hide`."""
        hidden, chances = self.hide(self.rows, has), np.empty(self.targets.size)
        for fold, part in enumerate(self.parts):
            is_out = self.folds == fold
            chances[is_out] = part.predict(hidden[is_out], num_threads=1)
        return chances

    @cached_property
    def held_out_loss(self) -> float:
        chances = np.column_stack([self.predict_held_out(one) for one in self.shown])
        return float(find_losses(chances, self.targets).mean())


def play_aaco(drawn: Draw) -> Method:
    """Play a session for every test row and budget."""
    training, testing = drawn.training, drawn.testing
    predictor = min(
        (AnySet(training, one) for one in SETTINGS), key=lambda one: one.held_out_loss
    )
    has = list_sets(len(predictor.offers))
    oracle = ask_training(drawn, predictor, has)
    rows, tests = predictor.rows, predictor.lay(testing)[0]
    generator = np.random.default_rng(SEED)
    few = generator.permutation(training.n_samples)[:MOST_TUNED_ON]
    inner = find_distances(rows[few], predictor)
    inner[:, np.arange(few.size), few] = np.inf
    outer = find_distances(tests, predictor)
    rules = [Rule(*one) for one in product(NEIGHBOURS, STRENGTHS)]
    ends = []
    for budget in drawn.budgets:
        found = [play_rows(oracle, inner, budget, rule) for rule in rules]
        losses = [oracle.losses[few, one].mean() for one in found]
        best = rules[int(np.argmin(losses))]
        ends.append(play_rows(oracle, outer, budget, best))
    chances = [
        predictor.whole.predict(predictor.hide(tests, has[one]), num_threads=1)
        for one in ends
    ]
    spent = oracle.prices[np.column_stack(ends)]
    return measure(np.column_stack(chances), testing.targets, spent, drawn.budgets)


def list_sets(n_offers: int) -> BoolArray:
    """Return which offers each set has; (n_sets, n_offers)."""
    sets = np.arange(2**n_offers)
    has: BoolArray = (sets[:, None] >> np.arange(n_offers)) % 2 == 1
    return has


def ask_training(drawn: Draw, predictor: AnySet, has: BoolArray) -> Oracle:
    """Find price and held-out losses of all sets."""
    shop, targets = make_shop(drawn.training), drawn.training.targets
    prices = [
        shop.price(chain.from_iterable(compress(shop.offers, one))) for one in has
    ]
    chances = np.column_stack([predictor.predict_held_out(one) for one in has])
    return Oracle(np.array(prices), find_losses(chances, targets))


def find_distances(rows: FloatArray, predictor: AnySet) -> FloatArray:
    """Squared distances to training rows by offer; (n_offers, n_rows, n_train)."""
    means, scales = predictor.rows.mean(axis=0), predictor.rows.std(axis=0) + TINY
    there, here = (predictor.rows - means) / scales, (rows - means) / scales
    columns = [
        np.flatnonzero(predictor.owners == one) for one in range(len(predictor.offers))
    ]
    return np.stack(
        [
            ((here[:, None, one] - there[None, :, one]) ** 2).sum(axis=-1)
            for one in columns
        ]
    )


def play_rows(
    oracle: Oracle, distances: FloatArray, budget: int, rule: Rule
) -> IntArray:
    """Return the set that each row ends with; (n_rows,)."""
    n_offers, n_rows, _ = distances.shape
    fees = rule.strength * oracle.prices / budget
    payable = np.flatnonzero(oracle.prices <= budget)
    singles = 1 << np.arange(n_offers)
    ends = np.zeros(n_rows, np.int64)
    for row in range(n_rows):
        held, sets = 0, payable
        while True:
            sets = sets[sets & held == held]
            near = find_near(distances[:, row], held, rule.n_neighbours)
            aim = sets[np.argmin(oracle.average(near, sets) + fees[sets])]
            wanted = singles[(aim & ~held & singles) > 0] | held
            if not wanted.size:
                break
            held = int(wanted[np.argmin(oracle.average(near, wanted))])
        ends[row] = held
    return ends


def find_near(distances: FloatArray, held: int, n_neighbours: int) -> IntArray | None:
    """Return the training rows nearest by what is held; None, all, where nothing is."""
    n_offers, n_train = distances.shape
    if held == 0:
        return None
    is_held = (held >> np.arange(n_offers)) % 2 == 1
    far = distances[is_held].sum(axis=0)
    return np.argpartition(far, min(n_neighbours, n_train) - 1)[:n_neighbours]

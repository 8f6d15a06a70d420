"""LightGBM by hand for five budgets, as in `benchmarks.by_hand`, for any table.

Forward selection by the log-loss of 4 folds, then for each set the best of a few
settings, calibrated. It is what a training by `auto` is timed against.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import lightgbm
import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from benchmarks.frontier.rivals import QUICK, SETTINGS, Set
from core.arrays import FloatArray
from core.table.dataset import Dataset

N_FOLDS, LEAST_CHANCE, LEAST_PRICE = 4, 1e-6, 0.01
Setting = tuple[int, float, int]


@dataclass
class Hand:
    """The work of one table; a set whose loss is known isn't fitted again."""

    dataset: Dataset
    n_threads: int = 1
    losses: dict[Set, float] = field(default_factory=dict)
    #: what each loss took, and what those would have that were known
    seconds: dict[Set, float] = field(default_factory=dict)
    spared_s: float = 0.0

    @property
    def folds(self) -> StratifiedKFold:
        return StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)

    def work(self, budgets: Sequence[float]) -> dict[float, Any]:
        """Choose, tune and fit for each budget."""
        return {budget: self.fit(self.choose(budget)) for budget in budgets}

    def choose(self, budget: float) -> Set:
        """Add what lowers the loss most per unit of money, as long as it does."""
        prices = self.dataset.catalogue.costs
        chosen: Set = ()
        now = self.find_loss(chosen)
        while True:
            left = budget - prices[list(chosen)].sum()
            gains = {
                idx: (now - self.find_loss((*chosen, idx)))
                / max(float(prices[idx]), LEAST_PRICE)
                for idx in range(prices.size)
                if idx not in chosen and prices[idx] <= left
            }
            best = max(gains, key=gains.__getitem__, default=None)
            if best is None or gains[best] <= 0:
                return chosen
            chosen = (*chosen, best)
            now = self.find_loss(chosen)

    def fit(self, chosen: Set) -> Any:
        """Fit the best of the settings, calibrated; None where nothing was chosen."""
        if not chosen:
            return None
        best = min(SETTINGS, key=partial(self.find_held_out_loss, chosen))
        model = self.make_model(best)
        fitted = CalibratedClassifierCV(model, method="sigmoid", cv=N_FOLDS)
        told = self.tell_categories(chosen)
        return fitted.fit(self.take(chosen), self.dataset.targets, **told)

    def find_loss(self, chosen: Set) -> float:
        key = tuple(sorted(chosen))
        if key in self.losses:
            self.spared_s += self.seconds[key]
            return self.losses[key]
        start = time.process_time()
        self.losses[key] = self.find_held_out_loss(key, QUICK)
        self.seconds[key] = time.process_time() - start
        return self.losses[key]

    def find_held_out_loss(self, chosen: Set, setting: Setting) -> float:
        """Return the log-loss over folds."""
        targets = self.dataset.targets
        chances = np.tile(self.dataset.priors, (targets.size, 1))
        if chosen:
            chances = cross_val_predict(
                self.make_model(setting),
                self.take(chosen),
                targets,
                cv=self.folds,
                method="predict_proba",
                params=self.tell_categories(chosen),
            )
        told = chances[np.arange(targets.size), targets]
        return -float(np.log(np.clip(told, LEAST_CHANCE, 1)).mean())

    def make_model(self, setting: Setting) -> lightgbm.LGBMClassifier:
        leaves, rate, rounds = setting
        few_rows = {"min_data_per_group": 5, "cat_smooth": 1, "cat_l2": 1}
        return lightgbm.LGBMClassifier(
            n_estimators=rounds,
            num_leaves=leaves,
            learning_rate=rate,
            min_child_samples=5,
            verbose=-1,
            n_jobs=self.n_threads,
            **few_rows,
        )

    def tell_categories(self, chosen: Set) -> dict[str, list[int]]:
        """Return which columns hold codes of categories, for a fit."""
        features = self.dataset.catalogue.features
        types = [features[idx].type for idx in chosen]
        places = [place for place, one in enumerate(types) if one == "category"]
        return {"categorical_feature": places}

    def take(self, chosen: Set) -> FloatArray:
        return self.dataset.values[:, list(chosen)]

"""Who takes part in a comparison: ours and the peers, each at its best settings.

A party bins a table in one of its layouts, and boosts what it binned in one of its
modes, which returns the number of rounds made. Input arrays are made beforehand, in the
types that the library likes best.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from askless.core.codes.binning import bin_values
from askless.core.table.dataset import Dataset
from askless.core.training.params import BoostParams
from benchmarks.bench.runs import timed
from benchmarks.bench.scale import BINS, SEED, THREADS, Shape
from benchmarks.engine import boost_rounds
from benchmarks.made import make_table


class Askless:
    """Reads the table as a training does: float64, row by row."""

    layouts = ("float64",)
    modes = ("stumps",)

    def __init__(self, table: Dataset, rounds: int) -> None:
        self.table = table
        self.params = BoostParams("adaboost", rounds=rounds)

    def bin(self, _layout: str) -> Any:
        return bin_values(self.table)

    def boost(self, binned: Any, _mode: str) -> int:
        return len(list(boost_rounds(self.table, self.params, binned)))


class Peer:
    """A library that bins, and the table in the types that it may be given."""

    name: str

    def __init__(self, table: Dataset, rounds: int) -> None:
        self.library, self.rounds = import_module(self.name), rounds
        self.targets = table.targets.astype(np.float32)
        whole = table.values.astype(np.float32)
        self.inputs = {
            "float64": table.values,
            "float32": whole,
            "float32 by columns": np.asfortranarray(whole),
        }


class LightGBM(Peer):
    """Layouts are inputs of `Dataset.construct`, modes are those of its histograms."""

    name = "lightgbm"
    layouts = ("float64", "float32", "float32 by columns", "float32 unbundled")
    modes = ("col-wise", "row-wise", "col-wise quantized", "row-wise quantized")
    params: ClassVar = {
        "objective": "binary",
        "num_leaves": 2,
        "max_bin": BINS,
        "min_data_in_leaf": 1,
        "num_threads": THREADS,
        "verbosity": -1,
    }

    def bin(self, layout: str) -> Any:
        params = self.params | {"enable_bundle": "unbundled" not in layout}
        values = self.inputs[layout.removesuffix(" unbundled")]
        data = self.library.Dataset(values, self.targets, params=params)
        return data.construct(), params

    def boost(self, binned: Any, mode: str) -> int:
        data, params = binned
        chosen = {
            f"force_{mode[:3]}_wise": True,
            "use_quantized_grad": "quantized" in mode,
        }
        booster = self.library.train(
            params | chosen, data, self.rounds, keep_training_booster=True
        )
        return int(booster.num_trees())


class XGBoost(Peer):
    """Layouts are inputs of `QuantileDMatrix`."""

    name = "xgboost"
    layouts = ("float64", "float32", "float32 by columns")
    modes = ("hist",)

    def bin(self, layout: str) -> Any:
        return self.library.QuantileDMatrix(
            self.inputs[layout], self.targets, max_bin=BINS, nthread=THREADS
        )

    def boost(self, binned: Any, mode: str) -> int:
        params = {
            "objective": "binary:logistic",
            "tree_method": mode,
            "max_depth": 1,
            "max_bin": BINS,
            "min_child_weight": 0,
            "base_score": 0.5,
            "nthread": THREADS,
        }
        booster = self.library.train(params, binned, self.rounds)
        return int(booster.num_boosted_rounds())


class AdaBoost:
    """scikit-learn's, on its default learner, a tree of depth 1; it does not bin."""

    layouts = ()
    modes = ("stumps",)

    def __init__(self, table: Dataset, rounds: int) -> None:
        # float32, row by row, is what its trees work on; anything else is copied.
        self.values = table.values.astype(np.float32)
        self.targets, self.rounds = table.targets, rounds

    def boost(self, _binned: Any, _mode: str) -> int:
        from sklearn.ensemble import AdaBoostClassifier

        model = AdaBoostClassifier(n_estimators=self.rounds, random_state=SEED)
        return len(model.fit(self.values, self.targets).estimators_)


PARTIES: Mapping[str, type[Any]] = {
    "askless": Askless,
    "askless_avx2": Askless,
    "lightgbm": LightGBM,
    "xgboost": XGBoost,
    "adaboost": AdaBoost,
}


class Seat:
    """A party with its table and what it binned last."""

    #: The only one of this process.
    here: ClassVar["Seat"]

    def __init__(self, name: str, table: Dataset, rounds: int) -> None:
        self.party, self.rounds = PARTIES[name](table, rounds), rounds
        self.binned: Any = None

    def bin(self, layout: str) -> float:
        self.binned = None
        seconds, self.binned = timed(lambda: self.party.bin(layout))
        return seconds

    def boost(self, mode: str) -> float:
        seconds, n_rounds = timed(lambda: self.party.boost(self.binned, mode))
        assert n_rounds == self.rounds, f"{n_rounds} rounds instead of {self.rounds}"
        return seconds


def sit_down(name: str, shape: Shape, is_binary: bool) -> None:
    table = make_table(shape.rows, shape.features, is_binary=is_binary)
    Seat.here = Seat(name, table, shape.rounds)


def bin_once(layout: str) -> float:
    return Seat.here.bin(layout)


def boost_once(mode: str) -> float:
    return Seat.here.boost(mode)

"""Test error on sets of several classes, beside scikit-learn's AdaBoost.

The same rows in training and test, the same rounds and the same learner; nothing is
tuned. Products have no peer.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from askless.core.arrays import FloatArray
from askless.core.simulation.curves import evaluate
from askless.core.table.dataset import Dataset
from askless.core.training.params import BoostParams
from benchmarks import intervals
from benchmarks.bench.runs import in_child
from benchmarks.bench.scale import SEED, Scale
from benchmarks.data import load
from benchmarks.engine import train_ensemble

SETS = ("vehicle", "glass", "splice", "led")
LEARNERS = ("stump", "tree", "product")
TEST_SHARE = 0.3
LEAVES, FACTORS = 8, 3


def measure_accuracy(scale: Scale) -> dict[str, Any]:
    return {
        "rounds": scale.error_rounds,
        "splits": scale.error_splits,
        "test_share": TEST_SHARE,
        "leaves": LEAVES,
        "factors": FACTORS,
        "sets": {name: in_child(run_set, name, scale) for name in SETS},
    }


def run_set(name: str, scale: Scale) -> dict[str, Any]:
    table = load(name, is_two_class=False)
    shuffle = StratifiedShuffleSplit(
        scale.error_splits, test_size=TEST_SHARE, random_state=SEED
    )
    splits = []
    for rows, others in shuffle.split(table.values, table.targets):
        training = table.training(rows)
        splits.append((training, table.encode(others, training.catalogue)))
    result: dict[str, Any] = {
        "classes": len(table.classes),
        "features": table.n_features,
        "training_rows": splits[0][0].n_samples,
        "test_rows": splits[0][1].n_samples,
        "learners": {},
    }
    ratio = result["test_rows"] / result["training_rows"]
    for learner in LEARNERS:
        ours = [our_error(*split, learner, scale.error_rounds) for split in splits]
        entry: dict[str, Any] = {"askless": interval(ours, ratio)}
        if learner != "product":
            theirs = [
                peer_error(*split, learner, scale.error_rounds, seed)
                for seed, split in enumerate(splits)
            ]
            entry["adaboost"] = interval(theirs, ratio)
            entry["difference"] = interval(np.subtract(ours, theirs), ratio)
        result["learners"][learner] = entry
        print(f"accuracy: {name}, {learner}", flush=True)
    return result


def our_error(training: Dataset, testing: Dataset, learner: str, rounds: int) -> float:
    params = BoostParams(
        "adaboost", rounds=rounds, learner=learner, leaves=LEAVES, factors=FACTORS
    )
    ensemble = train_ensemble(training, params)
    return 100 * evaluate(ensemble, testing, (None,)).errors[0]


def peer_error(
    training: Dataset, testing: Dataset, learner: str, rounds: int, seed: int
) -> float:
    size = {"max_depth": 1} if learner == "stump" else {"max_leaf_nodes": LEAVES}
    model = AdaBoostClassifier(
        DecisionTreeClassifier(**size), n_estimators=rounds, random_state=seed
    )
    values, others = one_hot(training, testing)
    is_wrong = model.fit(values, training.targets).predict(others) != testing.targets
    return 100 * float(is_wrong.mean())


def one_hot(training: Dataset, testing: Dataset) -> tuple[FloatArray, FloatArray]:
    """Categories as one column each of 0 and 1, those seen in training."""
    is_category = [
        feature.type == "category" for feature in training.catalogue.features
    ]
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((encoder, is_category), remainder="passthrough")
    columns.fit(training.values)
    return columns.transform(training.values), columns.transform(testing.values)


def interval(figures: Sequence[float] | FloatArray, ratio: float) -> dict[str, float]:
    """Mean over the splits, and half the width of its 95 % interval.

    Student's t, the variance enlarged for splits that share rows (Nadeau and Bengio
    2003): 1/n becomes 1/n + test rows/training rows.
    """
    found = intervals.interval(figures)
    half = found.half * np.sqrt(1 + len(figures) * ratio)
    return {"mean": round(found.mean, 2), "half_width": round(float(half), 2)}

"""A small training with much in it: a model, and the rounds it was made of."""

import numpy as np
import pytest

from askless.core.catalogue.catalogue import Catalogue, Feature, Group
from askless.core.model.model import Model
from askless.core.table.dataset import ClassLabel, Dataset
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round
from tests.small import pull, train


@pytest.fixture(scope="session")
def training() -> tuple[Model, tuple[Round, ...]]:
    rng = np.random.default_rng(0)
    values = np.column_stack(
        [rng.normal(size=60), rng.integers(0, 3, 60), rng.integers(0, 2, 60)]
    ).astype(float)
    values[3, 0] = np.nan
    noise = rng.normal(size=60)
    dataset = Dataset(
        Catalogue(
            (
                Feature("n", label="Number", unit="m"),
                Feature("c", "category", 0, group="pack", categories=("p", "q", "r")),
                Feature("b", "boolean", 2_000_000, group="fee"),
            ),
            (Group("pack", price=3_000_000), Group("fee", 500_000, label="a fee")),
            "EUR",
        ),
        (ClassLabel("0", "no"), ClassLabel("1", "yes")),
        values,
        (np.nan_to_num(values[:, 0]) + values[:, 2] + noise > 0.5).astype(np.int64),
        np.full(60, 1 / 60),
    )
    progress, model = pull(
        train(
            dataset,
            BoostParams("hybrid", rounds=6),
            name="m",
            target="y",
            folds=2,
            error_costs=((0.0, 1.0), (4.0, 0.0)),
        )
    )
    return model, tuple(share.added for share in progress if share.added is not None)


@pytest.fixture(scope="session")
def trained_model(training: tuple[Model, tuple[Round, ...]]) -> Model:
    return training[0]


@pytest.fixture(scope="session")
def trained_rounds(training: tuple[Model, tuple[Round, ...]]) -> tuple[Round, ...]:
    return training[1]

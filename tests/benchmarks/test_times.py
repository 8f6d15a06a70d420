"""LightGBM by hand on a small made table, and the table of times."""

import numpy as np
import pytest

pytest.importorskip("lightgbm", reason="lightgbm, of the extra `bench`, is absent")

from benchmarks.frontier.hand import Hand
from benchmarks.frontier.times import TABLES, Wanted, generate, write_rows
from core.table.catalogue import Catalogue, Feature
from core.table.dataset import ClassLabel, Dataset
from core.table.prices import total_cost


def make_dataset() -> Dataset:
    """The category tells; it and two numbers cost the same."""
    generator = np.random.default_rng(0)
    codes, numbers = generator.integers(0, 3, 120), generator.normal(size=(120, 2))
    features = (
        *(Feature(name, cost=1_000_000) for name in ("x", "y")),
        Feature("kind", "category", categories=("a", "b", "c"), cost=1_000_000),
    )
    return Dataset(
        catalogue=Catalogue(features),
        classes=(ClassLabel("no", "no"), ClassLabel("yes", "yes")),
        values=np.column_stack((numbers, codes)),
        targets=(codes == 1).astype(np.int64),
        weights=np.full(120, 1 / 120),
    )


def test_by_hand_the_category_that_tells_is_bought() -> None:
    dataset = make_dataset()

    fitted = Hand(dataset).work([0.5e6, 1e6])

    assert fitted[0.5e6] is None
    told = fitted[1e6].predict(dataset.values[:, [2]])
    assert (told == dataset.targets).all()


def test_by_hand_a_known_set_is_not_fitted_again() -> None:
    hand = Hand(make_dataset())
    hand.choose(1e6)
    n_fitted = len(hand.losses)

    hand.choose(1e6)

    assert len(hand.losses) == n_fitted
    assert hand.spared_s > 0


def test_generated_tables_have_what_is_wanted() -> None:
    dataset = generate(Wanted("tiny", 150, 8, 3))

    assert dataset.values.shape == (150, 8)
    assert len(dataset.classes) == 3
    assert total_cost(dataset.catalogue) > 0


def test_tables_that_both_measured_are_shown_with_the_mean_ratio() -> None:
    shape = {"n_samples": 1, "n_features": 1, "n_classes": 2, "wall_s": 1.0}
    auto = {"processor_s": 4.0, "spared_s": 0.0, **shape}
    hand = {"processor_s": 2.0, "spared_s": 2.0, **shape}
    title = TABLES[0].title

    shown = list(write_rows({(title, "auto", 1): auto, (title, "hand", 1): hand}))

    assert [row[6:8] for row in shown] == [("2.00", "1.00"), ("**2.00**", "**1.00**")]

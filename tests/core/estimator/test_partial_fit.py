"""Batches of rows by scikit-learn's convention, with online boosting alone."""

import numpy as np
import pytest

from askless import BudgetedBoostingClassifier, load_model
from askless.core.errors import RefusedError
from tests.conftest import IS_COMPILED

N_ROWS = 400 if IS_COMPILED else 60


def make_table(seed: int = 0, n_rows: int = N_ROWS):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0, "yes", "no")
    X[random.random(X.shape) < 0.1] = np.nan
    return X, y


def online(**more) -> BudgetedBoostingClassifier:
    return BudgetedBoostingClassifier("online", rounds=10, random_state=0, **more)


def test_batches_make_the_model_that_all_rows_make():
    X, y = make_table()
    batches, whole = online(), online()

    for start in range(0, N_ROWS, 37):
        span = slice(start, start + 37)
        batches.partial_fit(X[span], y[span], classes=["no", "yes"])
    whole.partial_fit(X, y, classes=["yes", "no"])

    assert batches.model_ == whole.model_
    assert (batches.predict(X) == batches.predict(X)).all()
    assert batches.predict_proba(X).shape == (N_ROWS, 2)
    assert [*batches.classes_] == ["no", "yes"]
    assert batches.curve_ is None
    learnt = batches.model_.card["learnt"]
    assert learnt["rows"] == N_ROWS
    assert learnt["error"] < 0.5


def test_fit_is_gone_on_from():
    X, y = make_table()
    fresh, true = make_table(1)
    fitted = online(folds=2).fit(X, y)
    assert fitted.curve_ is not None
    assert fitted.feature_importances_.size == 3
    before = fitted.model_

    fitted.partial_fit(fresh, true)

    assert fitted.model_ != before
    assert fitted.model_.learning.n_learnt == N_ROWS
    assert fitted.curve_ is None
    assert not hasattr(fitted, "feature_importances_")
    again = online(folds=2).fit(X, y)
    assert again.model_ == before


def test_frames_are_learnt_by_name_and_saved_to_go_on(tmp_path):
    polars = pytest.importorskip("polars")
    X, y = make_table()
    colours = np.where(X[:, 1] > 0, "red", "blue")
    frame = polars.DataFrame({"a": X[:, 0], "colour": colours})
    model = online().partial_fit(frame, y, classes=["no", "yes"])

    model.partial_fit(frame.select("colour", "a"), y)

    model.save(tmp_path / "m.json")
    assert load_model(tmp_path / "m.json").model == model.model_
    assert model.warnings_ == ()
    grey = frame.with_columns(colour=polars.lit("grey"))
    model.partial_fit(grey, y)
    assert "categories that training did not see" in model.warnings_[0]
    with pytest.raises(RefusedError, match="column hue"):
        model.partial_fit(frame.rename({"colour": "hue"}), y)


def test_weights_of_rows_count():
    X, y = make_table()
    ones, unweighted = np.ones(N_ROWS), online()
    unweighted.partial_fit(X, y, classes=["no", "yes"])

    weighted = online().partial_fit(X, y, ["no", "yes"], sample_weight=ones)
    without = online().partial_fit(X[5:], y[5:], classes=["no", "yes"])
    zeros = np.where(np.arange(N_ROWS) < 5, 0.0, 1.0)
    skipped = online().partial_fit(X, y, ["no", "yes"], sample_weight=zeros)

    assert weighted.model_ == unweighted.model_
    assert skipped.model_ == without.model_
    fitted = online(folds=0).fit(X, y, sample_weight=np.full(N_ROWS, 4.0))
    assert fitted.model_.learning.weight_unit == 4.0


@pytest.mark.parametrize(
    ("weight", "share"), [(1.7e308, 1.0), (1e305, 0.5), (5e-324, 1.0), (5e-324, 0.1)]
)
def test_models_of_the_greatest_and_least_weights_are_read_again(
    weight, share, tmp_path
):
    X, y = make_table()
    weights = np.where(np.arange(N_ROWS) < share * N_ROWS, weight, 0.0)
    model = online(folds=0).fit(X, y, sample_weight=weights)
    model.save(tmp_path / "model.json")

    again = load_model(tmp_path / "model.json")

    model.partial_fit(X, y, sample_weight=weights)
    assert again.model.learning.weight_unit > 0
    assert np.isfinite(model.predict_proba(X)).all()


def test_only_online_learns_in_batches():
    X, y = make_table()
    boosted = BudgetedBoostingClassifier("adaboost")

    assert not hasattr(boosted, "partial_fit")
    with pytest.raises(AttributeError, match='algorithm="online"'):
        boosted.partial_fit(X, y, classes=["no", "yes"])
    assert not hasattr(BudgetedBoostingClassifier("none"), "partial_fit")
    assert BudgetedBoostingClassifier.partial_fit.__name__ == "partial_fit"


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ({"classes": None}, "classes must be passed"),
        ({"classes": ["no"]}, "classes: must be two or more"),
        ({"classes": ["no", "maybe"]}, "y: must hold only the classes"),
        ({"sample_weight": np.full(N_ROWS, -1.0)}, "Negative values"),
        ({"sample_weight": np.full(N_ROWS, np.nan)}, "NaN"),
        ({"sample_weight": np.full(N_ROWS, 1e9)}, "sample_weight: must be 0, or from"),
        ({"sample_weight": np.full(N_ROWS, 1e-9)}, "sample_weight: must be 0, or from"),
        ({"y": None}, "y: requires y to be passed"),
        ({"y": np.zeros((N_ROWS, 2), int)}, "one class per row"),
        ({"X": np.full((N_ROWS, 3), np.inf)}, "infinity"),
    ],
)
def test_wrong_batches_are_refused_and_nothing_is_learnt(more, rule):
    X, y = make_table()
    call = {"X": X, "y": y, "classes": ["no", "yes"]} | more
    model = online()

    with pytest.raises(ValueError, match=rule):
        model.partial_fit(**call)

    assert vars(model) == vars(online())


def test_a_refused_first_call_is_followed_by_another_first_one():
    X, y = make_table()
    model = online()
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(np.full((N_ROWS, 2), np.inf), y, classes=["no", "maybe"])

    model.partial_fit(X, y, classes=["no", "yes"])

    plain = online().partial_fit(X, y, classes=["no", "yes"])
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.ensemble_ == plain.ensemble_


def test_a_refused_fit_is_followed_by_a_first_call():
    X, y = make_table()
    model = online()
    with pytest.raises(ValueError, match="Negative values"):
        model.fit(X, np.where(y == "no", "maybe", y), np.full(N_ROWS, -1.0))

    model.partial_fit(X, y, classes=["no", "yes"])

    assert model.classes_.tolist() == ["no", "yes"]


def test_wrong_batch_later_leaves_the_model():
    X, y = make_table()
    model = online().partial_fit(X, y, classes=["no", "yes"])
    before = dict(vars(model))

    with pytest.raises(ValueError, match="y: must hold only"):
        model.partial_fit(X, np.where(y == "no", "maybe", y))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :2], y)

    assert vars(model) == before


def test_nothing_is_chosen_in_batches():
    X, y = make_table()

    with pytest.raises(RefusedError, match="can be chosen for auto"):
        online(tau="auto").partial_fit(X, y, classes=["no", "yes"])

"""The estimator, the command line and the service: one model, the same answers."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from sklearn.exceptions import NotFittedError

from askless import BudgetedBoostingClassifier, load_model
from askless.app.documents import files
from askless.app.documents.spec.spec import read_spec
from askless.app.uploads.streams import read_columns
from askless.core.errors import RefusedError
from askless.core.model.model import Model
from askless.core.pipeline.check import check_training
from askless.core.pipeline.train import train
from askless.models import LoadedModel
from tests.small import finish

COSTS = {"age": 1, "dose": 2.5, "sex": 0.5}
GROUPS = [{"name": "form", "members": ["sex", "smokes"], "fee": 2}]
ALGORITHMS = ["auto", "adaboost_bt_smoothed"]
BUDGETS = [0, 2.5, 4, None]


@pytest.fixture(scope="module")
def patients(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV with numbers, words, missing cells and three classes, not in order."""
    random = np.random.default_rng(0)
    n_rows = 48
    age = random.integers(20, 80, n_rows)
    sex = random.choice(["male", "female", ""], n_rows)
    smokes = random.choice(["yes", "no"], n_rows)
    dose = random.normal(size=n_rows).round(3)
    risk = age // 20 + 2 * (sex == "male") + (smokes == "yes") + dose
    label = np.digitize(risk, np.quantile(risk, [0.3, 0.7])) * 5
    lines = [
        f"{a},{s},{m},{d if a % 7 else ''},{y}"
        for a, s, m, d, y in zip(age, sex, smokes, dose, label, strict=True)
    ]
    path = tmp_path_factory.mktemp("patients") / "patients.csv"
    path.write_text("\n".join(["age,sex,smokes,dose,label", *lines]) + "\n")
    return path


def read_frame(path: Path) -> tuple[pa.Table, pa.ChunkedArray]:
    options = pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    table = pyarrow.csv.read_csv(path, convert_options=options)
    return table.drop_columns(["label"]), table.column("label")


def fit(path: Path, algorithm: str) -> BudgetedBoostingClassifier:
    estimator = BudgetedBoostingClassifier(
        algorithm,
        costs=COSTS,
        groups=GROUPS,
        rounds=6,
        folds=2,
        effort="fast",
        random_state=5,
    )
    return estimator.fit(*read_frame(path))


def train_as_service(path: Path, algorithm: str) -> Model:
    raw = {
        "target": "label",
        "costs": COSTS,
        "groups": GROUPS,
        "algorithm": algorithm,
        "params": {"rounds": 6},
        "validation": {"folds": 2},
        "effort": "fast",
        "seed": 5,
    }
    spec = read_spec(raw)
    columns = read_columns(path, spec.table.text_columns)
    return finish(train(check_training(columns, spec), spec))


@pytest.fixture(scope="module")
def fitted(patients: Path) -> BudgetedBoostingClassifier:
    return fit(patients, "adaboost_bt_smoothed")


@pytest.fixture(scope="module")
def loaded(
    fitted: BudgetedBoostingClassifier, tmp_path_factory: pytest.TempPathFactory
) -> LoadedModel:
    """The same as its file says."""
    path = tmp_path_factory.mktemp("saved") / "MODEL.json"
    fitted.save(path, name="patients")
    return load_model(path)


@pytest.fixture(params=["fitted", "loaded"])
def either(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


@pytest.mark.usefixtures("short_panels")
@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_model_is_the_one_that_the_service_trains(
    patients: Path, algorithm: str
) -> None:
    served = train_as_service(patients, algorithm)

    fitted = fit(patients, algorithm)

    told = json.loads(files.model_text(fitted.model_))
    assert told.pop("target") == "y"
    expected = json.loads(files.model_text(served))
    assert expected.pop("target") == "label"
    assert told == expected


@pytest.mark.parametrize("budget", BUDGETS)
def test_saved_model_says_what_the_estimator_said(
    patients: Path,
    fitted: BudgetedBoostingClassifier,
    loaded: LoadedModel,
    budget: float | None,
) -> None:
    X, _ = read_frame(patients)

    chances = fitted.predict_proba(X, budget)

    np.testing.assert_allclose(
        loaded.predict_proba(X, budget), chances, rtol=0, atol=1e-9
    )
    labels = [*map(str, fitted.predict(X, budget))]
    assert loaded.predict(X, budget).tolist() == labels
    assert loaded.asked(X, budget) == fitted.asked(X, budget)
    assert loaded.spend(X, budget).tolist() == fitted.spend(X, budget).tolist()
    assert loaded.plan(budget) == fitted.plan(budget)


def test_classes_of_a_saved_model_are_in_the_order_of_the_estimators(
    fitted: BudgetedBoostingClassifier, loaded: LoadedModel
) -> None:
    assert fitted.classes_.tolist() == [0, 5, 10]
    assert loaded.classes_.tolist() == ["0", "5", "10"]


def test_classes_that_are_not_all_numbers_are_in_the_order_of_texts(
    tmp_path: Path,
) -> None:
    X, y = np.arange(12.0)[:, None], np.repeat(["b", "10", "9"], 4)
    fitted = BudgetedBoostingClassifier("adaboost", rounds=2, folds=0).fit(X, y)

    fitted.save(tmp_path / "MODEL.json")

    loaded = load_model(tmp_path / "MODEL.json")
    assert loaded.classes_.tolist() == fitted.classes_.tolist() == ["10", "9", "b"]


def test_columns_are_found_by_name_in_any_order(patients: Path, either: Any) -> None:
    X, _ = read_frame(patients)

    turned = either.predict_proba(X.select(X.column_names[::-1]), 4)

    np.testing.assert_array_equal(turned, either.predict_proba(X, 4))


def test_columns_of_other_names_are_refused_and_named(
    patients: Path, either: Any
) -> None:
    X, _ = read_frame(patients)
    names = ["agee" if name == "age" else name for name in X.column_names]

    with pytest.raises(RefusedError, match=r"column agee: .*the nearest is 'age'"):
        either.predict(X.rename_columns(names))
    with pytest.raises(RefusedError, match=r"must be a column of the table.*'age'"):
        either.predict(X.drop_columns(["age"]))


def test_curve_of_a_saved_model_is_the_estimators(
    patients: Path, fitted: BudgetedBoostingClassifier, loaded: LoadedModel
) -> None:
    X, y = read_frame(patients)

    curve = loaded.error_curve(X, y, BUDGETS)

    assert loaded.name == "patients"
    assert loaded.curve == fitted.curve_
    assert curve == fitted.error_curve(X, y, BUDGETS)
    assert curve.budgets == (0.0, 2.5, 4.0, None)


def test_name_of_the_target_is_that_of_its_series(
    patients: Path, tmp_path: Path
) -> None:
    polars = pytest.importorskip("polars")
    X, y = read_frame(patients)
    model = BudgetedBoostingClassifier("adaboost", rounds=2, folds=0)

    model.fit(X, polars.Series("label", y.to_pylist())).save(tmp_path / "MODEL.json")

    assert load_model(tmp_path / "MODEL.json").model.target == "label"


def test_fitted_estimator_survives_a_pickle(
    patients: Path, fitted: BudgetedBoostingClassifier
) -> None:
    X, _ = read_frame(patients)

    again = pickle.loads(pickle.dumps(fitted))

    assert (again.predict_proba(X, 4) == fitted.predict_proba(X, 4)).all()


def test_unfitted_estimator_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        BudgetedBoostingClassifier().save(tmp_path / "MODEL.json")


def test_model_of_several_labels_is_not_saved(tmp_path: Path) -> None:
    X = np.arange(8.0)[:, None]
    y = np.column_stack((X[:, 0] > 3, X[:, 0] > 5)).astype(int)
    model = BudgetedBoostingClassifier("adaboost", rounds=2).fit(X, y)

    with pytest.raises(RefusedError, match="is_multilabel: must be false"):
        model.save(tmp_path / "MODEL.json")


@pytest.mark.parametrize(
    ("place", "name", "refusal"),
    [
        ("MODEL.json", "", "name: must have"),
        ("MODEL.json", "a\nb", "name: must have"),
        ("no/MODEL.json", None, "path: its folder must exist"),
    ],
)
def test_name_or_place_that_no_model_may_have_is_refused(
    fitted: BudgetedBoostingClassifier,
    tmp_path: Path,
    place: str,
    name: str | None,
    refusal: str,
) -> None:
    with pytest.raises(RefusedError, match=refusal):
        fitted.save(tmp_path / place, name=name)
    assert [*tmp_path.iterdir()] == []

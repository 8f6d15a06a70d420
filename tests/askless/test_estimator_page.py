"""The code of docs/estimator.md, run as it stands."""

import inspect
import re
import shutil
from pathlib import Path

import pytest

from askless import BudgetedBoostingClassifier, load_model

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "estimator.md").read_text("utf-8")


@pytest.mark.usefixtures("short_panels")
def test_code_of_the_page_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("polars")
    shutil.copytree(ROOT / "app" / "demo", tmp_path / "app" / "demo")
    monkeypatch.chdir(tmp_path)
    found: dict[str, object] = {}

    for block in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(block, found)

    loaded = load_model(tmp_path / "heart-python.json")
    assert loaded.name == "heart"
    assert loaded.curve == found["model"].curve_  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "name", ["fit", "predict", "predict_proba", "spend", "asked", "plan", "error_curve"]
)
def test_each_method_and_its_parameters_are_named(name: str) -> None:
    method = getattr(BudgetedBoostingClassifier, name)
    given = [
        parameter
        for parameter in inspect.signature(method).parameters
        if len(parameter) > 1
    ]

    assert f"{name}(" in PAGE
    assert [
        value for value in given if value not in ("self",) and value not in PAGE
    ] == []

"""Documents as they are parsed, and written only where they can be read again."""

from dataclasses import replace
from pathlib import Path

import pytest

from askless.app.documents.files import load_model, load_spec, model_text
from askless.app.documents.text import parse_spec
from askless.core.errors import Refusal, RefusedError
from askless.core.model.model import Model
from tests.app.clinic import clinic


def refused(text: str) -> Refusal:
    with pytest.raises(RefusedError) as caught:
        parse_spec(text)
    (refusal,) = caught.value.refusals
    return refusal


def test_field_that_stands_twice_is_refused_by_its_name() -> None:
    refusal = refused('{"target": "y", "costs": {"age": 1, "sex": 2, "age": 3}}')

    assert refusal.field == "age"
    assert "once" in refusal.rule


def test_twice_given_field_that_no_terminal_shows_is_refused() -> None:
    assert refused('{"\\ud800": 1, "\\ud800": 2}').field == r"'\ud800'"


@pytest.mark.parametrize(
    ("text", "field"),
    [
        (r'{"target": "y", "name": "\ud800"}', "name"),
        (r'{"target": "\u0000"}', "target"),
        (
            r'{"features": [{"name": "a"}, {"name": "b", "label": "\ud800"}]}',
            "features[1].label",
        ),
        (r'{"classes": {"\ud800": "x"}}', "classes"),
        (r'{"\ud800": 1}', "spec"),
    ],
)
def test_text_that_no_file_can_hold_is_refused_by_its_field(
    text: str, field: str
) -> None:
    assert refused(text).field == field


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "9" * 5000])
def test_what_is_no_number_of_json_is_refused(number: str) -> None:
    assert "must be JSON" in refused(f'{{"seed": {number}}}').rule


def test_refused_spec_of_a_file_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_text("{")

    with pytest.raises(RefusedError) as caught:
        load_spec(path)

    assert caught.value.refusals[0].field == str(path)


def test_model_that_could_not_be_read_again_is_not_written() -> None:
    nan = replace(clinic(), priors=(float("nan"), float("nan")))

    with pytest.raises(RefusedError, match="such a model is not kept"):
        model_text(Model("m", nan, "disease"))


def test_model_file_without_finite_numbers_is_refused(tmp_path: Path) -> None:
    text = model_text(Model("m", clinic(), "disease", {"cost_floor": 7.5}))
    path = tmp_path / "MODEL.json"

    for number in ("Infinity", "1e999"):
        path.write_text(text.replace("7.5", number))
        with pytest.raises(RefusedError):
            load_model(path)

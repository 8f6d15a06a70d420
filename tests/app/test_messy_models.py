"""A model reads tables and answers by the rules that it was trained with."""

import json

import pytest

from askless.app.documents import files
from askless.core.catalogue.catalogue import OTHER
from askless.core.errors import AnswerError
from askless.core.session import machine
from askless.core.session.state import Answer
from askless.core.table.answer_values import parse_answer

SPEC = {
    "target": "y",
    "features": [
        {"name": "city", "type": "category", "cost": 2},
        {"name": "n", "type": "number", "cost": 1, "missing": [-9, "n.d."]},
    ],
    "rare": 10,
    "missing": ["secret"],
    "ignore": ["row*"],
    "algorithm": "adaboost_bt",
    "params": {"rounds": 8},
    "validation": None,
}


def lines():
    yield "row_id, city ,n,y"
    for k in range(90):
        city = f"small{k}" if k % 6 == 0 else f" {'AB'[k % 2]} "
        n = ("-9", "n.d.", "-", "secret")[k // 9 % 4] if k % 9 == 0 else f"{k % 11}"
        is_ill = (city.strip() == "A") != (k % 11 > 6) or k % 6 == 0
        yield f"{k},{city},{n},{'ill' if is_ill else 'well'}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("messy")
    (place / "t.csv").write_text("\n".join(lines()) + "\n")
    (place / "s.json").write_text(json.dumps(SPEC))
    return place


@pytest.fixture
def model(folder, run):
    path = folder / "m.json"
    if not path.exists():
        done = run("train", folder / "t.csv", "--spec", folder / "s.json", "-o", path)
        assert done.code == 0, done.err
    return path


def test_what_cells_mean_is_kept_in_the_model(model):
    city, n = files.load_model(model).ensemble.catalogue.features

    assert city.categories == ("A", "B", OTHER)
    assert city.has_other
    assert n.missing == ("secret", "-9", "n.d.")


@pytest.mark.parametrize(
    ("cells", "same"),
    [
        ("new,3", "small6,3"),
        (" A\t,3", "A,3"),
        ("A,-9.0", "A,"),
        ("A, N/A ", "A,"),
        ("A,n.d.", "A,"),
        ("A,None", "A,"),
        ("secret,3", ",3"),
    ],
)
def test_predictions_read_cells_as_training_did(model, folder, run, cells, same):
    (folder / "p.csv").write_text(f"city,n\n{cells}\n{same}\n")
    out = folder / "out.csv"

    done = run("predict", model, folder / "p.csv", "--budget", "inf", "-o", out)

    assert (done.code, done.err) == (0, "")
    first, second = out.read_text().splitlines()[1:]
    assert first == second


def test_stray_word_in_a_table_to_predict_is_refused_with_its_row(model, folder, run):
    (folder / "p.csv").write_text("city,n\nA,1\nA,$5\n")

    done = run("predict", model, folder / "p.csv", "--budget", "3", "-o", "never.csv")

    assert done.code == 2
    assert "column n: must be a number, or empty; found '$5' in row 2" in done.err


def test_sessions_read_answers_as_training_did(model):
    ensemble = files.load_model(model).ensemble
    city, n = ensemble.catalogue.features
    state = machine.start(ensemble, None)

    values = [parse_answer(city, text) for text in ("elsewhere", " other ", " A ")]
    state = machine.observe(ensemble, state, [Answer(0, "value", values[0])])

    assert values == [2, 2, 0]
    assert state.values[0] == 2
    with pytest.raises(AnswerError, match="stands for a missing one"):
        parse_answer(n, "-9")

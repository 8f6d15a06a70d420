"""Options of `train` that go before the spec."""

import json

import pytest

from askless.app.cli.tables import load_changed_spec
from askless.app.documents import files

SPEC = {"target": "y", "algorithm": "auto", "params": {"rounds": 20, "leaves": 4}}
LINES = ["a,y", *(f"{row % 10},{'pq'[row % 10 > 4]}" for row in range(40))]


@pytest.fixture
def spec(tmp_path):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps(SPEC))
    return path


def test_options_go_before_the_spec(spec):
    given = {
        "--algorithm": "speedboost",
        "--effort": "fast",
        "--rounds": "7",
        "--folds": "3",
        "--budgets": "2.5, 10",
    }

    wanted = load_changed_spec(spec, given)

    boost = wanted.boost
    assert (boost.algorithm, boost.effort, boost.rounds) == ("speedboost", "fast", 7)
    assert (wanted.folds, wanted.curve_budgets) == (3, (2_500_000, 10_000_000))
    assert boost.leaves == 4


def test_without_options_the_spec_holds(spec):
    assert load_changed_spec(spec, {"--rounds": None}) == files.load_spec(spec)


def test_rounds_may_be_chosen(spec):
    given = {"--algorithm": "speedboost", "--rounds": "auto"}

    assert load_changed_spec(spec, given).auto == {"rounds"}


def test_wrong_option_is_refused_by_its_name(run, spec):
    for option, text, rule in [
        ("--algorithm", "magic", "--algorithm: must be one of auto"),
        ("--effort", "much", "--effort: must be one of fast"),
        ("--rounds", "0", "--rounds: must be an integer from 1"),
        ("--rounds", "1.5", "--rounds: must be an integer from 1"),
        ("--folds", "1", "--folds: must be 0 or at least 2"),
        ("--budgets", "5,-1", "--budgets: must be an amount such as"),
        ("--budgets", "0.0000001", "--budgets: must be an amount such as"),
    ]:
        out = spec.parent / "m.json"

        finished = run("train", "none.csv", "--spec", spec, "-o", out, option, text)

        assert finished.code == 2
        assert rule in finished.err


def test_budgets_named_are_on_the_curve(run, spec):
    data, out = spec.parent / "data.csv", spec.parent / "m.json"
    data.write_text("\n".join(LINES))
    options = ("--algorithm", "adaboost", "--rounds", 3, "--budget", "0.25,4")

    run("train", data, "--spec", spec, "-o", out, *options)

    model = files.load_model(out)
    assert model.ensemble.algorithm == "adaboost"
    assert model.curve.budgets == (0, 250_000, 1_000_000, 4_000_000, None)
    assert model.curve.errors[:2] == (model.curve.errors[0],) * 2

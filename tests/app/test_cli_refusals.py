"""The command line: what is wrong is refused, and nothing is written."""

import json

import pytest

pytest_plugins = ["tests.app.conftest_small"]


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--budget", "-1", "--budget: must be an amount such as"),
        ("--budget", "0.0000001", "at most 6 decimals"),
        ("--budget", "nan", "--budget"),
        (
            "--budget",
            "1,234",
            "--budget: may be two numbers: type 1234, as tables read it, or 1.234",
        ),
        (
            "--policy",
            "magic",
            "must be one of ordered, sample, sample_reyzin for this model",
        ),
        ("--known", "zz=1", "feature of the model"),
    ],
)
def test_wrong_option_is_refused(model, run, option, value, words):
    arguments = {"--budget": "5"} | {option: value}

    finished = run("ask", model, *[x for pair in arguments.items() for x in pair])

    assert finished.code == 2
    assert words in finished.err


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"feature": 0', '"feature": 77', 1),
    ],
)
def test_damaged_model_is_refused(place, model, run, damage):
    broken = place / "broken.json"
    broken.write_text(damage(model.read_text()))

    finished = run("ask", broken, "--budget", "5")

    assert finished.code == 2
    assert "refused" in finished.err


def test_refused_training_writes_nothing(place, run):
    out = place / "never.json"
    (place / "bad.csv").write_text("n,c,b,y\nx,red,2,sick\n1,blue,0,well\n")

    finished = run("train", place / "bad.csv", "--spec", place / "spec.json", "-o", out)

    assert finished.code == 2
    assert not out.exists()
    assert "column n: must be a number, or empty; " in finished.err
    assert "; found 'x' in row 1" in finished.err
    assert "column b: must be true or false" in finished.err


@pytest.mark.parametrize(
    ("out", "words"),
    [("no/model.json", "--out: its folder must exist"), ("", "--out: must be a file")],
)
def test_output_that_can_not_be_written_is_refused_before_anything_is_read(
    place, run, out, words
):
    finished = run("train", place / "none", "--spec", place / "none", "-o", place / out)

    assert finished.code == 2
    assert words in finished.err


def test_name_that_no_file_can_hold_is_refused_before_training(place, run):
    spec = json.loads((place / "spec.json").read_text()) | {"name": "\ud800"}
    (place / "half.json").write_text(json.dumps(spec))
    out = place / "half-out.json"

    finished = run(
        "train", place / "data.csv", "--spec", place / "half.json", "-o", out
    )

    assert finished.code == 2
    assert "refused name: must have neither U+0000 nor halves" in finished.err
    assert not out.exists()


def test_unwritable_output_is_refused(place, model, run):
    (place / "folder.csv").mkdir(exist_ok=True)

    finished = run(
        "predict",
        model,
        place / "data.csv",
        "--budget",
        "5",
        "-o",
        place / "folder.csv",
    )

    assert finished.code == 2
    assert not list(place.glob(".*partial"))


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("--seed", "18446744073709551616"),
        ("--seed", "9" * 5000),
        ("--max-questions", "1_0"),
        ("--confidence", "nan"),
    ],
)
def test_number_out_of_bounds_is_refused_by_its_option(run, model, option, given):
    done = run("ask", model, "--budget", 5, f"{option}={given}", answers="stop\n")

    assert done.code == 2
    assert option in done.err
    assert "Traceback" not in done.err


def test_model_that_is_not_there_has_the_nearest_name_beside_it(model, run):
    absent = model.with_name(model.name.replace("m", "n", 1))

    finished = run("ask", absent, "--budget", "5")

    assert finished.code == 2
    assert f"the nearest is '{model.name}'" in finished.err
    assert "the nearest" not in run("ask", "/none/m.json", "--budget", "5").err

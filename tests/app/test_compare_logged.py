"""What models would have done on logged cases, by the command line."""

import csv
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from askless.app.batch.logged import make_trail
from askless.app.documents.cases import describe_case, write_case
from askless.app.documents.files import model_text
from askless.core.model.hypotheses import Stump
from askless.core.model.model import Model
from askless.core.session import machine
from askless.core.session.state import Answer, StopRule
from askless.core.simulation.trails import trail_case
from tests.app.clinic import CLINIC, clinic

NAMES = [one.name for one in CLINIC.features]
N_CASES = 160


def play(ensemble, row, seed, explore):
    """Return the end of a case; sex is refused in every one."""
    stop = StopRule(certain=False)
    state = machine.start(ensemble, 12_000_000, seed, stop=stop, explore=explore)
    while state.next_feature_idx is not None and state.stop_reason is None:
        answers = [
            Answer(idx, "refused") if idx == 1 else Answer(idx, "value", row[idx])
            for idx in machine.next_question(ensemble, state).feature_idxs
        ]
        state = machine.observe(ensemble, state, answers)
    return machine.stop(state)


def write_cases(path, ensemble, explore, **absent):
    """Write cases as a table; `absent` are fields left out of all answers."""
    random = np.random.default_rng(1)
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*NAMES, "disease", "askless_case"])
        for seed in range(N_CASES):
            row = [60.0, 1.0, 250.0, 1.0, 3.0, 2.0, 4.0]
            row = [value - 20.0 * random.integers(2) for value in row]
            row[3] = float(random.integers(2))
            state = play(ensemble, row, seed, explore)
            document = describe_case(state, CLINIC, "1", {"0": 0.4, "1": 0.6})
            raw = json.loads(write_case(document))
            for one in raw["asked"]:
                for name in absent:
                    one.pop(name, None)
            cells = ["" if math.isnan(one) else one for one in state.values]
            if cells[3] != "":
                cells[3] = bool(cells[3])
            label = str(int(row[0] > 50))
            table.writerow([*cells, label, json.dumps(raw)])


def read_rows(path):
    with path.open(newline="") as file:
        return list(csv.reader(file))


@pytest.fixture
def place(tmp_path):
    """Two models, and cases that the first one logged."""
    same = clinic()
    # It asks for the echo, which the logger can not pay after the blood.
    other = replace(same, hypotheses=(same.hypotheses[4], Stump(0, 40.0, (1,))))
    other = replace(other, alphas=(1.0, 0.6))
    for name, ensemble in (("same", same), ("other", other)):
        text = model_text(Model(name, ensemble, "disease"))
        (tmp_path / f"{name}.json").write_text(text)
    write_cases(tmp_path / "cases.csv", same, 0.5)
    write_cases(tmp_path / "plain.csv", same, 0.0)
    write_cases(tmp_path / "old.csv", same, 0.0, propensity=None)
    return tmp_path


@pytest.fixture
def compare(place, run):
    def compared(cases, *options):
        models = place / "same.json", place / "other.json"
        return run("compare", *models, "--logged", place / cases, *options)

    return compared


def test_both_models_have_figures_with_intervals(compare):
    found = json.loads(compare("cases.csv", "--json").out)

    same, other = found["models"]
    assert (found["cases"], found["unit"]) == (N_CASES, "CAD")
    assert same["difference"] is None
    assert same["support"]["none"] == 0.0
    for one in (same, other):
        low, high = one["robust"]["error"]["interval"]
        assert low <= one["robust"]["error"]["value"] <= high
    gap = other["robust"]["spend"]["value"] - same["robust"]["spend"]["value"]
    assert other["difference"]["spend"]["value"] == pytest.approx(gap, abs=1e-5)


def test_a_person_reads_a_table_and_why_there_is_no_verdict(compare):
    finished = compare("plain.csv")

    assert finished.code == 0
    for words in ("160 logged cases", "cases, effective", "more than the first"):
        assert words in finished.out
    told = " ".join(finished.out.split())
    assert "No verdict on other: for more than 5 % of the cases" in told
    assert "No verdict on same" not in told


def test_a_table_without_propensities_is_refused_by_name(compare):
    finished = compare("old.csv")

    assert finished.code == 2
    assert "askless_case: must have propensities" in finished.err


def test_a_table_without_logged_cases_is_refused_by_name(compare, place):
    rows = read_rows(place / "cases.csv")
    with (place / "bare.csv").open("w", newline="") as file:
        csv.writer(file).writerows(row[:-1] for row in rows)

    finished = compare("bare.csv")

    assert finished.code == 2
    assert "askless_case" in finished.err


def test_a_cell_that_is_no_case_is_refused_by_its_row(compare, place):
    text = (place / "cases.csv").read_text().splitlines()
    text[2] = text[2].replace("askless-case", "askless-row")
    (place / "wrong.csv").write_text("\n".join(text) + "\n")

    finished = compare("wrong.csv")

    assert finished.code == 2
    assert "askless_case, row 2: must be a logged case" in finished.err


def test_an_answer_without_its_value_is_refused_by_its_row(compare, place):
    rows = read_rows(place / "cases.csv")
    rows[1][0] = ""
    with (place / "gap.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)

    finished = compare("gap.csv")

    assert finished.code == 2
    assert "age, row 1: must have a value: its outcome is value" in finished.err


def test_one_case_is_too_few(compare, place):
    text = (place / "cases.csv").read_text().splitlines()[:2]
    (place / "one.csv").write_text("\n".join(text) + "\n")

    finished = compare("one.csv")

    assert finished.code == 2
    assert "--logged: must have two cases or more" in finished.err


def test_options_of_whole_tables_are_refused(compare):
    finished = compare("cases.csv", "--budgets", "1,2")

    assert finished.code == 2
    assert "--budgets: is not for --logged" in finished.err


def test_a_case_is_read_with_what_it_was_charged():
    state = play(clinic(), [60.0, 1.0, 250.0, 1.0, 3.0, 2.0, 4.0], 0, 0.3)
    document = describe_case(state, CLINIC, "1", {"0": 0.4, "1": 0.6})

    read = make_trail(document, 1, np.array(state.values), CLINIC.feature_idxs, 1)

    assert read.case == trail_case(state, 1).case
    assert sum(one.charged for one in read.case.answers.values()) == state.spent > 0

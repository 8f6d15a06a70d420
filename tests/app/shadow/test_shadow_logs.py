"""Logs of decisions: both layouts, and everything odd in them, named with its count."""

from pathlib import Path

import numpy as np
import pytest

from askless.app.batch.shadow.held_logs import split_older
from askless.app.batch.shadow.log_files import (
    MOST_NAMED,
)
from askless.app.batch.shadow.log_parts import deal_log, open_part
from askless.core.work import run_to_end
from tests.app.shadow.log_rows import (
    CALL,
    CALLS,
    CASES,
    COLUMNS,
    DAY,
    FIRM,
    MAIL,
    SPEC,
    columns_of,
    hold,
    open_rows,
    orders_of,
    problems_of,
    read_all,
    rows_of,
    targets_of,
    words_of,
)


def test_rows_of_calls_become_cases(tmp_path: Path) -> None:
    other = {"case": "b", "decided_at": f"{DAY}31Z", "decision": "bad"}
    held = hold(tmp_path, [FIRM, MAIL, other | {"source": "advert"}])

    assert problems_of(held) == {}
    assert columns_of(held) == {
        "source": ["fair", "advert"],
        "score": [5.0, None],
        "kind": ["shop", None],
        "staff": [7.0, None],
        "is_new": [None, None],
    }
    # Offers: source, mail, firm, is_new. Mail came first by its time.
    assert orders_of(held) == [[0, 1, 2, 0], [0, 0, 0, 0]]
    assert targets_of(held) == ["good", "bad"]


def test_rows_of_cases_say_the_same(tmp_path: Path) -> None:
    row = CALL | {"order": "mail>firm", "score": "5", "kind": "shop", "staff": "7"}
    other = {"case": "b", "decided_at": f"{DAY}31Z", "decision": "bad"}
    held = hold(tmp_path, [row, other | {"source": "advert"}], CASES)

    assert problems_of(held) == {}
    assert columns_of(held)["score"] == [5.0, None]
    assert orders_of(held) == [[0, 1, 2, 0], [0, 0, 0, 0]]


def test_times_of_vendors_give_their_order(tmp_path: Path) -> None:
    mapping = {name: CASES[name] for name in CASES if name != "order"}
    mapping |= {"vendor_at": {"mail": "mail_at", "firm": "firm_at"}}
    row = CALL | {"mail_at": f"{DAY}09Z", "firm_at": f"{DAY}03Z", "staff": "7"}
    late = CALL | {"case": "b", "mail_at": f"{DAY}59Z", "score": "4"}

    held = hold(tmp_path, [row, late], mapping, (*COLUMNS, "mail_at", "firm_at"))

    assert orders_of(held)[0] == [0, 2, 1, 0]
    assert problems_of(held) == {"late_answers": 1}
    assert columns_of(held)["score"] == [None, None]


def test_an_answer_after_the_decision_is_named_and_not_used(tmp_path: Path) -> None:
    late = FIRM | {"at": "2026-03-01T12:00:00+01:00"}
    held = hold(tmp_path, [MAIL, late])

    assert problems_of(held) == {"late_answers": 1}
    assert "firm (1)" in words_of(held)
    assert columns_of(held)["staff"] == [None]
    assert orders_of(held)[0] == [0, 1, 0, 0]


def test_a_case_with_two_decisions_keeps_the_first(tmp_path: Path) -> None:
    again = {"decided_at": f"{DAY}50Z", "decision": "bad", "at": f"{DAY}40Z"}
    held = hold(tmp_path, [MAIL, FIRM | again])

    assert problems_of(held) == {"cases_twice": 1, "late_answers": 1}
    assert targets_of(held) == ["good"]


def test_a_case_in_two_rows_keeps_the_first(tmp_path: Path) -> None:
    row = CALL | {"order": "mail", "score": "5"}
    held = hold(tmp_path, [row, row | {"score": "9"}, row | {"case": "b"}], CASES)

    assert problems_of(held) == {"cases_twice": 1}
    assert columns_of(held)["score"] == [5.0, 5.0]


def test_a_case_twice_is_seen_across_parts_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("askless.app.batch.shadow.log_files.ROWS_AT_ONCE", 1)
    row = CALL | {"order": "mail", "score": "5"}

    held = hold(tmp_path, [row, row | {"case": "b"}, row | {"score": "9"}], CASES)

    assert problems_of(held) == {"cases_twice": 1}
    assert columns_of(held)["score"] == [5.0, 5.0]


def test_a_price_that_changes_is_named_with_both_prices(tmp_path: Path) -> None:
    rows = [
        MAIL | {"case": f"c{n}", "price": "1.5" if n > 2 else "1"} for n in range(5)
    ]
    held = hold(tmp_path, rows)

    assert problems_of(held) == {"price_changes": 2}
    assert "mail 1.5, not 1 (2)" in words_of(held)


def test_an_empty_answer_that_cost_nothing_is_no_other_price(tmp_path: Path) -> None:
    held = hold(tmp_path, [MAIL, FIRM | {"kind": "", "staff": "", "price": "0"}])

    assert problems_of(held) == {}
    assert orders_of(held)[0] == [0, 1, 2, 0]


def test_a_price_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    held = hold(tmp_path, [MAIL | {"price": "one"}, FIRM | {"price": "-2"}])

    assert problems_of(held) == {"unreadable_prices": 2}


def test_a_decision_that_nothing_explains_is_left_out(tmp_path: Path) -> None:
    bare = {"case": "b", "decided_at": f"{DAY}40Z", "decision": "good"}
    held = hold(tmp_path, [MAIL, bare])

    assert problems_of(held) == {"unexplained_decisions": 1}
    assert rows_of(held) == [0]


def test_a_row_without_a_case_is_left_out(tmp_path: Path) -> None:
    held = hold(tmp_path, [MAIL, FIRM | {"case": " "}])

    assert problems_of(held)["rows_without_case"] == 1
    assert columns_of(held)["staff"] == [None]


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"decided_at": ""}, "cases_without_time"),
        ({"decided_at": "soon"}, "cases_without_time"),
        ({"decided_at": "1767600000000"}, "cases_without_time"),
        ({"decided_at": "1768010200000"}, "cases_without_time"),
        ({"decision": ""}, "cases_without_decision"),
    ],
)
def test_cases_without_time_or_decision_are_left_out(
    tmp_path: Path, change: dict[str, str], kind: str
) -> None:
    held = hold(tmp_path, [MAIL, MAIL | {"case": "b"} | change])

    assert problems_of(held) == {kind: 1}
    assert rows_of(held) == [0]


def test_a_decision_that_is_no_class_counts_as_not_known(tmp_path: Path) -> None:
    other = MAIL | {"case": "b", "decision": "review", "outcome": "bad"}
    held = hold(tmp_path, [MAIL, other])

    assert problems_of(held) == {"unknown_labels": 1}
    assert "decision (1)" in words_of(held)
    assert targets_of(held) == ["good", "bad"]


def test_an_unknown_vendor_is_named(tmp_path: Path) -> None:
    held = hold(tmp_path, [MAIL, FIRM | {"vendor": "acme", "kind": "", "staff": ""}])

    assert problems_of(held) == {"unknown_vendors": 1}
    assert "acme (1)" in words_of(held)


def test_a_vendor_may_have_another_name_in_the_log(tmp_path: Path) -> None:
    mapping = CALLS | {"vendors": {"acme": "firm"}}
    held = hold(tmp_path, [MAIL, FIRM | {"vendor": "acme"}], mapping)

    assert problems_of(held) == {}
    assert columns_of(held)["staff"] == [7.0]


@pytest.mark.parametrize("cell", ["11", "-1", "many", "inf"])
def test_a_value_that_its_feature_cannot_have_counts_as_empty(
    tmp_path: Path, cell: str
) -> None:
    held = hold(tmp_path, [MAIL | {"score": cell}, MAIL | {"case": "b", "score": "3"}])

    assert problems_of(held) == {"values_out_of_range": 1}
    assert "score (1)" in words_of(held)
    assert columns_of(held)["score"] == [None, 3.0]
    # It was asked, and paid: an empty answer.
    assert orders_of(held)[0] == [0, 1, 0, 0]


@pytest.mark.parametrize("cell", ["2", "perhaps"])
def test_a_boolean_is_true_or_false(tmp_path: Path, cell: str) -> None:
    new = {"vendor": "is_new", "score": "", "price": ""}
    rows = [MAIL | new | {"is_new": cell}, MAIL | new | {"case": "b", "is_new": "1"}]

    held = hold(tmp_path, rows)

    assert problems_of(held) == {"values_out_of_range": 1}
    assert columns_of(held)["is_new"] == [None, 1.0]


def test_an_answer_in_another_vendors_row_is_named(tmp_path: Path) -> None:
    held = hold(tmp_path, [MAIL | {"staff": "9"}])

    assert problems_of(held) == {"unexplained_answers": 1}
    assert columns_of(held)["staff"] == [None]


def test_asking_twice_is_charged_and_the_last_answer_counts(tmp_path: Path) -> None:
    again = FIRM | {"at": f"{DAY}09Z", "staff": "8"}
    empty = FIRM | {"at": f"{DAY}05Z", "kind": "", "staff": ""}
    mail = MAIL | {"at": f"{DAY}20Z", "score": ""}
    held = hold(tmp_path, [again, MAIL, FIRM, empty, mail])

    assert problems_of(held) == {"repeated_calls": 3}
    assert columns_of(held)["staff"] == [8.0]
    assert columns_of(held)["score"] == [None]
    # Firm costs 2 where it answers, mail 1 for each call.
    assert read_all(held)["repeats"].tolist() == [3_000_000]
    assert orders_of(held)[0] == [0, 1, 2, 0]


def test_calls_without_a_time_are_in_the_order_of_the_file(tmp_path: Path) -> None:
    held = hold(tmp_path, [FIRM | {"at": ""}, MAIL | {"at": "?"}])

    assert problems_of(held) == {"calls_without_time": 2}
    assert orders_of(held)[0] == [0, 2, 1, 0]


def test_seconds_are_times_too(tmp_path: Path) -> None:
    early = {"decided_at": "100", "at": "90"}
    late = {"case": "b", "decided_at": "200", "at": "201"}
    held = hold(tmp_path, [MAIL | early, MAIL | late])

    assert problems_of(held) == {"late_answers": 1}


def test_an_order_that_names_nobody_is_named(tmp_path: Path) -> None:
    row = CALL | {"order": "mail > acme", "score": "5"}
    held = hold(tmp_path, [row], CASES)

    assert problems_of(held) == {"unknown_vendors": 1}
    assert orders_of(held)[0] == [0, 1, 0, 0]


def test_cases_are_in_the_order_of_decisions_and_cut_between_days(
    tmp_path: Path,
) -> None:
    days = [3, 1, 2, 2, 2, 3]
    rows = [
        MAIL | {"case": f"c{n}", "decided_at": f"2026-03-0{day}T23:00:00Z", "at": ""}
        for n, day in enumerate(days)
    ]
    held = hold(tmp_path, rows)

    assert rows_of(held) == [1, 2, 3, 4, 0, 5]
    assert split_older(held, 0.5) == 1
    assert split_older(held, 0.9) == 4


def test_some_cases_are_read_in_order(tmp_path: Path) -> None:
    rows = [MAIL | {"case": f"c{n}", "score": str(n)} for n in range(5)]
    held = hold(tmp_path, rows)

    places = [np.arange(start, min(start + 2, 5)) for start in range(0, 5, 2)]
    scores = [held.to_columns(held.read(p))["score"].tolist() for p in places]

    assert scores == [[0.0, 1.0], [2.0, 3.0], [4.0]]
    records = read_all(held)
    assert held.find_silent(records, "score").tolist() == [False] * 5
    assert held.find_silent(records, "staff").tolist() == [True] * 5
    assert held.find_silent(records, "source").tolist() == [False] * 5


def make_odd_log(n_cases: int) -> list[dict[str, str]]:
    """Rows of a log with something odd of each kind, cases mingled."""
    random = np.random.default_rng(0)
    rows = []
    for number in range(n_cases):
        # Some are decided at the same moment.
        head = {"case": f"c{number}", "decided_at": f"{DAY}{30 + number % 4}Z"}
        head |= {"decision": str(random.choice(["good", "bad", "review", ""]))}
        kind, score = random.choice(["shop", "plant", ""]), random.integers(0, 12)
        for call in (MAIL, FIRM):
            own = {"price": str(random.choice(["1", "1.5", "2", "many"]))}
            own["at"] = f"{DAY}{random.integers(10, 40)}Z"
            own["vendor"] = str(random.choice([call["vendor"], "mail", "acme"]))
            rows.append(call | head | own | {"kind": str(kind), "score": str(score)})
    rows += [rows[0] | {"decision": "bad"}, rows[1] | {"case": ""}]
    rows += [{"case": f"x{n}", "decided_at": "", "decision": "good"} for n in range(3)]
    random.shuffle(rows)
    return rows


@pytest.mark.parametrize("classes", [SPEC["classes"], {}])
def test_a_log_in_parts_is_the_same_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, classes: dict[str, str]
) -> None:
    rows = make_odd_log(60)
    (tmp_path / "whole").mkdir()
    whole = hold(tmp_path / "whole", rows, classes=classes)
    monkeypatch.setattr("askless.app.batch.shadow.log_files.ROWS_AT_ONCE", 7)
    monkeypatch.setattr("askless.app.batch.shadow.log_parts.PART_ROWS", 10)
    parts = hold(tmp_path, rows, classes=classes)

    assert len(problems_of(whole)) > 7
    assert parts.log.problems.finish() == whole.log.problems.finish()
    assert columns_of(parts) == columns_of(whole)
    assert targets_of(parts) == targets_of(whole)
    for name in ("decided", "row", "repeats", "orders"):
        assert read_all(parts)[name].tolist() == read_all(whole)[name].tolist()
    assert not list(tmp_path.glob("part *"))


def test_one_part_holds_some_of_the_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the memory would grow with the log."""
    monkeypatch.setattr("askless.app.batch.shadow.log_parts.PART_ROWS", 10)
    log = open_rows(tmp_path, [MAIL | {"case": f"c{n // 2}"} for n in range(100)])

    parts = [open_part(log, path) for path in run_to_end(deal_log(log, tmp_path))]

    sizes = [part.n_rows for part, _ in parts]
    assert sum(sizes) == 100
    assert max(sizes) < 30
    cases = [{*part.table["case"]} for part, _ in parts]
    assert sum(map(len, cases)) == 50


def test_names_in_problems_are_counted_up_to_a_limit(tmp_path: Path) -> None:
    rows = [MAIL | {"case": f"c{n}", "vendor": f"acme{n}"} for n in range(1100)]

    held = hold(tmp_path, [*rows, rows[7], rows[7] | {"vendor": "beta"}])

    assert problems_of(held)["unknown_vendors"] == 1102
    assert "acme7 (2), acme0 (1), acme1 (1), acme10 (1), others" in words_of(held)
    assert len(held.log.problems.shown["unknown_vendors"]) <= MOST_NAMED + 1

import pytest

from askless.core.catalogue.patterns import (
    expand,
    matching,
    unmatched,
)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*", ["a", "lab_1", "lab_2", "a[1]"]),
        ("lab_*", ["lab_1", "lab_2"]),
        ("*_1", ["lab_1"]),
        ("l*1", ["lab_1"]),
        ("a", ["a"]),
        ("a[1]", ["a[1]"]),
        ("?", []),
    ],
)
def test_star_stands_for_any_letters_and_nothing_else_does(pattern, expected):
    assert matching([pattern], ["a", "lab_1", "lab_2", "a[1]"]) == expected


def test_name_wins_over_patterns_and_the_longer_pattern_over_the_shorter():
    given = {"*": 1, "lab_*": 2, "l*": 3, "lab_1": 4}

    assert expand(given, ["a", "lab_1", "lab_2", "low"]) == {
        "a": 1,
        "lab_1": 4,
        "lab_2": 2,
        "low": 3,
    }


def test_name_without_a_pattern_is_left_out():
    assert expand({"b*": 1, "c": 2}, ["a"]) == {}


def test_patterns_that_name_nothing_are_found():
    assert unmatched(["a", "b", "a*", "b*"], ["a", "aa"]) == ["b", "b*"]

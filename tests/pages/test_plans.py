"""The plan for a budget: as a drawing, as a list, as a file."""

import math
import random
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from fastapi.testclient import TestClient

from askless.app.words.charts.flow_chart import GAP_Y, WIDTH, compute_layout
from askless.app.words.charts.svg import wrap_words
from askless.app.words.plan_words import PlanNode, describe_range
from askless.core.catalogue.catalogue import Feature
from tests.pages.hostile import NAMES
from tests.pages.site import heart
from tests.pages.test_models import bring


def any_node(rng: random.Random, depth: int) -> PlanNode:
    """Return a tree of any shape, whose words are any length."""
    n_children = rng.randint(0, 4) if depth else 0
    children = tuple(any_node(rng, depth - 1) for _ in range(n_children))
    words = [*NAMES, "x", "", "a few words that are some more"]
    lines = tuple(rng.choice(words) for _ in range(rng.randint(0, 4)))
    ends = not children, rng.random() < 0.5
    return PlanNode(rng.choice(words), rng.choice(words), lines, *ends, children)


@pytest.mark.parametrize("seed", range(5))
def test_boxes_lie_apart_and_right_of_their_parents(seed: int) -> None:
    root = any_node(random.Random(seed), 3)
    layout = compute_layout(root)

    assert len(layout.boxes) == sum(1 for _ in root.walk())
    columns: dict[float, list[tuple[float, float]]] = {}
    for box in layout.boxes:
        columns.setdefault(box.x, []).append((box.y, box.y + box.height))
        assert box.y >= 0
        assert box.y + box.height <= layout.height
        assert box.x + WIDTH <= layout.width
        if box.parent is not None:
            assert box.x > layout.boxes[box.parent].x + WIDTH
    for spans in columns.values():
        for (_, end), (start, _) in pairwise(sorted(spans)):
            assert start - end >= GAP_Y - 1e-6


@pytest.mark.parametrize("words", NAMES)
def test_words_are_cut_to_a_few_lines(words: str) -> None:
    def lines(text: str) -> list[str]:
        return wrap_words(text, 192, 12, 3)

    assert 1 <= len(lines(words)) <= 3
    assert (
        words == "x" * 200 or " ".join(lines(words[:20])).split() == words[:20].split()
    )


def test_plan_is_told_as_a_drawing_a_list_and_a_file(client: TestClient) -> None:
    model = bring(client, name="<i>&")

    page = client.get(f"/ui/models/{model}/plan?budget=60&questions=2").text

    first, tree = page.split("<figure")
    assert "Asked first, whatever the answers are" in first
    assert "1. Type of chest pain" in first
    for words in ("Ask: Age", "up to 58 years", "Goes on, not shown here."):
        assert tree.count(words) == 2, words
    assert "any answer" not in tree
    assert 'Budget: <bdi class="name">60.00 CAD' in page
    assert 'class="flow"' in page
    assert " style=" not in page

    got = client.get(f"/ui/models/{model}/plan.svg?budget=60")

    assert got.headers["content-type"] == "image/svg+xml"
    assert got.headers["content-disposition"].endswith('filename="i--1.plan.svg"')
    assert ElementTree.fromstring(got.text).tag.endswith("}svg")
    assert "prefers-color-scheme: dark" in got.text
    assert client.get(f"/ui/models/{model}/plan.svg?budget=x").status_code == 422


def test_one_list_for_all_is_a_table_alone(client: TestClient) -> None:
    lists = {"lists": [1, 1], "commonest": [1.0, 1.0], "saved": [None, None]}
    ended = {"ended_after": [[1.0], [0.0] * 7 + [1.0]]}
    sessions = {"rows": 9, "budgets": [0, 300]} | lists | ended
    model = bring(client, card=heart()["card"] | {"sessions": sessions})

    page = client.get(f"/ui/models/{model}/plan?budget=300").text
    tree = client.get(f"/ui/models/{model}/plan?budget=60").text

    assert "Asked in this order" in page
    assert "All cases are asked the same 7 questions." in page
    assert "7. " in page
    assert "20\N{NO-BREAK SPACE}% wrongly" in page
    assert "<svg" not in page
    assert "plan.svg" not in page
    # What the card says of another budget is not said of this one.
    assert "All cases" not in tree


@pytest.mark.parametrize(
    ("value_range", "border", "words"),
    [
        ((29.0, 77.0), 54.6875, "up to 55 years"),
        ((0.0, 6.2), 0.7265625, "up to 0.7 years"),
        ((126.0, 564.0), 243.71, "up to 240 years"),
        ((5.0, 5.0), 54.6875, "up to 54.7 years"),
        (None, 54.6875, "up to 54.7 years"),
    ],
)
def test_borders_are_rounded_by_the_range(
    value_range: tuple[float, float] | None, border: float, words: str
) -> None:
    feature = Feature("age", unit="years", value_range=value_range)

    assert describe_range(feature, -math.inf, border) == words

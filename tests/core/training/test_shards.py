"""Shards: the same rounds for any parting of the rows, and what goes to and fro."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core.training.boosting import LocalTables, boost
from askless.core.training.params import BoostParams
from askless.core.training.shards.questions import ShardAnswer, ShardQuestion, Sides
from askless.core.training.shards.shards import Shard
from askless.core.training.shards.trimming import restore_sums, trim_sums
from tests.levels import at_most
from tests.shards import LEARNERS, PARAMS, SEARCHES, boosted_tables, tables_of, whole_of
from tests.small import random_dataset


class NotedShards:
    """Shards that send what they answer as other processes do, and note what is asked.

    As if all of them were lost before each question: they follow from the steps alone.
    """

    def __init__(self, tables, *, is_split, is_kept, is_lost):
        self.tables, self.is_split, self.is_kept = tables, is_split, is_kept
        self.is_lost = is_lost
        self.binned = tables[0][0].take(np.arange(0))
        self.n_outputs = tables[0][1].shape[1]
        self.questions = []
        self.steps, self.since = [], []
        self.members = self.restored()
        self.n_weighted = sum(shard.n_weighted for shard in self.members)

    def restored(self):
        kinds = {"is_split": self.is_split, "is_kept": self.is_kept}
        members = [Shard(*table, **kinds) for table in self.tables]
        for shard in members:
            for step in self.steps:
                shard.apply_step(step)
            for question in self.since:
                shard.answer(question)
        return members

    def count(self, feature_idx):
        return sum(shard.count(feature_idx) for shard in self.members)

    def ask(self, question):
        self.questions.append(question)
        if self.is_lost:
            self.members = self.restored()
        answers = [shard.answer(question) for shard in self.members]
        if question.step is not None:
            self.steps.append(question.step)
            self.since = []
        self.since.append(ShardQuestion(None, question.ask))
        kinds = {"is_split": self.is_split}
        trimmed = [
            trim_sums(question.ask, a.sums, self.binned, **kinds) for a in answers
        ]
        kinds["n_outputs"] = self.n_outputs
        return ShardAnswer(
            sum(answer.quanta for answer in answers),
            sum(answer.numbers for answer in answers),
            restore_sums(question.ask, sum(trimmed), self.binned, **kinds),
        )


class NotedTables(LocalTables):
    """Tables whose shards are kept, to be looked at."""

    def __init__(self, tables, *, is_lost=False):
        super().__init__(tables)
        self.is_lost = is_lost

    def begin(self, *, is_split, is_kept):
        kinds = {"is_split": is_split, "is_kept": is_kept, "is_lost": self.is_lost}
        self.shards = NotedShards(self._tables, **kinds)
        return self.shards


def rounds_of(tables, dataset, params, done=()):
    return list(boost(tables, dataset.catalogue, params, done))


@given(boosted_tables(), PARAMS)
def test_any_parting_of_the_rows_makes_the_same_rounds_to_the_bit(case, params):
    dataset, parts = case

    parted = rounds_of(tables_of(dataset, parts), dataset, params)

    assert repr(parted) == repr(rounds_of(whole_of(dataset), dataset, params))


@pytest.mark.slow
@at_most(30)
@given(boosted_tables(), PARAMS, st.integers(0, 5))
def test_lost_shards_follow_from_their_rows_and_the_steps(case, params, n_done):
    dataset, parts = case
    expected = rounds_of(whole_of(dataset), dataset, params)
    source = NotedTables(tables_of(dataset, parts), is_lost=True)

    rounds = rounds_of(source, dataset, params, expected[:n_done])

    assert repr(rounds) == repr(expected[n_done:])


@given(boosted_tables(), PARAMS)
def test_rows_without_weight_change_nothing(case, params):
    dataset, _ = case
    weighed = np.flatnonzero(dataset.weights)

    rounds = rounds_of(tables_of(dataset, [weighed]), dataset, params)

    assert repr(rounds) == repr(rounds_of(whole_of(dataset), dataset, params))


# Each learner with each search, in pairs; any of them is drawn above for small tables.
@pytest.mark.parametrize(
    ("n_classes", "learner", "search"),
    [
        (2 + (number + idx) % 2, learner, search)
        for number, learner in enumerate(LEARNERS)
        for idx, search in enumerate(SEARCHES)
    ],
)
def test_rounds_of_large_tables_are_the_same(n_classes, learner, search, monkeypatch):
    monkeypatch.setattr("askless.core.training.shards.weights.MOST_SUMS", 9)
    dataset = random_dataset(6, n_classes, n_samples=120, n_features=9)
    params = BoostParams(
        "speedboost", rounds=4, learner=learner, leaves=4, search=search, search_size=4
    )
    parts = np.array_split(np.random.default_rng(1).permutation(120), 3)
    tables = tables_of(dataset, parts)

    here = rounds_of(tables, dataset, params)
    elsewhere = rounds_of(NotedTables(tables), dataset, params)

    expected = repr(rounds_of(whole_of(dataset), dataset, params))
    assert (repr(here), repr(elsewhere)) == (expected, expected)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("share_missing", [0.0, 0.2])
def test_round_of_stumps_asks_once(search, share_missing):
    dataset = random_dataset(3, 2, n_samples=50, share_missing=share_missing)
    params = BoostParams("adaboost", rounds=8, search=search, search_size=3)
    source = NotedTables(whole_of(dataset))

    rounds = rounds_of(source, dataset, params)

    assert len(source.shards.questions) == len(rounds) == 8


def test_round_that_is_repeated_asks_once_for_its_sides():
    dataset = random_dataset(3, 2, n_samples=50)
    params = BoostParams("adaboost", rounds=8)
    done = rounds_of(whole_of(dataset), dataset, params)
    source = NotedTables(whole_of(dataset))

    rounds_of(source, dataset, params, done)

    asked = [question.ask for question in source.shards.questions]
    assert [type(ask) for ask in asked] == [Sides] * 8
    assert [ask.hypothesis for ask in asked] == [added.hypothesis for added in done]


def test_round_of_trees_asks_once_a_split_and_once_for_the_sides():
    dataset = random_dataset(3, 2, n_samples=50)
    params = BoostParams("adaboost", rounds=3, learner="tree", leaves=4)
    source = NotedTables(whole_of(dataset))

    rounds = rounds_of(source, dataset, params)

    n_stumps = [len(added.hypothesis.stumps) for added in rounds]
    # A tree of three stumps was split twice more.
    assert n_stumps == [3, 3, 3]
    assert len(source.shards.questions) == 3 * (1 + 2 + 1)

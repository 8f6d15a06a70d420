"""The weights of a run and their sums by code: stumps found, rounds made."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askless.core import kernels
from askless.core.codes.binning import bin_values
from askless.core.model.hypotheses import Stump
from askless.core.training.boosting import initial_weights
from askless.core.training.learner import make_stump
from askless.core.training.shards import histograms
from askless.core.training.shards.shards import LeafRows, LocalShards, Shard
from askless.core.training.shards.weights import Place, Weights
from tests import naive_boosting, naive_hypotheses, strategies, twins
from tests.conftest import IS_COMPILED
from tests.small import make_dataset, random_dataset, signed_of
from tests.ugly import UGLY, random_table, table_of

NAN = float("nan")

every_way = pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "anew"])


def all_features(dataset):
    return np.arange(len(dataset.catalogue.features))


def hold(dataset, signed, parts=None, *, is_kept=True, **kwargs):
    """The weights of a table in one shard, or of the rows in each of some parts."""
    binned = bin_values(dataset)
    whole = [np.arange(dataset.n_samples)]
    shards = [
        Shard(binned.take(rows), signed[rows], is_kept=is_kept, **kwargs)
        for rows in parts or whole
    ]
    return Weights(LocalShards(shards, is_kept=is_kept))


def hold_initial(dataset, **kwargs):
    return hold(dataset, initial_weights(dataset), **kwargs)


def bits(found):
    return [
        out.tobytes() for out in (found.edges, found.cuts, found.votes, found.presents)
    ]


def partings(n_samples, max_parts=4):
    """Rows dealt to at most so many shards, some of which may have none."""
    dealt = st.lists(
        st.integers(0, max_parts - 1), min_size=n_samples, max_size=n_samples
    )
    return dealt.map(
        lambda numbers: [
            np.flatnonzero(np.array(numbers) == part) for part in range(max_parts)
        ]
    )


# The best stumps, against every cut and vote.


@st.composite
def weighed_tables(draw, n_outputs):
    """A small ugly table with signed weights that are multiples of 1/64, not all 0."""
    catalogue = draw(strategies.catalogues(max_features=4))
    values = draw(strategies.tables(catalogue, max_rows=12, has_unseen=False))
    n_samples = values.shape[0]
    dataset = make_dataset(values, np.zeros(n_samples), 2, catalogue=catalogue)
    size = n_samples * n_outputs
    eighths = st.lists(st.integers(-8, 8), min_size=size, max_size=size).filter(any)
    signed = np.array(draw(eighths), np.float64).reshape(n_samples, n_outputs) / 64
    return dataset, signed


def naive_splits(dataset, signed, members=None, votes_before=None):
    return [
        naive_boosting.best_split(
            twins.rows_of(dataset.values),
            np.abs(signed).tolist(),
            np.sign(signed).tolist(),
            idx,
            feature.type == "category",
            members,
            votes_before,
        )
        for idx, feature in enumerate(dataset.catalogue.features)
    ]


def check_splits(weights, found, expected, total):
    """Sums of multiples of 1/64 are exact, so are edges, and ties are ties."""
    for idx, split in enumerate(expected):
        assert found.edges[idx] == split.edge / total
        if split.cut is None:
            assert found.cuts[idx] == -1
        else:
            one = make_stump(weights.binned, found, idx)
            assert (one.cut, one.votes) == (split.cut, split.votes)


@every_way
@given(st.data(), st.integers(1, 4))
def test_best_stumps_are_those_of_every_cut_and_vote(is_kept, data, n_outputs):
    dataset, signed = data.draw(weighed_tables(n_outputs))
    parts = data.draw(partings(dataset.n_samples))
    weights = hold(dataset, signed, parts, is_kept=is_kept)

    found = weights.search_stumps(all_features(dataset))

    total = np.abs(signed).sum()
    check_splits(weights, found, naive_splits(dataset, signed), total)
    for idx, present in enumerate(~np.isnan(dataset.values).T):
        assert found.presents[idx] == np.abs(signed[present]).sum() / total


@pytest.mark.parametrize("case", UGLY)
def test_best_stumps_of_ugly_tables_are_those_of_every_cut(case):
    signed = initial_weights(UGLY[case])
    weights = hold(UGLY[case], signed)

    found = weights.search_stumps(all_features(UGLY[case]))

    expected = naive_splits(UGLY[case], signed)
    check_splits(weights, found, expected, np.abs(signed).sum())


@every_way
@given(st.data(), st.integers(1, 3))
def test_best_stumps_of_a_leaf_are_those_of_every_cut_and_vote(
    is_kept, data, n_outputs
):
    dataset, signed = data.draw(weighed_tables(n_outputs))
    # With odd, different weights no sum of some rows is zero by chance.
    signed = np.where(signed < 0, -1.0, 1.0) * (
        2.0 ** -np.arange(1, signed.size + 1).reshape(signed.shape)
    )
    n_samples = dataset.n_samples
    parts = data.draw(partings(n_samples))
    weights = hold(dataset, signed, parts, is_kept=is_kept)
    is_in = st.lists(st.booleans(), min_size=n_samples, max_size=n_samples)
    is_inside = np.array(data.draw(is_in))
    votes = data.draw(st.tuples(*[st.sampled_from((-1, 1))] * n_outputs))
    weights.search_stumps(all_features(dataset))
    for shard, part in zip(weights.shards.members, parts, strict=True):
        shard.places = [LeafRows(np.flatnonzero(is_inside[part]), None)]

    found = weights.search_splits(Place(0, None), votes, all_features(dataset))

    members = np.flatnonzero(is_inside).tolist()
    expected = naive_splits(dataset, signed, members, votes)
    check_splits(weights, found, expected, np.abs(signed).sum())


@pytest.mark.parametrize("n_parts", [1, 3])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_sums_of_the_larger_side_are_those_of_its_rows(n_classes, n_parts):
    dataset = random_dataset(4, n_classes, n_samples=90, n_features=9)
    parts = np.array_split(np.random.default_rng(0).permutation(90), n_parts)
    weights = hold_initial(dataset, parts=parts)
    features = all_features(dataset)
    places = [weights.root_place()]
    for feature_idx, code in ((1, 30), (2, 1), (4, 11)):
        # The third stump has missing values in every place; the second is a category.
        places = [
            side for place in places for side in weights.split(place, feature_idx, code)
        ]
    votes = (1,) * weights.n_outputs
    assert len(places) == 8
    for place in places:
        anew = weights.search_splits(Place(place.number, None), votes, features)

        assert bits(weights.search_splits(place, votes, features)) == bits(anew)


def test_leaf_is_cut_where_weights_on_one_side_cancel():
    # Below the cut +1/4 and -1/4: no vote helps there, yet above it one does.
    values = np.array([[0.0], [0.0], [1.0], [1.0]])
    dataset = make_dataset(values, np.array([0, 1, 1, 1]), 2)
    signed = np.array([[0.25], [-0.25], [0.25], [0.25]])
    weights = hold(dataset, signed)

    found = weights.search_splits(weights.root_place(), (-1,), np.arange(1))

    expected = naive_splits(dataset, signed, range(4), (-1,))
    assert found.edges.tolist() == [expected[0].edge]


def varied_table(n_samples, n_features, seed=0):
    """Columns of 1 to more than 254 values, half with missing cells, one without any.

    Packed with others, and alone.
    """
    generator = np.random.default_rng(seed)
    widths = (254, 127, 2, 40, 128, 1, 3, n_samples, 85, 7)
    columns, types = [], []
    for idx in range(n_features):
        width = min(widths[idx % len(widths)], n_samples)
        column = generator.permutation(np.arange(n_samples) % width).astype(float)
        if generator.random() < 0.5:
            column[generator.random(n_samples) < 0.2] = NAN
        columns.append(column)
        is_category = width <= 128 and generator.random() < 0.5
        types.append("category" if is_category else "number")
    columns[-1][:] = NAN
    weights = generator.random(n_samples) + 0.1
    targets = generator.permutation(np.arange(n_samples) % 2)
    return table_of(columns, targets, weights / weights.sum(), types)


def plain_edges(binned, signed):
    """Largest edge and present weight of each feature, by floats, from its codes."""
    edges, presents = [], []
    for idx, codes in enumerate(binned.codes):
        n_codes = binned.n_codes[idx]
        sums = np.zeros((256, signed.shape[1]))
        np.add.at(sums, codes, signed)
        if not binned.is_category[idx]:
            below = np.cumsum(sums[:n_codes], axis=0)[:-1]
        else:
            below = sums[: n_codes if n_codes > 1 else 0]
        totals = sums[:n_codes].sum(axis=0)
        edges.append(np.abs(totals - 2 * below).sum(axis=1).max(initial=0.0))
        presents.append(np.abs(signed[codes != kernels.MISSING]).sum())
    return edges, presents


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_features", "n_outputs", "is_kept"),
    [
        (n_features, n_outputs, (number + n_outputs) % 4 == 1)
        for number, n_features in enumerate((5, 23, 90))
        for n_outputs in (1, 3)
    ],
)
def test_edges_are_those_of_plain_sums_from_round_to_round(
    n_features, n_outputs, is_kept
):
    dataset = varied_table(300, n_features)
    generator = np.random.default_rng(1)
    signed = generator.normal(size=(300, n_outputs))
    weights = hold(dataset, signed / np.abs(signed).sum(), is_kept=is_kept)
    for _ in range(5):
        found = weights.search_stumps(all_features(dataset))
        some = weights.search_stumps(np.arange(0, n_features, 3))

        edges, presents = plain_edges(weights.binned, signed_of(weights))
        np.testing.assert_allclose(found.edges, edges, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.presents, presents, rtol=0, atol=1e-12)
        assert some.edges.tolist() == found.edges[::3].tolist()
        for position in np.flatnonzero(found.cuts >= 0):
            stump = make_stump(weights.binned, found, int(position))
            code = (int(found.cuts[position]),)
            ballots = stump.votes_on(weights.binned, code)
            edge = (ballots.T * signed_of(weights)).sum()
            assert edge == pytest.approx(found.edges[position], rel=0, abs=1e-12)
        best = int(np.argmax(found.edges))
        stump = make_stump(weights.binned, found, best)
        code = (int(found.cuts[best]),)
        factors = weights.search_factors(stump, code, all_features(dataset))
        votes = stump.votes_on(weights.binned, code)
        edges, presents = plain_edges(weights.binned, signed_of(weights) * votes.T)
        np.testing.assert_allclose(factors.edges, edges, rtol=0, atol=1e-12)
        np.testing.assert_allclose(factors.presents, presents, rtol=0, atol=1e-12)
        weights.apply(stump, 0.7)


def test_many_lanes_are_summed_block_by_block(monkeypatch):
    dataset = varied_table(60, 23)
    features = all_features(dataset)
    whole = hold_initial(dataset, is_kept=False).search_stumps(features)
    monkeypatch.setattr(histograms, "MOST_SUMS", 2)

    found = hold_initial(dataset, is_kept=False).search_stumps(features)

    assert bits(found) == bits(whole)


def test_equal_features_have_equal_edges_however_they_are_packed():
    dataset = random_table(300, 3)
    columns = [*dataset.values.T] * 4
    types = [feature.type for feature in dataset.catalogue.features] * 4
    twins = table_of(columns, dataset.targets, dataset.weights, types)

    found = hold_initial(twins).search_stumps(all_features(twins))

    edges = found.edges.reshape(4, 3)
    assert (edges == edges[0]).all()


# A round.


@given(st.data(), st.integers(1, 4), st.sampled_from([0.0, 0.3, 10.7]))
def test_reweighting_is_the_naive_one(data, n_outputs, alpha):
    dataset, signed = data.draw(weighed_tables(n_outputs))
    binned = bin_values(dataset)
    hypothesis = data.draw(strategies.hypotheses(dataset.catalogue, n_outputs))
    cuts = [binned.cuts[stump.feature_idx] for stump in hypothesis.stumps]
    if any(its_cuts.size == 0 for its_cuts in cuts):
        return
    hypothesis = twins.on_cuts(hypothesis, cuts)
    signed /= np.abs(signed).sum()
    weights = hold(dataset, signed)
    before = signed.copy()

    z = weights.apply(hypothesis, alpha)

    votes = np.array(
        [
            naive_hypotheses.vote(twins.to_naive(hypothesis), row, n_outputs)
            for row in twins.rows_of(dataset.values)
        ]
    )
    expected = signed * np.exp(-alpha * np.sign(signed) * votes)
    assert z == pytest.approx(np.abs(expected).sum())
    np.testing.assert_allclose(signed_of(weights), expected / z, atol=1e-15)
    assert signed.tolist() == before.tolist()
    codes = hypothesis.cut_codes(binned)
    assert hypothesis.votes_on(binned, codes).T.tolist() == votes.tolist()


@given(strategies.datasets(), st.data(), st.integers(1, 3))
def test_sums_that_follow_the_weights_equal_those_of_all_rows(dataset, data, n_outputs):
    binned = bin_values(dataset)
    votes = (st.sampled_from((-1, 1)),) * n_outputs
    stumps = [
        Stump(idx, float(cuts[0]), data.draw(st.tuples(*votes)))
        for idx, cuts in enumerate(binned.cuts)
        if cuts.size
    ]
    if not stumps:
        return
    signed = np.outer(dataset.signs * dataset.weights, np.full(n_outputs, 1.0))
    followed, late, anew = (
        hold(dataset, signed / n_outputs, is_kept=is_kept)
        for is_kept in (True, True, False)
    )
    for _ in range(data.draw(st.integers(1, 6))):
        stump, alpha = data.draw(st.sampled_from(stumps)), data.draw(st.floats(0, 3))
        for weights in (followed, late, anew):
            weights.apply(stump, alpha)
        actual = followed.search_stumps(all_features(dataset))

    # To the bit those of a run that looks only now, as one that was interrupted does.
    assert bits(actual) == bits(late.search_stumps(all_features(dataset)))
    assert bits(actual) == bits(followed.search_stumps(all_features(dataset)))
    assert bits(actual) == bits(anew.search_stumps(all_features(dataset)))


@pytest.mark.slow
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_sums_follow_the_weights_over_many_rounds_and_scalings(n_outputs):
    # Several chunks of rows.
    n_samples = 5000
    dataset = random_table(n_samples, 13)
    features = all_features(dataset)
    signed = np.outer(dataset.signs * dataset.weights, np.full(n_outputs, 1.0))
    kept, anew = (
        hold(dataset, signed / n_outputs, is_kept=is_kept) for is_kept in (True, False)
    )
    cuts = kept.binned.cuts
    generator = np.random.default_rng(3)
    n_scaled = 0
    for _ in range(60):
        idx = int(generator.integers(13))
        cut = float(generator.choice(cuts[idx]))
        votes = tuple(generator.choice((-1, 1), n_outputs).tolist())
        is_category = bool(kept.binned.is_category[idx])
        stump, alpha = Stump(idx, cut, votes, is_category), generator.uniform(0.0, 1.6)
        z = [weights.apply(stump, float(alpha)) for weights in (kept, anew)]
        n_scaled += kept.is_fresh

        found = kept.search_stumps(features)

        assert bits(found) == bits(anew.search_stumps(features))
        assert z[0] == z[1]
        assert math.isfinite(z[0])
    assert 0 < n_scaled < 30


def separated(n_samples=40):
    """A table whose first feature is the class, but for the rows of the second."""
    dataset = random_table(n_samples, 5)
    values = dataset.values.copy()
    values[:, 0] = dataset.targets
    values[:7, 1] = 1 - dataset.targets[:7]
    values[7:, 1] = dataset.targets[7:]
    values[7:9, 1] = NAN
    types = ["number"] * 2 + [
        feature.type for feature in dataset.catalogue.features[2:]
    ]
    return table_of(values.T, dataset.targets, dataset.weights, types)


def test_weights_survive_thousands_of_rounds_of_perfect_separation():
    weights = hold_initial(separated())
    before = signed_of(weights)
    for _ in range(2_000 if IS_COMPILED else 200):
        z = weights.apply(Stump(0, 0.5, (1,)), 10.7)

    assert z == pytest.approx(math.exp(-10.7))
    assert signed_of(weights).tolist() == before.tolist()


def test_weights_that_underflow_to_zero_give_no_nan():
    weights = hold_initial(separated())
    with np.errstate(all="raise", under="ignore"):
        for _ in range(100):
            z = weights.apply(Stump(1, 0.5, (1,)), 10.7)
            found = weights.search_stumps(np.arange(5))

    # In the end only the rows that are always wrong weigh anything.
    moduli = np.abs(signed_of(weights)[:, 0])
    assert z == pytest.approx(math.exp(10.7))
    assert (moduli[7:] == 0.0).all()
    assert moduli.sum() == pytest.approx(1.0)
    assert np.isfinite(found.edges).all()
    assert found.edges.max() <= 1.0

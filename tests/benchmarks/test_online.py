"""The streams and the two plays of the benchmark of online boosting."""

import numpy as np
import pytest

pytest.importorskip("river", reason="river, of the group `bench`, is absent")

from benchmarks.online import ours, peers
from benchmarks.online.__main__ import find_best, ratios
from benchmarks.online.kept import Kept
from benchmarks.online.streams import STREAMS, Stream


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_drawn_by_its_seed(name: str) -> None:
    one, same, other = (STREAMS[name](seed, 200) for seed in (1, 1, 2))

    np.testing.assert_array_equal(one.values, same.values)
    np.testing.assert_array_equal(one.targets, same.targets)
    assert one.values.shape[0] == one.targets.size == 200
    assert not np.array_equal(one.values, other.values)
    assert set(one.targets.tolist()) <= set(range(one.n_classes))


def plain_stream(n_rows: int) -> Stream:
    """The sign of the first of two numbers."""
    values = np.random.default_rng(0).normal(size=(n_rows, 2))
    return Stream("plain", values, (values[:, 0] > 0).astype(np.int64), 2)


def test_each_row_is_judged_before_it_is_learnt() -> None:
    """Labels drawn at random are guessed in half of the rows, never learnt by heart."""
    stream = plain_stream(1_000)
    guessed = stream._replace(targets=np.random.default_rng(1).integers(0, 2, 1_000))

    assert ours.play(stream)["error"] < 0.1
    assert 0.4 < ours.play(guessed)["error"] < 0.6
    assert 0.4 < ours.play_budget(guessed, 0) < 0.6


def test_a_session_spends_half_at_most() -> None:
    """Where the telling feature costs more than half, its class can't be told."""
    stream = plain_stream(600)
    low, high = ours.PRICES
    found = {}
    for seed in range(6):
        costs = np.random.default_rng([seed, 5]).integers(low, high + 1, 2)
        found[bool(costs[0] > costs[1])] = ours.play_budget(stream, seed)

    assert found[False] < 0.2
    assert found[True] > 0.4


def test_the_best_peer_has_the_least_median_error(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(peers, "N_SEEDS", 3)
    kept = Kept(tmp_path / "kept.json")
    for peer, errors in zip(
        peers.every_peer(), ([0.3, 0.1, 0.3], [0.2, 0.4, 0.2]), strict=False
    ):
        for seed, error in enumerate(errors):
            key = f"river sea seed {seed} stumps {peers.N_STUMPS} {peer.title}"
            kept.measure(key, lambda one=error: {"error": one})

    errors, _ = find_best(Kept(tmp_path / "kept.json"), "sea")

    assert errors == [0.2, 0.4, 0.2]
    assert ratios([0.1, 0.2, 0.1], errors) == [0.5, 0.5, 0.5]

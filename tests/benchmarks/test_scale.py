"""The benchmark of shards: what it prints of a small table."""

from benchmarks.scale.shards import N_FEATURES, make_rows, measure


def test_small_table_is_boosted_here_and_in_processes():
    row = measure(make_rows(300), 2)

    rows, *_, kilobytes = row.strip("| ").split(" | ")
    assert rows == "300"
    # Of two shards, at most 2,100 bytes a feature.
    assert 0 < int(kilobytes) <= 2 * 2.1 * N_FEATURES + 8

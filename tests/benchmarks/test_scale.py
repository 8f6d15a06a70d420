"""The benchmark of shards: what it prints of a small table."""

from benchmarks.scale.shards import N_FEATURES, make_rows, measure


def test_small_table_is_boosted_here_in_processes_and_on_a_cluster():
    lines = [line.strip("| ").split(" | ") for line in measure(make_rows(300), 2)]

    assert [line[:2] for line in lines] == [
        ["300", "here"],
        ["300", "2 processes"],
        ["300", "2 workers"],
    ]
    # Of two shards, at most 2,100 bytes a feature.
    received = [int(line[-1]) for line in lines]
    assert received[0] == 0
    assert all(0 < one <= 2 * 2.1 * N_FEATURES + 8 for one in received[1:])

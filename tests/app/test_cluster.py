"""Shards in processes: the same rounds, however many die; what goes over the wire."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from askless.app.cluster.group import Member, ShardsLostError, Traffic
from askless.app.cluster.handover import Handover
from askless.app.cluster.messages import Letter, Order, ShardFailedError
from askless.app.cluster.processes import (
    USUAL,
    ProcessKind,
    ProcessLine,
    ShardProcesses,
)
from askless.core.arrays import FloatArray, IntArray
from askless.core.codes.binning import Binned, bin_values
from askless.core.table.dataset import Dataset
from askless.core.training.boosting import boost, initial_weights
from askless.core.training.feature_sampling import SearchName
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round
from askless.core.training.rules import RULES
from tests.app.jobs import is_alive, wait
from tests.shards import (
    PARAMS,
    boosted_tables,
    tables_of,
    whole_of,
)
from tests.small import random_dataset

Tables = list[tuple[Binned, FloatArray]]
TREES = BoostParams("speedboost", rounds=6, learner="tree", leaves=4)


def parted(dataset: Dataset, n_parts: int) -> Tables:
    """Deal the rows of a table to shards, the last of which has none."""
    binned, signed = bin_values(dataset), initial_weights(dataset)
    order = np.random.default_rng(1).permutation(dataset.n_samples)
    parts = [*np.array_split(order, n_parts), order[:0]]
    return [(binned.take(rows), signed[rows]) for rows in parts]


def in_processes(tables: Tables, kind: ProcessKind = USUAL) -> ShardProcesses:
    """Return processes with some tables, weighed."""
    shards = ShardProcesses([binned.codes for binned, _ in tables], kind)
    weigh(shards, tables)
    return shards


def weigh(shards: ShardProcesses, tables: Tables) -> None:
    shards.weigh(tables[0][0].without_rows(), [signed for _, signed in tables])


def table(n_classes: int) -> Dataset:
    """Return a table with gaps, a fifth of whose rows are held out."""
    dataset = random_dataset(5, n_classes, n_samples=90, n_features=9)
    weights = np.where(np.arange(90) % 5 == 0, 0.0, dataset.weights)
    return replace(dataset, weights=weights / weights.sum())


TABLES = {n_classes: table(n_classes) for n_classes in (2, 3)}


def rounds_of(
    shards: ShardProcesses, params: BoostParams, done: Sequence[Round] = ()
) -> list[Round]:
    catalogue = TABLES[2].catalogue
    return list(boost(shards, catalogue, params, done))


def rounds_here(params: BoostParams, n_classes: int = 2) -> list[Round]:
    dataset = TABLES[n_classes]
    shards = [(bin_values(dataset), initial_weights(dataset))]
    return list(boost(shards, dataset.catalogue, params))


@pytest.fixture(scope="module", params=[2, 3])
def groups(request: pytest.FixtureRequest) -> Iterator[tuple[int, ShardProcesses]]:
    with in_processes(parted(TABLES[request.param], 2)) as shards:
        yield request.param, shards


@pytest.mark.parametrize("rule", RULES)
def test_processes_make_the_same_rounds_to_the_bit(
    groups: tuple[int, ShardProcesses], rule: str
) -> None:
    n_classes, shards = groups
    params = BoostParams(rule, rounds=8)

    rounds = rounds_of(shards, params)

    assert repr(rounds) == repr(rounds_here(params, n_classes))


@pytest.mark.parametrize("search", ["all", "lazy", "ucb"])
@pytest.mark.parametrize("learner", ["stump", "tree", "product"])
def test_processes_make_the_same_rounds_whatever_the_learner(
    groups: tuple[int, ShardProcesses], learner: str, search: SearchName
) -> None:
    n_classes, shards = groups
    params = BoostParams(
        "speedboost", rounds=6, learner=learner, leaves=4, search=search, search_size=4
    )
    expected = rounds_here(params, n_classes)

    rounds = rounds_of(shards, params)
    rest = rounds_of(shards, params, expected[:3])

    assert (repr(rounds), repr(rest)) == (repr(expected), repr(expected[3:]))


@settings(max_examples=3, deadline=None)
@given(boosted_tables(), PARAMS)
def test_processes_of_any_parting_make_the_same_rounds(
    case: tuple[Dataset, list[IntArray]], params: BoostParams
) -> None:
    dataset, parts = case
    expected = list(boost(whole_of(dataset), dataset.catalogue, params))

    with in_processes(tables_of(dataset, parts)) as shards:
        rounds = list(boost(shards, dataset.catalogue, params))

    assert repr(rounds) == repr(expected)


def test_run_that_was_given_up_leaves_no_trace_in_the_next(
    groups: tuple[int, ShardProcesses],
) -> None:
    n_classes, shards = groups
    params = BoostParams("adaboost", rounds=5)
    run = boost(shards, TABLES[n_classes].catalogue, TREES)
    next(run)
    run.close()

    rounds = rounds_of(shards, params)

    assert repr(rounds) == repr(rounds_here(params, n_classes))


def test_round_of_stumps_is_one_small_message_a_shard() -> None:
    dataset = random_dataset(5, 2, n_samples=400, n_features=30)
    with in_processes(parted(dataset, 2)) as shards:
        run = boost(shards, dataset.catalogue, BoostParams("adaboost", rounds=9))
        next(run)
        traffics = []
        for _ in range(6):
            before = replace(shards.traffic)
            next(run)
            traffics.append(difference(shards.traffic, before))

    n_shards = 3
    for traffic in traffics:
        assert (traffic.n_sent, traffic.n_received) == (n_shards, n_shards)
        n_bytes = traffic.bytes_sent + traffic.bytes_received
        assert n_bytes <= n_shards * (2_100 * 30 + 4_000)


def difference(after: Traffic, before: Traffic) -> Traffic:
    return Traffic(
        after.n_sent - before.n_sent,
        after.n_received - before.n_received,
        after.bytes_sent - before.bytes_sent,
        after.bytes_received - before.bytes_received,
    )


class KilledShards(ShardProcesses):
    """Processes of which the second is killed before some exchanges."""

    def __init__(
        self,
        exchanges: set[int],
        sent: signal.Signals = signal.SIGKILL,
        kind: ProcessKind = USUAL,
    ) -> None:
        # Of those with rows.
        tables = parted(TABLES[2], 2)[:2]
        super().__init__([binned.codes for binned, _ in tables], kind)
        weigh(self, tables)
        self.n_exchanges = 0
        self.exchanges = exchanges
        self.sent = sent

    def exchange(
        self, orders: Sequence[Order], history: Sequence[Order], n_arrays: int
    ) -> list[IntArray]:
        self.n_exchanges += 1
        if self.n_exchanges in self.exchanges:
            os.kill(self.pids[1], self.sent)
        return super().exchange(orders, history, n_arrays)


class UnluckyShards(KilledShards):
    """Processes whose replacements are killed too, while they repeat what was done."""

    n_unlucky = 2

    def revive(self, member: Member[ProcessLine], letters: Sequence[Letter]) -> None:
        super().revive(member, letters)
        if self.n_unlucky:
            self.n_unlucky -= 1
            member.line.kill()


@pytest.mark.parametrize("search", ["all", "lazy"])
@pytest.mark.parametrize(
    "exchanges",
    [
        {1},
        pytest.param({2}, id="root", marks=pytest.mark.chaos),
        {4},
        pytest.param({5}, id="sides", marks=pytest.mark.chaos),
        {9, 14},
    ],
    ids=["begin", None, "split", None, "twice"],
)
def test_process_that_is_killed_is_replaced_without_a_trace(
    exchanges: set[int], search: SearchName
) -> None:
    params = replace(TREES, search=search, search_size=4)
    with KilledShards(exchanges) as shards:
        rounds = rounds_of(shards, params)

        assert repr(rounds) == repr(rounds_here(params))
        assert shards.n_losses == len(exchanges)


@pytest.mark.parametrize("exchanges", [{1}, {9}], ids=["begin", "round"])
def test_replacement_that_is_killed_is_replaced_too(exchanges: set[int]) -> None:
    with UnluckyShards(exchanges) as shards:
        rounds = rounds_of(shards, TREES)

        assert repr(rounds) == repr(rounds_here(TREES))
        assert shards.n_losses == 3


@pytest.mark.chaos
def test_process_that_is_stopped_is_replaced() -> None:
    # Long enough for a new one to start.
    kind = ProcessKind(silence_s=5)
    with KilledShards({9}, signal.SIGSTOP, kind) as shards:
        rounds = rounds_of(shards, TREES)

        assert repr(rounds) == repr(rounds_here(TREES))
        assert shards.n_losses == 1


def test_run_whose_processes_die_and_die_is_given_up() -> None:
    kind = ProcessKind(most_losses=1)
    with UnluckyShards({5}, kind=kind) as shards:
        run = boost(shards, TABLES[2].catalogue, TREES)

        with pytest.raises(ShardsLostError) as lost:
            list(run)

        # The next run begins with as many lives.
        shards.exchanges, shards.n_unlucky = set(), 0
        rounds = rounds_of(shards, TREES)

    assert str(lost.value) == (
        "The training was given up: 2 of its shard processes have died."
    )
    assert repr(rounds) == repr(rounds_here(TREES))


def test_failure_of_a_shard_arrives_although_more_is_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    send = ProcessLine.send

    def send_slowly(line: ProcessLine, packed: bytes) -> bool:
        is_sent = send(line, packed)
        # The failure has come; a process that ends by it has the time to.
        line.child.channel.poll(10)
        line.child.process.join(0.2)
        return is_sent

    monkeypatch.setattr(ProcessLine, "send", send_slowly)
    with in_processes(parted(TABLES[2], 1)[:1]) as shards:
        (member,) = shards._members
        member.owed[0] = Handover(1, 1 << 30)  # More than its file has.

        # The shard goes on saying so.
        for _ in range(2):
            with pytest.raises(ShardFailedError, match="failed: ValueError: mmap"):
                rounds_of(shards, TREES)

        assert shards.n_losses == 0


def test_processes_end_with_the_block() -> None:
    with in_processes(parted(TABLES[2], 2)) as shards:
        pids = shards.pids

    assert not any(map(is_alive, pids))


COORDINATOR = """
from tests.app import test_cluster as cluster
shards = cluster.in_processes(cluster.parted(cluster.TABLES[2], 2))
cluster.rounds_of(shards, cluster.TREES)
print(*shards.pids, flush=True)
input()
"""


def test_processes_end_with_a_coordinator_that_is_killed() -> None:
    coordinator = subprocess.Popen(
        [sys.executable, "-c", COORDINATOR],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with coordinator:
        assert coordinator.stdout is not None
        pids = [int(pid) for pid in coordinator.stdout.readline().split()]
        assert len(pids) == 3
        assert all(map(is_alive, pids))

        coordinator.kill()

        wait(lambda: not any(map(is_alive, pids)))

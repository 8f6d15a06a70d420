"""river's ensembles on the same streams, each setting tried."""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from river import ensemble, tree

from benchmarks.online.kept import Kept, Record
from benchmarks.online.streams import N_ROWS, STREAMS, Stream

ENSEMBLES: dict[str, Callable[..., Any]] = {
    "AdaBoost": ensemble.AdaBoostClassifier,
    "ADWINBoosting": ensemble.ADWINBoostingClassifier,
    "Bagging": ensemble.BaggingClassifier,
    "ADWINBagging": ensemble.ADWINBaggingClassifier,
}
#: Rows between two tries to split, and the doubt about the best split.
SETTINGS = {"slow": (200, 1e-7), "eager": (50, 1e-2)}
#: What a leaf predicts: its majority, or naive Bayes by all features where that is
#: better. Only the first is a stump: the other reads every feature in each leaf.
N_STUMPS, N_SEEDS = 25, 2
#: Settings are tried with so many stumps; of ten classes they take minutes each.
N_TRIED = {"sea": 25, "hyperplane": 25, "led": 10, "electricity": 25}
#: So many settings are played on all seeds.
N_BEST = 2
LEAVES = ("mc", "nba")


class Peer(NamedTuple):
    """An ensemble of river's and its settings."""

    name: str
    setting: str
    leaf: str

    @property
    def title(self) -> str:
        """The words that stand in the results."""
        return f"{self.name} {self.setting} {self.leaf}"

    def make(self, n_stumps: int, seed: int) -> Any:
        """Return it untrained."""
        grace, delta = SETTINGS[self.setting]
        stump = tree.HoeffdingTreeClassifier(
            max_depth=1,
            grace_period=grace,
            delta=delta,
            leaf_prediction=self.leaf,
        )
        return ENSEMBLES[self.name](stump, n_models=n_stumps, seed=seed)


def every_peer() -> Iterator[Peer]:
    """Return all ensembles with all settings."""
    for name in ENSEMBLES:
        for setting in SETTINGS:
            for leaf in LEAVES:
                yield Peer(name, setting, leaf)


def play(peer: Peer, stream: Stream, n_stumps: int, seed: int) -> dict[str, float]:
    """Test on each row, then learn it; return the share of errors, and the seconds."""
    model = peer.make(n_stumps, seed)
    names = [f"f{idx}" for idx in range(stream.values.shape[1])]
    targets = stream.targets.tolist()
    n_errors = 0
    start = time.process_time()
    for values, target in zip(stream.values.tolist(), targets, strict=True):
        row = dict(zip(names, values, strict=True))
        n_errors += model.predict_one(row) != target
        model.learn_one(row, target)
    seconds = time.process_time() - start
    return {"error": n_errors / len(targets), "seconds": seconds}


def play_all(kept: Kept, name: str) -> None:
    """Try every setting on the first seed, then play the best of them on all seeds."""
    tried = [measure(kept, name, 0, N_TRIED[name], peer) for peer in every_peer()]
    errors = [record["error"] for record in tried]
    ranked = sorted(zip(errors, every_peer(), strict=True))
    for seed in range(N_SEEDS):
        for _, peer in ranked[:N_BEST]:
            measure(kept, name, seed, N_STUMPS, peer)


def measure(kept: Kept, name: str, seed: int, n_stumps: int, peer: Peer) -> Record:
    """Play a peer on a stream, or read what it did."""
    key = f"river {name} seed {seed} stumps {n_stumps} {peer.title}"

    def work() -> Record:
        stream = STREAMS[name](seed, N_ROWS[name])
        return play(peer, stream, n_stumps, seed)

    return kept.measure(key, work)

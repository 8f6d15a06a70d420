"""The one table of algorithms: how each grows, which policy asks for it, its facts."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from askless.core.codes.binned_table import BinnedTable, LayOut
from askless.core.model.ensemble import Cascade, Ensemble
from askless.core.table.dataset import Dataset
from askless.core.training.baselines import BAGGED, grow_trees
from askless.core.training.boosting import boost, initial_weights
from askless.core.training.cascade import grow_cascade, make_cascade
from askless.core.training.online.online import grow_online
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round
from askless.core.training.rules import RULES

# Most rounds beside panels. With 300 instead, `ordered` errs no less often and `sample`
# more often (docs/mathematics.md has the figures).
MOST_BESIDE_PANELS = 100

Grow = Callable[[BinnedTable, BoostParams, Sequence[Round], bool], Iterator[Round]]


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A training algorithm; `grow` has the arguments of `grow_ensemble`."""

    policy: str
    grow: Grow
    #: The most rounds that are trained.
    most_rounds: Callable[[BoostParams], int] = lambda params: params.rounds
    #: The stages of the rounds, where a row can be rejected early.
    make_cascade: Callable[[Dataset, BoostParams, Sequence[Round]], Cascade] | None = (
        None
    )
    #: Whether there may be two classes only.
    is_binary: bool = False
    #: Whether panels are fitted besides.
    has_panels: bool = False
    #: The rule that it boosts by, where its name says none; also of several labels.
    rule: str | None = None
    #: Two policies: the second asks in ranges of budgets where held-out rows say that
    #: it pays.
    candidates: tuple[str, str] | None = None
    #: Whether trees leave rows out that can judge them.
    is_bagged: bool = False
    #: Whether it is trained on values, of all rows, and not on codes.
    needs_values: bool = False
    #: Whether the model can go on learning row by row.
    is_online: bool = False


def grow_boosted(
    table: BinnedTable, params: BoostParams, done: Sequence[Round], is_strict: bool
) -> Iterator[Round]:
    """Boost by the rule that the algorithm is named after.

    The rows are boosted in this process, unless the table's `lay_out` says where else.
    """
    # Only cascades can miss their rates.
    del is_strict
    if table.lay_out is None:
        shard = table.binned, initial_weights(table, params.label_weights)
        return boost([shard], table.catalogue, params, done)
    return grow_in_shards(table, table.lay_out, params, done)


def grow_in_shards(
    table: BinnedTable, lay_out: LayOut, params: BoostParams, done: Sequence[Round]
) -> Iterator[Round]:
    """Boost on rows that other processes hold while the run lasts."""
    signed = initial_weights(table, params.label_weights)
    with lay_out(table.binned, signed) as source:
        yield from boost(source, table.catalogue, params, done)


def grow_beside_panels(
    table: BinnedTable, params: BoostParams, done: Sequence[Round], is_strict: bool
) -> Iterator[Round]:
    """Boost hypotheses beside panels, for sessions by a policy other than panels."""
    boosting = replace(params, algorithm=rule_name(params.algorithm))
    return grow_boosted(table, boosting, done, is_strict)


def limit_rounds(params: BoostParams) -> BoostParams:
    """Return parameters with no more rounds than are boosted beside panels, if any."""
    if not ALGORITHMS[params.algorithm].has_panels:
        return params
    return replace(params, rounds=min(params.rounds, MOST_BESIDE_PANELS))


def rule_name(algorithm: str) -> str:
    """Return the name of the rule that an algorithm boosts by."""
    return ALGORITHMS[algorithm].rule or algorithm


def grow_by_values(
    grow: Callable[[Dataset, BoostParams, Sequence[Round], bool], Iterator[Round]],
) -> Grow:
    """Return a function that grows an algorithm on the values of all rows."""
    return lambda table, *rest: grow(table.dataset, *rest)


PANELS = Algorithm(
    "panels",
    grow_beside_panels,
    has_panels=True,
    rule="adaboost_bt_smoothed",
    candidates=("panels", "adaptive"),
)

ALGORITHMS = {
    "auto": PANELS,
    "panels": PANELS,
    **{name: Algorithm(rule.policy, grow_boosted) for name, rule in RULES.items()},
    "cascade": Algorithm(
        "cascade",
        grow_by_values(grow_cascade),
        needs_values=True,
        most_rounds=lambda params: params.stages * params.rounds,
        make_cascade=make_cascade,
        is_binary=True,
    ),
    "online": Algorithm(
        "ordered", grow_by_values(grow_online), needs_values=True, is_online=True
    ),
    "decision_tree": Algorithm(
        "ordered",
        grow_by_values(grow_trees),
        most_rounds=lambda _: 1,
        needs_values=True,
    ),
    **{
        name: Algorithm(
            "ordered", grow_by_values(grow_trees), is_bagged=True, needs_values=True
        )
        for name in BAGGED
    },
}


def grow_ensemble(
    table: BinnedTable, params: BoostParams, done: Sequence[Round], *, is_strict: bool
) -> Iterator[Round]:
    """Yield the rounds of any algorithm after those that are done.

    After `done`, the rounds of an interrupted run, the rest is the same to the bit.
    `is_strict`: a stage of a cascade that misses its rates is refused; else it is the
    last. A fold may miss rates that the whole reaches.
    """
    return ALGORITHMS[params.algorithm].grow(table, params, done, is_strict)


def make_ensemble(
    rows: Dataset | BinnedTable,
    params: BoostParams,
    rounds: Sequence[Round],
    error_costs: tuple[tuple[float, ...], ...] | None = None,
) -> Ensemble:
    """Return an ensemble of the hypotheses of rounds; `rows` are those of training."""
    algorithm = ALGORITHMS[params.algorithm]
    cascade = None
    if algorithm.make_cascade is not None:
        dataset = rows if isinstance(rows, Dataset) else rows.dataset
        cascade = algorithm.make_cascade(dataset, params, rounds)
    return Ensemble(
        catalogue=rows.catalogue,
        classes=rows.classes,
        hypotheses=tuple(added.hypothesis for added in rounds),
        alphas=tuple(added.alpha for added in rounds),
        priors=tuple(rows.priors.tolist()),
        algorithm=params.algorithm,
        policy=algorithm.policy,
        error_costs=error_costs,
        is_multilabel=rows.is_multilabel,
        cascade=cascade,
    )

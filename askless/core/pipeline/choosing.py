"""Choose parameters on held-out rows, so that nobody has to guess them."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from itertools import product
from typing import Literal, NamedTuple, get_args

import numpy as np

from askless.core.arrays import FloatArray
from askless.core.codes.binning import bin_values
from askless.core.codes.folds import split_rows
from askless.core.errors import Refusal, RefusedError
from askless.core.model.votes import hypothesis_votes, raw_classes
from askless.core.simulation.curves import evaluate
from askless.core.table.dataset import Dataset
from askless.core.training.algorithms import ALGORITHMS, make_ensemble, rule_name
from askless.core.training.boosting import boost, initial_weights
from askless.core.training.params import BoostParams
from askless.core.training.rounds import Round
from askless.core.training.rules import RULES

AutoName = Literal["rounds", "tau", "switch"]
AUTO_NAMES: tuple[AutoName, ...] = get_args(AutoName)

# The value of a parameter to be chosen on held-out rows; the most rounds it may choose.
AUTO = "auto"
AUTO_ROUNDS = 1000

# The values that are tried; the default comes first and wins a tie.
TAUS = (1.0, 0.3, 0.1, 0.03, 0.0)
SWITCHES = (0.1, 0.3, 0.03)
N_BUDGETS = 12


def list_algorithms_with(name: AutoName) -> tuple[str, ...]:
    """Return the algorithms whose rule has this parameter."""
    rules = {key for key, rule in RULES.items() if name in rule.parameters}
    return tuple(algorithm for algorithm in ALGORITHMS if rule_name(algorithm) in rules)


USERS = {name: list_algorithms_with(name) for name in AUTO_NAMES}


class TunedParams(NamedTuple):
    """The chosen parameters, and the mean error of each choice over budgets."""

    params: BoostParams
    tried: tuple[tuple[BoostParams, float], ...] = ()


def choose_parameters(
    dataset: Dataset, params: BoostParams, auto: frozenset[AutoName]
) -> Generator[float, None, TunedParams]:
    """Choose parameters of boosting; the generator returns them.

    `auto` names the parameters to choose; those that the algorithm doesn't have are
    ignored. `params` has the others, and in `rounds` the most that are tried. Yields
    the share of the work done, 0 to 1. Raises `RefusedError` where something is to be
    chosen and all rows are of one row group, so that none can be held out.

    Notes
    -----
    A third of the rows is held out, the same for every choice. `rounds` is the smallest
    number of least error without a budget (Huang et al. 2015 take it from their test
    rows). A plan under a budget is a prefix of the ensemble, so fewer rounds change no
    shorter plan. `tau` and `switch` have the least mean error over budgets, which are
    evenly spaced up to the price of everything that the first choice reads; of equal
    ones the first tried is taken.
    """
    names = [name for name in auto if params.algorithm in USERS[name]]
    if not names:
        return TunedParams(params)
    choices, rule = list_parameter_settings(params, names), rule_name(params.algorithm)
    training, held_out = hold_out(dataset, params, names)
    # All choices share the codes and the first weights.
    shards = [(bin_values(training), initial_weights(training, params.label_weights))]
    budgets: Sequence[int | None] = (None,)
    results = []
    for position, choice in enumerate(choices):
        rounds: list[Round] = []
        ruled = replace(choice, algorithm=rule)
        for added in boost(shards, training.catalogue, ruled):
            rounds.append(added)
            share = added.number / choice.rounds
            yield (position + share) / len(choices)
        if "rounds" in names:
            n_rounds = choose_rounds(training, held_out, rounds)
            choice, rounds = replace(choice, rounds=n_rounds), rounds[:n_rounds]
        ensemble = make_ensemble(training, choice, rounds)
        if position == 0 and len(choices) > 1 and rounds:
            total = rounds[-1].spent
            budgets = [total * part // N_BUDGETS for part in range(1, N_BUDGETS + 1)]
        errors = evaluate(ensemble, held_out, budgets, "ordered").errors
        results.append((choice, float(np.mean(errors))))
    least = min(error for _, error in results)
    best = next(choice for choice, error in results if error <= least + 1e-12)
    return TunedParams(best, tuple(results))


def hold_out(
    dataset: Dataset, params: BoostParams, names: Sequence[AutoName]
) -> tuple[Dataset, Dataset]:
    """Split rows into those to train on and a third held out.

    Raises `RefusedError` where all rows are of one row group. It names one of the
    parameters `names`, which were to be chosen.
    """
    parts = [
        dataset.take(idxs) for idxs in split_rows(dataset, params.seed) if idxs.size
    ]
    if len(parts) < 2:
        rule = (
            '"auto" must have two groups of rows (`group_by`), one to train on and one '
            "to hold out, also where a fold is left out"
        )
        raise RefusedError([Refusal(f"params.{min(names)}", rule)])
    return parts[0], parts[1]


def list_parameter_settings(
    params: BoostParams, names: Sequence[AutoName]
) -> list[BoostParams]:
    """Return every combination of `TAUS` and `SWITCHES` to try, the default first."""
    taus = TAUS if "tau" in names else (params.tau,)
    switches = SWITCHES if "switch" in names else (params.switch,)
    return [
        replace(params, tau=tau, switch=switch)
        for tau, switch in product(taus, switches)
    ]


def choose_rounds(training: Dataset, held_out: Dataset, rounds: Sequence[Round]) -> int:
    """Return the fewest rounds of least error on held-out rows, at least 1."""
    ensemble = make_ensemble(training, BoostParams(), ())
    votes: FloatArray = np.zeros((held_out.n_samples, ensemble.n_outputs))
    errors = []
    for added in rounds:
        cast = hypothesis_votes(added.hypothesis, held_out.values, ensemble.n_outputs)
        votes += added.alpha * cast
        # The tolerance of a tie depends on the alphas so far.
        ensemble = replace(ensemble, alphas=(*ensemble.alphas, added.alpha))
        is_wrong = raw_classes(ensemble, votes) != held_out.targets
        errors.append(float(held_out.weights @ is_wrong))
    if not errors:
        return 1
    return int(np.flatnonzero(np.array(errors) <= min(errors) + 1e-12)[0]) + 1

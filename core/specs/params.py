"""The algorithm and its parameters, as a spec gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import get_args

from core.pipeline.choosing import AUTO, AUTO_ROUNDS, USERS, AutoName
from core.reader import Reader, Section, or_else
from core.training.algorithms import ALGORITHMS
from core.training.feature_sampling import SearchName
from core.training.params import BoostParams, LabelWeights, LearnerName

MAX_ROUNDS = 100_000
MAX_LEAVES = 64
MAX_FACTORS = 8
MAX_STAGES = 50
MAX_SEARCH_SIZE = 1_000_000


def read_params(
    reader: Reader, algorithm: object, raw: object, seed: int
) -> tuple[BoostParams, frozenset[AutoName]]:
    """Read the algorithm and its parameters, and which of them are to be chosen."""
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        rule = f"must be one of {', '.join(ALGORITHMS)}"
        reader.refuse("algorithm", rule, repr(algorithm))
        algorithm = BoostParams().algorithm
    names = [one.name for one in fields(BoostParams)]
    named = [name for name in names if name not in ("algorithm", "seed")]
    given = reader.mapping(or_else(raw, {}), "params", optional=named)
    auto = read_auto(reader, algorithm, given)
    given = {name: value for name, value in given.items() if name not in auto}
    if "rounds" in auto:
        given["rounds"] = AUTO_ROUNDS
    floor = reader.optional(reader.amount, given.get("cost_floor"), "params.cost_floor")
    if given.get("cost_floor") == 0:
        reader.refuse("params.cost_floor", "must be positive", "0")
    params = Section(reader, given, "params", BoostParams())
    boost = BoostParams(
        algorithm=algorithm,
        rounds=params.integer("rounds", 1, MAX_ROUNDS),
        tau=params.number("tau", 0, 1),
        switch=params.number("switch", 0, 1),
        cost_floor=floor or None,
        learner=params.choice("learner", LearnerName),
        leaves=params.integer("leaves", 2, MAX_LEAVES),
        factors=params.integer("factors", 1, MAX_FACTORS),
        search=params.choice("search", SearchName),
        search_size=params.integer("search_size", 1, MAX_SEARCH_SIZE),
        seed=seed,
        stages=params.integer("stages", 1, MAX_STAGES),
        detection=params.number("detection", 0.5, 1),
        false_alarm=params.number("false_alarm", 0, 1),
        label_weights=params.choice("label_weights", LabelWeights),
    )
    return boost, auto


def read_auto(
    reader: Reader, algorithm: str, given: Mapping[str, object]
) -> frozenset[AutoName]:
    """Read which parameters are "auto", to be chosen on held-out rows."""
    names: tuple[AutoName, ...] = get_args(AutoName)
    auto = frozenset(name for name in names if given.get(name) == AUTO)
    for name in sorted(auto):
        if algorithm not in USERS[name]:
            rule = f"can be chosen for {', '.join(USERS[name])} only"
            reader.refuse(f"params.{name}", rule, repr(AUTO))
    return auto

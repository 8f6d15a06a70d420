"""Small models of the demo's heart table, trained without its last patients."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import sqlalchemy as sa

from askless.app.documents.files import load_raw_spec
from askless.app.documents.spec.spec import read_spec
from askless.app.terminal.demo import DATA, demo_training, load_demo
from askless.app.words.own_questions import N_PATIENTS
from askless.core.model.ensemble import BudgetRange
from askless.core.model.model import Model
from tests.panels import shorten
from tests.small import pull

# The largest budget at which the model of `with_own_questions` asks them.
OWN_BUDGET = 200.0


class Killed(BaseException):
    """Ends a start, as a kill does, where nothing catches it."""


class Commits:
    """Counts commits to one database, and kills before one of them."""

    def __init__(self, url: str, last: int) -> None:
        self.url, self.count, self.last = sa.make_url(url), 0, last

    def __call__(self, connection: sa.Connection) -> None:
        if connection.engine.url == self.url:
            self.count += 1
            if self.count > self.last:
                raise Killed


def run_until(url: str, last: int, start: Callable[[], object]) -> int:
    """Call `start` up to a commit to a database; return how many there were."""
    commits = Commits(url, last)
    sa.event.listen(sa.Engine, "commit", commits)
    try:
        start()
    finally:
        sa.event.remove(sa.Engine, "commit", commits)
    return commits.count


@cache
def train_heart() -> Model:
    """Return a model that takes aims, of few rounds and without a curve."""
    changes = {"algorithm": "panels", "effort": "fast", "validation": {"folds": 0}}
    spec = read_spec(load_raw_spec(DATA / "heart.json") | changes)
    _, dataset = load_demo()
    others = dataset.take(np.arange(dataset.n_samples)[:-N_PATIENTS])
    with pytest.MonkeyPatch.context() as patch:
        shorten(patch)
        _, model = pull(demo_training(spec, others))
    return model


def with_own_questions(model: Model) -> Model:
    """Return the model as if it asked each case its own questions up to a budget."""
    ranges = (BudgetRange(int(OWN_BUDGET * 1e6), "worth"), BudgetRange(None, "panels"))
    own = {"in_force": [False, True, False], "mean_gain": 0.05, "standard_error": 0.01}
    comparison = {"budgets": [0.0, OWN_BUDGET, None], "own_questions": own}
    ensemble = replace(model.ensemble, ranges=ranges)
    return replace(
        model, ensemble=ensemble, card=model.card | {"comparison": comparison}
    )

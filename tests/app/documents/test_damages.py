"""A model's document is damaged in every place: it is refused, or it can be played."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest

from askless.app.documents.model.model import model_from_json
from askless.app.service.models import check_playable
from askless.core import kernels
from askless.core.errors import RefusedError
from askless.core.model.ensemble import Ensemble
from askless.core.model.ladder.asking import AskingTerms, Worth
from askless.core.model.model import Model
from tests.app.documents.test_learning import trained
from tests.app.documents.test_model import baseline, three_classes
from tests.app.test_certificates import CERTIFICATION
from tests.app.test_panel_documents import fitted
from tests.cascades import two_stages
from tests.documents import document_of
from tests.levels import step_of
from tests.panels import make_ladder, make_stopping, make_tables
from tests.sessions import small_ensemble


def asking() -> Model:
    """Panels with rules for going on, tables of two parts, and certificates."""
    ensemble = small_ensemble([1, 1, 1], policy="worth")
    ladder = make_ladder(ensemble, [(0, 1)], can_hide=True)
    panels = replace(
        ladder,
        stopping=make_stopping(len(ladder.panels)),
        tables=make_tables(ensemble, 0, 0),
        worth=Worth(
            (AskingTerms(0, 1.0), AskingTerms(3, 0.5, 1)), feature_idxs=(0, 1, 2)
        ),
    )
    certified = replace(ensemble, panels=panels, certification=CERTIFICATION)
    return Model("m", certified, "y")


MODELS: dict[str, Callable[[], Model]] = {
    "classes": three_classes,
    "cascade": lambda: Model("m", two_stages()),
    "baseline": baseline,
    "online": lambda: trained(folds=0),
    # That of `boosting` has a curve, which is two fifths of such a document.
    "panels": lambda: replace(fitted(3), curve=None),
    "asking": asking,
}
# Documents of so few places that all are damaged each time.
SHORT = {"classes", "cascade", "baseline"}
# A second policy reads what the model's own one does not look at.
ALSO_PLAYED = {"asking": "adaptive"}
# Facts that nothing reads but people.
FACTS = {"params", "card"}


def some_of(values: list[Any]) -> dict[int, Any]:
    """The first and the last item; of objects the last of each kind."""
    if values and isinstance(values[0], dict):
        kinds = [frozenset(k for k in it if it[k] is not None) for it in values]
        idxs = {*{kind: idx for idx, kind in enumerate(kinds)}.values()}
    else:
        idxs = {0, len(values) - 1} if values else set()
    return {idx: values[idx] for idx in sorted(idxs)}


def places(value: Any) -> Iterator[tuple[Any, ...]]:
    """The way to each value; of a list to some items."""
    items: Any = value.items() if isinstance(value, dict) else ()
    if isinstance(value, list):
        items = some_of(value).items()
    for key, item in items:
        yield (key,)
        if key not in FACTS:
            yield from ((key, *way) for way in places(item))


def damages(value: Any) -> Iterator[Any]:
    """Values to put in the place of one: null, and others of its own type."""
    yield None
    if isinstance(value, list):
        yield from (value[:-1], [*value, *value[-1:]], value[::-1])
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (-1, value + 1, 10**6)
    elif isinstance(value, float):
        yield from (-1.0, 1e6)
    elif isinstance(value, str):
        yield "x"


def damage_each(document: dict[str, Any]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Damage one place of a document, or remove it, as long as the caller looks."""
    for *way, last in places(document):
        holder: Any = document
        for step in way:
            holder = holder[step]
        kept = holder[last]
        for value in damages(deepcopy(kept)):
            holder[last] = value
            yield (*way, last), value
        if isinstance(holder, dict):
            names = list(holder.items())
            del holder[last]
            yield (*way, last), "nothing"
            holder.clear()
            holder.update(names)
        holder[last] = kept


def assert_in_range(ensemble: Ensemble) -> None:
    """What kernels index by is there: they do not look themselves."""
    n_features, n_outputs = len(ensemble.catalogue.features), ensemble.n_outputs
    for hypothesis in ensemble.hypotheses:
        assert {len(stump.votes) for stump in hypothesis.stumps} == {n_outputs}
        assert all(0 <= stump.feature_idx < n_features for stump in hypothesis.stumps)
    for panel in () if ensemble.panels is None else ensemble.panels.panels:
        assert all(0 <= idx < n_features for idx in panel.feature_idxs)
        if panel.blend is None:
            continue
        columns, trees = panel.blend.columns, panel.blend.trees.served
        assert np.isin(columns.feature_idxs, panel.feature_idxs).all()
        n_nodes, n_steps = len(trees.nodes), len(trees.steps)
        assert {len(trees.cuts), len(trees.shares)} == {n_nodes}
        assert np.isin(trees.nodes[:, kernels.READS], panel.feature_idxs).all()
        below, above = trees.nodes[:, kernels.BELOW], trees.nodes[:, kernels.ABOVE]
        for child in (below, above, trees.roots):
            assert ((-n_steps <= child) & (child < n_nodes)).all()
        assert ((below < 0) | (below > np.arange(n_nodes))).all()
        assert ((above < 0) | (above > np.arange(n_nodes))).all()
        assert len(trees.outputs) == len(trees.roots)
        assert ((trees.outputs >= 0) & (trees.outputs < n_outputs)).all()
        assert panel.blend.trees.starts.size == n_outputs
        for ridge in panel.blend.ridges:
            assert ridge.coefficients.shape[1] == ridge.offsets.size == n_outputs


@pytest.mark.parametrize("kind", ["boosting", *MODELS])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_damaged_document_is_refused_or_can_be_played(
    kind: str, trained_model: Model
) -> None:
    made = trained_model if kind == "boosting" else MODELS[kind]()
    document = document_of(made)
    check_playable(model_from_json(document).ensemble)
    n_refused = n_played = 0

    step = 1 if kind in SHORT else step_of(3)
    for way, value in islice(damage_each(document), 0, None, step):
        try:
            model = model_from_json(document)
            assert_in_range(model.ensemble)
            check_playable(model.ensemble)
            if kind in ALSO_PLAYED:
                check_playable(replace(model.ensemble, policy=ALSO_PLAYED[kind]))
        except RefusedError:
            n_refused += 1
        except Exception as error:
            pytest.fail(f"{way} as {value!r}: {error!r}")
        else:
            n_played += 1

    assert n_refused > 100
    assert n_played > 10

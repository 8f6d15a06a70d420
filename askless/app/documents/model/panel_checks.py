"""Check of the panels in a model's document: what must fit together."""

from collections.abc import Iterator

import numpy as np

from askless.app.documents.model.blends import BlendShape, TreesShape
from askless.app.documents.model.panels import PanelLadderShape, PanelShape
from askless.core.arrays import FloatArray
from askless.core.errors import Refusal
from askless.core.model.ladder.asking import Worth
from askless.core.model.ladder.blends import KernelRidge, LogisticRidge
from askless.core.model.ladder.columns import Columns
from askless.core.model.ladder.splits import NOWHERE, Split
from askless.core.model.ladder.stopping import Stopping
from askless.core.model.ladder.tables import ROOT, PartTable, PartTables


def check_tables(
    tables: PartTables | None, n_classes: int, where: str
) -> Iterator[Refusal]:
    """Yield refusals of tables: what kernels read must be in its place."""
    if tables is None:
        return
    for idx, cuts in enumerate(tables.cuts):
        if (np.diff(cuts) <= 0).any():
            yield Refusal(f"{where}.cuts[{idx}]", "must ascend")
    n_cells = int(tables.cells.starts[-1])
    for number, part in enumerate(tables.parts):
        yield from check_part(part, (n_cells, n_classes), f"{where}.parts[{number}]")
        if part.gate is not None:
            yield from check_gate(part.gate, f"{where}.parts[{number}]")
    yield from check_children(tables, where)


def check_part(
    part: PartTable, shape: tuple[int, int], where: str
) -> Iterator[Refusal]:
    """Yield refusals of one part; `shape` is that of its table."""
    n_cells, n_classes = shape
    if part.log_chances.shape != shape:
        rule = f"must be {n_cells} rows of {n_classes} numbers"
        yield Refusal(f"{where}.log_chances", rule)
    n_ways = 0 if part.gate is None else part.gate.n_parts
    if len(part.children) != n_ways:
        yield Refusal(f"{where}.children", f"must be {n_ways}, one for each way")


def check_gate(gate: Split, where: str) -> Iterator[Refusal]:
    idxs, points = gate.feature_idxs, gate.points.tolist()
    if not idxs or len(set(idxs)) < len(idxs):
        yield Refusal(f"{where}.gate.features", "must be different, one at least")
    is_largest = gate.kind == "largest"
    if is_largest != (len(idxs) > 1):
        rule = "is largest exactly where features are several"
        yield Refusal(f"{where}.gate.kind", rule)
    if bool(points) == is_largest or points != sorted(set(points)):
        rule = "must ascend, and be empty exactly where the kind is largest"
        yield Refusal(f"{where}.gate.points", rule)


def check_children(tables: PartTables, where: str) -> Iterator[Refusal]:
    """Yield refusals of parts that are not led to by exactly one part before them."""
    led_to = []
    for number, part in enumerate(tables.parts):
        children = [child for child in part.children if child != NOWHERE]
        if any(child <= number for child in children):
            yield Refusal(f"{where}.parts[{number}].children", "must be later parts")
        led_to += children
    if sorted(led_to) != list(range(ROOT + 1, len(tables.parts))):
        yield Refusal(f"{where}.parts", "must each be the child of one part, not 0")


def check_worth(worth: Worth, has_tables: bool, where: str) -> Iterator[Refusal]:
    """Yield refusals of the terms by which cases are asked by tables."""
    if not has_tables:
        yield Refusal(where, "is there only where the panels have tables")
    budgets = [term.least_budget for term in worth.terms]
    if budgets != sorted(set(budgets)):
        yield Refusal(f"{where}.terms", "must ascend in least_budget_micros")


def check_stopping(stopping: Stopping | None, where: str) -> Iterator[Refusal]:
    """Yield refusals of stopping rules; a target is the same or an earlier panel."""
    if stopping is None:
        return
    for number, rule in enumerate(stopping.rules):
        place = f"{where}.rules[{number}]"
        if (rule.targets > np.arange(rule.targets.size)).any():
            expected = "must be the panel's own position or one before"
            yield Refusal(f"{place}.targets", expected)
    spends = [rule.spend for rule in stopping.rules]
    errors = [-rule.error for rule in stopping.rules]
    if spends != sorted(set(spends)) or errors != sorted(set(errors)):
        expected = "must ascend in spend_micros and descend in error"
        yield Refusal(f"{where}.rules", expected)


# Most random numbers that one kernel's waves need, and a whole model's: a short
# document could otherwise ask for any amount of memory.
MAX_DRAWS, MAX_ALL_DRAWS = 2**27, 2**30

# Most columns of a covariance; a training makes 256 at most.
MAX_COVARIED = 723


def check_panels(shape: PanelLadderShape | None, n_outputs: int) -> Iterator[Refusal]:
    """Yield refusals of panels, their stopping rules and their tables."""
    if shape is None:
        return
    where = "model.panels"
    if all(panel.feature_idxs for panel in shape.panels):
        yield Refusal(f"{where}.panels", "must have one without features")
    for position, panel in enumerate(shape.panels):
        place = f"{where}.panels[{position}]"
        yield from check_panel(panel, n_outputs, place)
    yield from check_stopping(shape.stopping, f"{where}.stopping")
    yield from check_columns(shape, where)
    n_classes = 2 if n_outputs == 1 else n_outputs
    yield from check_tables(shape.tables, n_classes, f"{where}.tables")
    if shape.worth is not None:
        has_tables = shape.tables is not None
        yield from check_worth(shape.worth, has_tables, f"{where}.worth")
    for position, panel in enumerate(shape.panels):
        reads_tables = panel.blend is not None and panel.blend.tables_weight is not None
        if reads_tables and shape.tables is None:
            place = f"{where}.panels[{position}].blend.tables_weight"
            yield Refusal(place, "is there only where the panels have tables")


def check_panel(panel: PanelShape, n_outputs: int, where: str) -> Iterator[Refusal]:
    """Yield refusals of a panel, except of the columns that its blend reads."""
    idxs = set(panel.feature_idxs)
    if len(idxs) < len(panel.feature_idxs):
        yield Refusal(f"{where}.features", "must be different")
    if not idxs.issuperset(panel.may_lack):
        yield Refusal(f"{where}.may_lack", "must be among the features")
    if (panel.blend is None) != (not idxs):
        yield Refusal(f"{where}.blend", "is there exactly where features are")
    elif panel.blend is not None:
        yield from check_blend(panel.blend, idxs, n_outputs, f"{where}.blend")


def check_columns(shape: PanelLadderShape, where: str) -> Iterator[Refusal]:
    """Yield refusals of the space, of its columns and of the ridges that read them."""
    space, n_draws = shape.spaces[0], 0
    yield from check_space(space, f"{where}.spaces[0]")
    for position, panel in enumerate(shape.panels):
        if panel.blend is None:
            continue
        at = f"{where}.panels[{position}].blend"
        n_columns = int(np.isin(space.feature_idxs, panel.feature_idxs).sum())
        if not n_columns:
            yield Refusal(at, "must read a column of its space")
        yield from check_ridges(panel.blend, n_columns, at)
        n_draws += sum(
            count_ridge_numbers(n_columns, ridge) for ridge in panel.blend.ridges
        )
    if n_draws > MAX_ALL_DRAWS:
        rule = "must have fewer kernels, or these fewer columns"
        yield Refusal(f"{where}.panels", rule)


def check_space(space: Columns, where: str) -> Iterator[Refusal]:
    """Yield refusals of a space: columns that several panels share."""
    if space.covariance is None:
        yield Refusal(f"{where}.covariance", "is required")
    elif len(space.covariance) > min(space.feature_idxs.size, MAX_COVARIED):
        rule = "must be the upper half of a matrix of the first columns"
        yield Refusal(f"{where}.covariance", rule)
    elif not is_positive_definite(space.covariance):
        yield Refusal(f"{where}.covariance", "must be positive definite")


def is_positive_definite(covariance: FloatArray) -> bool:
    try:
        np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return False
    return True


def check_blend(
    blend: BlendShape, idxs: set[int], n_outputs: int, where: str
) -> Iterator[Refusal]:
    """Yield refusals of a blend of the features `idxs`, except of its columns."""
    if len(blend.weights) != 1 + len(blend.ridges):
        rule = "must be one for the trees and one for each ridge"
        yield Refusal(f"{where}.weights", rule)
    for number, ridge in enumerate(blend.ridges):
        if {ridge.offsets.size, *ridge.coefficients.shape[1:]} != {n_outputs}:
            rule = f"must be rows of {n_outputs} numbers, as many as it has inputs"
            yield Refusal(f"{where}.ridges[{number}].coefficients", rule)
    yield from check_trees(blend.trees, idxs, f"{where}.trees")


def check_ridges(blend: BlendShape, n_columns: int, where: str) -> Iterator[Refusal]:
    """Yield refusals of a blend's ridges on `n_columns` columns."""
    for number, ridge in enumerate(blend.ridges):
        place, n_rows = f"{where}.ridges[{number}]", len(ridge.coefficients)
        has_right_rows = n_rows == n_columns
        if isinstance(ridge, KernelRidge):
            has_right_rows = n_rows % 2 == 0 and n_rows > 0
            if count_ridge_numbers(n_columns, ridge) > MAX_DRAWS:
                yield Refusal(place, "must have fewer columns or coefficients")
            if ridge.stretches.size != n_columns:
                yield Refusal(f"{place}.stretches", f"must be {n_columns} numbers")
        if not has_right_rows:
            rule = "must be as many rows as it has inputs"
            yield Refusal(f"{place}.coefficients", rule)


def count_ridge_numbers(n_columns: int, ridge: KernelRidge | LogisticRidge) -> int:
    """Return how many random numbers a ridge draws: squared blocks of its columns."""
    if not isinstance(ridge, KernelRidge):
        return 0
    return n_columns * max(n_columns, len(ridge.coefficients) // 2)


def check_trees(trees: TreesShape, idxs: set[int], where: str) -> Iterator[Refusal]:
    """Yield refusals of trees.

    A child comes after its node, so every path ends. No two nodes share a child: a
    short document could otherwise ask for endless work.
    """
    n_nodes, n_steps = len(trees.features), len(trees.steps)
    if not idxs.issuperset(trees.features.tolist()):
        yield Refusal(f"{where}.features", "must be among those of the panel")
    own = np.arange(n_nodes)
    children = np.concatenate((trees.below, trees.above, trees.roots))
    # A child must come after its node; a root may be any node.
    after = np.concatenate((own, own, np.full(len(trees.roots), -1)))
    is_node = children >= 0
    is_wrong = np.where(
        is_node, (children <= after) | (children >= n_nodes), children < -n_steps
    )
    if is_wrong.any():
        yield Refusal(where, "a child must be a later node, or a step that is there")
    elif np.unique(children[is_node]).size < is_node.sum():
        yield Refusal(where, "a node must be the child of one node, or a root")

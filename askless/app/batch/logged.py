"""Reads tables of logged cases: how each was asked, by the features of a model."""

from askless.app.documents.cases import CaseDocument, DrawnChance, parse_case
from askless.core.arrays import FloatArray
from askless.core.errors import Refusal, RefusedError
from askless.core.model.model import Model
from askless.core.model.rows import check_targets
from askless.core.session.state import Answer, Outcome
from askless.core.simulation.replays import LoggedCase
from askless.core.simulation.trails import FOREIGN, CaseTrail, LoggedDraw
from askless.core.table.columns import Columns, as_text, unknown_column
from askless.core.table.spec import CASE_COLUMN

Places = dict[str, int]
NO_CHANCES = (
    "must have propensities: these cases were logged before questions had any, so they "
    "can't say how another model would have done"
)


def read_trails(columns: Columns, values: FloatArray, stored: Model) -> list[CaseTrail]:
    """Return how each case of a table was asked, by the catalogue of a model.

    `values` (n_rows, n_features) are the table's, as the model reads them. Raises
    RefusedError where the table has no logged cases, or none with propensities.
    """
    documents = read_documents(columns)
    asked = [one for case in documents for one in case.asked if one.outcome != "known"]
    if asked and all(one.propensity is None for one in asked):
        raise RefusedError([Refusal(CASE_COLUMN, NO_CHANCES)])
    targets = check_targets(columns, stored.ensemble, stored.target)
    places = stored.ensemble.catalogue.feature_idxs
    return [
        make_trail(case, row, values[row - 1], places, int(targets[row - 1]))
        for row, case in enumerate(documents, 1)
    ]


def read_documents(columns: Columns) -> list[CaseDocument]:
    """Return the logged case of each row; RefusedError names the first wrong cell."""
    if CASE_COLUMN not in columns:
        raise RefusedError([unknown_column("--logged", CASE_COLUMN, columns)])
    cells = as_text(columns[CASE_COLUMN])
    documents = []
    for row, number in enumerate(cells.numbers.tolist(), 1):
        try:
            documents.append(parse_case(cells.words[number] or ""))
        except RefusedError:
            rule = "must be a logged case, as `askless cases` writes it"
            raise RefusedError([Refusal(f"{CASE_COLUMN}, row {row}", rule)]) from None
    return documents


def make_trail(
    case: CaseDocument, row: int, values: FloatArray, places: Places, class_idx: int
) -> CaseTrail:
    """Return how a case was asked; features that the model lacks are left out."""
    known: dict[int, float] = {}
    answers: dict[int, Answer] = {}
    for one in case.asked:
        idx = places.get(one.feature)
        if idx is None:
            continue
        value = float(values[idx])
        if one.outcome in ("known", "value") and value != value:
            rule = f"must have a value: its outcome is {one.outcome}"
            raise RefusedError([Refusal(f"{one.feature}, row {row}", rule)])
        if one.outcome == "known":
            known[idx] = value
        else:
            outcome: Outcome = one.outcome
            given = value if outcome == "value" else None
            answers[idx] = Answer(idx, outcome, given, one.charged)
    return CaseTrail(
        case=LoggedCase(known, answers),
        asked=tuple(places.get(one.feature, FOREIGN) for one in case.asked),
        draws=tuple(make_draw(one, places) for one in case.draws),
        explore=case.explore or 0.0,
        budget=case.budget,
        class_idx=class_idx,
    )


def make_draw(draw: DrawnChance, places: Places) -> LoggedDraw:
    """Return a draw of whether to explore by a model's features."""
    asks, drawn = draw.asks, draw.drawn
    return LoggedDraw(
        n_asked=draw.n_asked,
        remaining=draw.remaining,
        policy_idx=None if asks is None else places.get(asks, FOREIGN),
        price=draw.price,
        n_open=draw.n_open,
        drawn_idx=None if drawn is None else places.get(drawn, FOREIGN),
    )

"""Check answers without storing them: their charges, and doubts about them."""

from askless.app.documents.http import doubts
from askless.app.documents.http import sessions as bodies
from askless.app.service.sessions.answering import take_new_answers
from askless.app.service.sessions.opened import SessionCall, find_open
from askless.app.service.sessions.views import doubts_of
from askless.app.store.database.transactions import Transaction


def check(
    db: Transaction, call: SessionCall, request: bodies.AnswersRequest
) -> doubts.AnswersCheck:
    """Return charges and doubts of answers; refuse them as `answer` would."""
    opened = find_open(db, call)
    ensemble = opened.model.ensemble
    features = ensemble.catalogue.features
    after = take_new_answers(opened, request)
    charges = after.state.charges[len(opened.state.charges) :]
    names = {answer.feature for answer in request.answers}
    all_doubts = doubts_of(ensemble, after.state, after.texts)
    return doubts.AnswersCheck(
        charges=[
            doubts.FoundCharge(
                feature=features[charge.feature_idx].name, amount=charge.amount
            )
            for charge in charges
        ],
        total=sum(charge.amount for charge in charges),
        remaining=after.state.remaining,
        warnings=[
            doubts.Doubt.of(doubt) for doubt in all_doubts if doubt.feature in names
        ],
    )

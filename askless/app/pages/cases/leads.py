"""The demo's leads: decide one by a run, and compare it with a waterfall of rules."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response

from askless.app.demo import waterfall
from askless.app.demo.leads import (
    BUDGET,
    ERROR_PRICE,
    N_SHOWN,
    VENDORS,
    Lead,
    list_shown,
)
from askless.app.documents.http.sessions import PredictRequest
from askless.app.errors import NotFoundError
from askless.app.http.plumbing.auth import needs
from askless.app.http.plumbing.deps import At, Changes, Loaded
from askless.app.pages.plumbing.callers import Typed
from askless.app.pages.plumbing.frame import redirect
from askless.app.pages.plumbing.inputs import field_text
from askless.app.service import models
from askless.app.service.buying import providers, starts
from askless.app.service.jobs import trainings
from askless.app.service.sessions.opened import OpenSession
from askless.app.store.database.transactions import Transaction
from askless.app.words.trust import describe_aim
from askless.app.words.wording import money
from askless.core.catalogue.prices import from_micros

router = APIRouter(prefix="/ui/leads", include_in_schema=False)
MODEL = "leads"
# Far more than a demo has.
MOST = 200
ORIGINS = {
    "fair": "a fair",
    "search": "a search",
    "advert": "an advert",
    "customer": "a customer",
}


class LeadCard(NamedTuple):
    """The card of leads on home; money in units."""

    #: number and words of each lead
    choices: tuple[tuple[str, str], ...]
    number: str
    n_vendors: int
    cheapest: float
    dearest: float
    error_price: float
    budget: float
    #: while its model is being trained there is no button
    is_trained: bool


class LeadComparison(NamedTuple):
    """A lead's decision and spend, here and by the waterfall; money in units."""

    truth: str
    is_right: bool
    vendors: str
    spent: float
    decision: str
    is_other_right: bool
    rule: str
    #: what both come to on average, in sentences
    means: str
    next_number: int


def make_lead_card(db: Transaction, number: int, now: datetime) -> LeadCard | None:
    """Return the card of the leads; None where no demo sells what vendors know."""
    stored = {provider.name for provider in providers.page(db, MOST, None, now).items}
    is_trained = models.is_name_taken(db, MODEL)
    has_vendors = stored.issuperset(vendor.name for vendor in VENDORS)
    if not has_vendors or not (is_trained or trainings.is_begun(db, MODEL)):
        return None
    prices = [vendor.price for vendor in VENDORS]
    return LeadCard(
        tuple((str(place), words_of(lead)) for place, lead in number_leads()),
        str(number),
        len(VENDORS),
        from_micros(min(prices)),
        from_micros(max(prices)),
        from_micros(ERROR_PRICE),
        from_micros(BUDGET),
        is_trained,
    )


def number_leads() -> Iterator[tuple[int, Lead]]:
    return enumerate(list_shown(), 1)


def words_of(lead: Lead) -> str:
    """Return a lead and what its form says."""
    known = lead.known
    return (
        f"{lead.name}: from {ORIGINS[known['source']]}, {known['role']}, "
        f"{known['words']:.0f} words"
    )


@router.post("", dependencies=[needs("predict")])
async def decide_lead(
    request: Request, form: Typed, changes: Changes, loaded: Loaded, at: At
) -> Response:
    """Start a run that decides a lead, and show it."""
    numbered = {str(number): lead for number, lead in number_leads()}
    lead = numbered.get(field_text(form, "lead"))
    if lead is None:
        raise NotFoundError("lead")
    wish = starts.RunStart(
        PredictRequest.model_validate(terms_of(lead)),
        request.app.state.settings.provider_hosts,
    )
    return await changes(
        lambda db: starts.start(db, loaded, wish, at),
        lambda opened: redirect(f"/ui/sessions/{opened.session.id}/receipt"),
    )


def terms_of(lead: Lead) -> dict[str, Any]:
    """Return the request of a lead's run."""
    return {
        "model": MODEL,
        "client_ref": lead.name,
        "budget": from_micros(BUDGET),
        "aim": {"error_price": from_micros(ERROR_PRICE)},
        "known": dict(lead.known),
        "keys": {"domain": lead.domain},
        "run": True,
    }


def compare_lead(
    opened: OpenSession, receipt: Mapping[str, Any]
) -> LeadComparison | None:
    """Return what the waterfall makes of the lead of a run; None for other sessions."""
    session, run = opened.session, opened.run
    if run is None or run.state != "ended" or opened.model.name != MODEL:
        return None
    for number, lead in number_leads():
        if lead.name != session.client_ref or dict(lead.known) != receipt["known"]:
            continue
        displays = {label["label"]: label["display"] for label in receipt["classes"]}
        other = waterfall.decide(number - 1)
        return LeadComparison(
            displays.get(lead.outcome, lead.outcome),
            receipt["label"] == lead.outcome,
            ", ".join(other.vendors) or "none",
            from_micros(other.spent),
            displays.get(other.outcome, other.outcome),
            other.outcome == lead.outcome,
            waterfall.describe_rule(),
            f"{describe_aim(opened.model, opened.view)} {describe_other()}",
            number % N_SHOWN + 1,
        )
    return None


def describe_other() -> str:
    """Return what leads come to on average by the waterfall."""
    spent, error = waterfall.measure()
    # A mean is rounded to the cent.
    spend = money(round(spent, -4), "USD")
    return (
        f"By the waterfall they cost {spend}, and {round(100 * error)} of 100 are "
        "wrong. Both were measured on leads that neither was made of."
    )

"""The command that refreshes a model of the service, also from a timer."""

import json
from datetime import UTC, datetime, timedelta
from typing import Annotated

import sqlalchemy as sa
import typer

from askless.app.cli.options import output
from askless.app.cli.serving.keys import open_database, require_tenant_id
from askless.app.cli.serving.tenant_option import FIRST, Tenant
from askless.app.errors import ConflictError, NotFoundError
from askless.app.records import Moment
from askless.app.service.loaded import LoadedModels
from askless.app.service.loop import challenges, monitor, refreshes
from askless.app.settings.environment import read_settings
from askless.app.settings.settings import Settings
from askless.app.store.blobs import Blobs
from askless.app.store.database.engine import transaction
from askless.app.uploads.parsing import make_reader
from askless.core.errors import Refusal, RefusedError

# As the monitor of the service.
DAYS = 90


def refresh_model(
    name: Annotated[str, typer.Argument(help="The name of a model.")],
    tenant: Tenant = FIRST,
    if_due: Annotated[
        bool, typer.Option("--if-due", help="Only where the monitor says so.")
    ] = False,
    by_rule: Annotated[
        bool,
        typer.Option(
            "--by-rule", help="Let the rule promote, not only a person (alpha 0.05)."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train a challenger of a model on its cases since, directly in the database.

    The training waits in the queue: a worker computes it. Nothing is done where a
    challenge of the name is open, where there is no new case, and with --if-due where
    no refresh is due: the status is 0 then too, and the sentence says why. It is 2
    where the refresh is refused.
    """
    rule = refreshes.StatedRule(alpha=0.05, margin=0.0, is_by_rule=by_rule)
    with open_database() as engine:
        desk = RefreshDesk(read_settings(), engine, require_tenant_id(engine, tenant))
        outcome = desk.refresh(name, rule, if_due=if_due)
    output.print(
        json.dumps(outcome) if as_json else outcome["sentence"], soft_wrap=True
    )


class RefreshDesk:
    """Looks at a model of a tenant, and refreshes it."""

    def __init__(self, settings: Settings, engine: sa.Engine, tenant_id: str) -> None:
        self.settings, self.engine, self.tenant_id = settings, engine, tenant_id
        self.loaded = LoadedModels()

    def refresh(
        self, name: str, rule: refreshes.StatedRule, *, if_due: bool
    ) -> dict[str, object]:
        """Refresh a model unless something says no; return what was done, and why."""
        at = self.settings.moment_at(datetime.now(UTC))
        due = None
        try:
            with transaction(self.engine, self.tenant_id, is_read=True) as db:
                head = refreshes.get_current_model(db, name)
                challenge = challenges.find_newest(db, head.name)
                is_open = challenge is not None and challenges.is_challenge_open(
                    db, challenge
                )
                if if_due:
                    since = at.now - timedelta(days=DAYS)
                    due = monitor.judge_refresh(db, self.loaded, head, since, at)
            if is_open:
                return refusal_result(head.name, f"A challenge of {head.name} is open.")
            if due is not None and not due.is_due:
                return refusal_result(head.name, due.sentence)
            refresh = self.begin(refreshes.RefreshOrder(name, rule), at)
        except refreshes.NoCasesError as error:
            return refusal_result(name, str(error))
        except (NotFoundError, ConflictError) as error:
            raise RefusedError([Refusal("NAME", str(error))]) from None
        why = "" if due is None else f" {due.sentence}"
        sentence = (
            f"{refresh.training.id} is in the queue: a challenger of {head.name}."
        )
        return {
            "refreshed": True,
            "model": head.name,
            "training": refresh.training.id,
            "challenge": refresh.challenge.id,
            "sentence": sentence + why,
        }

    def begin(
        self, order: refreshes.RefreshOrder, at: Moment
    ) -> refreshes.BegunRefresh:
        blobs = Blobs(self.settings.blobs_url)
        place = refreshes.Workplace(self.loaded, make_reader(self.settings), blobs)
        with transaction(self.engine, self.tenant_id, is_read=True) as db:
            prepared = refreshes.prepare_refresh(db, place, order, at)
        with transaction(self.engine, self.tenant_id) as db:
            return refreshes.begin_refresh(db, blobs, prepared, at.now)


def refusal_result(name: str, why: str) -> dict[str, object]:
    return {"refreshed": False, "model": name, "sentence": f"Nothing is done. {why}"}

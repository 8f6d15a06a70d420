"""Fetch from a record system what it knows of a patient since yesterday."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx2

from askless.app.doors.records.fetching import FetchError, fetch_json, tls
from askless.app.doors.records.observations import (
    find_time,
    list_resources,
    map_codes,
    seconds,
)
from askless.app.doors.sign_in.auth_servers import FlowError
from askless.core.catalogue.catalogue import Catalogue

Json = dict[str, Any]
SPAN = timedelta(days=1)
CLOCKS = timedelta(minutes=5)
MOST_PAGES = 10
SCOPE = re.compile(r"(?:patient|user|system)/(\w+|\*)\.(read|\*|c?r?u?d?s?)(?:\?.*)?")
# A moment in FHIR is a whole day where it has no time.
DAY = len("2026-01-31")
# A day ends so long after it began in UTC, and begins so long before.
WEST_S, EAST_S = 36 * 3600, 14 * 3600


class Records:
    """A record system's FHIR, read with the rights of the person who launched us."""

    def __init__(self, base: str, token: str, scope: str) -> None:
        self.base = base
        self.host = urlsplit(base).netloc
        self.origin = f"{urlsplit(base).scheme}://{self.host}"
        self.headers = {
            "Accept": "application/fhir+json",
            # A token that HTTP can't carry is changed here and refused there.
            "Authorization": f"Bearer {token}".encode("ascii", "replace").decode(),
        }
        self.scopes = scope.split()

    def may(self, right: str, kind: str) -> bool:
        """Return whether the record system grants to read (r) or search (s) a kind.

        Scopes are those of version 2 or 1: `patient/Patient.rs`, `patient/*.read`.
        """
        granted = [SCOPE.fullmatch(scope) for scope in self.scopes]
        rights = [scope[2] for scope in granted if scope and scope[1] in (kind, "*")]
        return any(
            permitted in ("read", "*") or right in permitted for permitted in rights
        )

    async def fetch_results(
        self, patient: str, catalogue: Catalogue, now: datetime
    ) -> Json:
        """Return the patient and their Observations of the last day.

        What was not granted is not asked for. Raises FlowError.
        """
        results: Json = {}
        async with httpx2.AsyncClient(headers=self.headers, verify=tls()) as client:
            if self.may("r", "Patient"):
                url = f"{self.base}/Patient/{patient}"
                results["patient"] = await self.fetch(client, url)
            codes = [f"{system}|{code}" for system, code in map_codes(catalogue)]
            if codes and self.may("s", "Observation"):
                query = {"patient": patient, "code": ",".join(codes), "_count": "200"}
                query |= {
                    "date": f"ge{now - SPAN:%Y-%m-%dT%H:%M:%SZ}",
                    "_sort": "-date",
                }
                url = str(httpx2.URL(f"{self.base}/Observation", params=query))
                entries = [
                    {"resource": resource}
                    for page in await self.fetch_pages(client, url)
                    for resource in list_resources(page)
                    if is_recent(resource, now)
                ]
                results["observations"] = {"resourceType": "Bundle", "entry": entries}
        return results

    async def fetch_pages(self, client: httpx2.AsyncClient, url: str) -> list[Json]:
        """Return a Bundle and those that follow it."""
        pages: list[Json] = []
        following: str | None = url
        while following is not None and len(pages) < MOST_PAGES:
            pages.append(await self.fetch(client, following))
            following = next(self.list_following(pages[-1]), None)
        return pages

    def list_following(self, page: Json) -> Iterator[str]:
        """Yield the address of the next page, if it is of the same record system."""
        links = page.get("link")
        for link in links if isinstance(links, list) else []:
            if isinstance(link, dict) and link.get("relation") == "next":
                url = str(link.get("url"))
                # Its token is for nobody else.
                if url.startswith(f"{self.origin}/"):
                    yield url

    async def fetch(self, client: httpx2.AsyncClient, url: str) -> Json:
        """Return a resource; raise FlowError if there is none."""
        try:
            return await fetch_json(client, url)
        except FetchError:
            words = f"{self.host} did not give the patient's results."
            raise FlowError(502, f"{words} Please launch again.") from None


def is_recent(resource: Json, now: datetime) -> bool:
    """Return whether a result is of the last day; record systems may give others.

    One of a whole day may be of any moment of it, wherever on earth that was. One of
    the future is wrong, but for clocks that differ.
    """
    at = find_time(resource)
    since, latest = (now - SPAN).timestamp(), (now + CLOCKS).timestamp()
    if len(at) == DAY:
        return since <= seconds(at) + WEST_S and seconds(at) - EAST_S <= latest
    return len(at) > DAY and since <= seconds(at) <= latest

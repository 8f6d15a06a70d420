"""Fetches from a record system what it knows of a patient since yesterday."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx2

from app.doors.flows import FlowError
from app.doors.observations import list_resources, map_codes
from core.table.catalogue import Catalogue

Json = dict[str, Any]
SPAN = timedelta(days=1)
TIMEOUT_S = 10
MOST_PAGES = 10
# A moment in FHIR is a whole day where it has no time.
DAY = len("2026-01-31")


class Records:
    """A record system's FHIR, read with the rights of the person who launched us."""

    def __init__(self, base: str, token: str, scope: str) -> None:
        self.base = base
        self.host = urlsplit(base).netloc
        self.headers = {
            "Accept": "application/fhir+json",
            "Authorization": f"Bearer {token}",
        }
        self.scopes = scope.split()

    def may_read(self, kind: str) -> bool:
        """Return whether the record system has granted a kind of resource."""
        kinds = {one.partition("/")[2].partition(".")[0] for one in self.scopes}
        return bool({kind, "*"} & kinds)

    async def fetch_results(
        self, patient: str, catalogue: Catalogue, now: datetime
    ) -> Json:
        """Return the patient and their Observations of the last day.

        What was not granted is not asked for. Raises FlowError.
        """
        found: Json = {}
        async with httpx2.AsyncClient(
            headers=self.headers, timeout=TIMEOUT_S
        ) as client:
            if self.may_read("Patient"):
                url = f"{self.base}/Patient/{patient}"
                found["patient"] = await self.fetch(client, url)
            codes = [f"{system}|{code}" for system, code in map_codes(catalogue)]
            if codes and self.may_read("Observation"):
                query = {"patient": patient, "code": ",".join(codes), "_count": "200"}
                query |= {
                    "date": f"ge{now - SPAN:%Y-%m-%dT%H:%M:%SZ}",
                    "_sort": "-date",
                }
                url = str(httpx2.URL(f"{self.base}/Observation", params=query))
                entries = [
                    {"resource": one}
                    for page in await self.fetch_pages(client, url)
                    for one in list_resources(page)
                    if is_recent(one, now)
                ]
                found["observations"] = {"resourceType": "Bundle", "entry": entries}
        return found

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
        for one in links if isinstance(links, list) else []:
            if isinstance(one, dict) and one.get("relation") == "next":
                url = str(one.get("url"))
                # Its token is for nobody else.
                if urlsplit(url)[:2] == urlsplit(self.base)[:2]:
                    yield url

    async def fetch(self, client: httpx2.AsyncClient, url: str) -> Json:
        """Return a resource; raise FlowError if there is none."""
        try:
            response = await client.get(url)
            found = response.raise_for_status().json()
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError):
            found = None
        if not isinstance(found, dict):
            words = f"{self.host} did not give the patient's results."
            raise FlowError(502, f"{words} Please launch again.")
        return found


def is_recent(resource: Json, now: datetime) -> bool:
    """Return whether a result is of the last day; record systems may give others.

    One of a whole day counts until its end, as searches of FHIR have it. One of days to
    come is wrong.
    """
    at = str(resource.get("effectiveDateTime") or resource.get("issued"))
    try:
        taken = datetime.fromisoformat(at)
        if len(at) == DAY:
            taken += timedelta(days=1)
    except (ValueError, OverflowError):
        return False
    if taken.tzinfo is None:
        taken = taken.replace(tzinfo=now.tzinfo)
    return now - SPAN <= taken <= now + SPAN

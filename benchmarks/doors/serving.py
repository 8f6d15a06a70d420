"""A server with a door open, and how its times are compared with those of /predict."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median, quantiles
from typing import Any

from benchmarks.service.clients import Caller
from benchmarks.service.servers import ROOT, database, end, run_script, wait_for

Json = dict[str, Any]


@contextmanager
def opened(model: str, door: str) -> Iterator[Caller]:
    """Serve a model with a door open; yield a connection."""
    with database("sqlite") as url:
        home = url.removeprefix("sqlite:///").rpartition("/")[0]
        settings = {
            "ASKLESS_HOME": home,
            "ASKLESS_DATABASE_URL": url,
            "ASKLESS_DOORS": json.dumps([door]),
        }
        server = run_script(ROOT, "serve", settings)
        try:
            assert server.stdout is not None
            port = int(server.stdout.readline())
            wait_for([port])
            with Caller(port) as caller:
                status, _ = caller.ask("POST", "/models", model.encode())
                assert status == 201, "the model was not imported"
                yield caller
        finally:
            end(server)


def compare(ours: Sequence[float], theirs: Sequence[float]) -> Json:
    """Return medians in ms, and the ratio of blocks with its quartiles.

    Both have the median seconds of each block.
    """
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    low, middle, high = quantiles(ratios, n=4)
    return {
        "ms": round(1000 * median(ours), 2),
        "ms_predict": round(1000 * median(theirs), 2),
        "ratio": round(middle, 3),
        "quartiles": [round(low, 3), round(high, 3)],
    }

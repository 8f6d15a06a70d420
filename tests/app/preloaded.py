"""Imported by the process that servers are forked from; by nothing else.

Only kernels of sessions run here: those of training start threads, and a process
that has started them can't be forked safely.
"""

import app.main  # noqa: F401
from core import anytime
from tests.app.clinic import clinic

anytime.forecast(clinic(), anytime.start(clinic(), None))

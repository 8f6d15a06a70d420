"""Imported by the process that servers are forked from; by nothing else.

Only kernels of sessions run here: those of training start threads, and a process
that has started them can't be forked safely.
"""

import scipy.optimize  # noqa: F401

import askless.app.main
import askless.app.uploads.parsing  # noqa: F401
from askless.core.session import machine
from tests.app.clinic import clinic

machine.forecast(clinic(), machine.start(clinic(), None))

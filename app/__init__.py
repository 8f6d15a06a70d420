"""Askless around its core: command line, service, and what a user touches."""

import os

# Threads of a finished parallel loop would spin on, and steal the other cores' time.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# Our matrices are small: more threads cost time, and may sum in another order.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

"""Threads of our processes, set where the command starts: before numpy is imported.

Only by the command: a program that imports a part of ours keeps its own settings.
"""

import os

# Threads of a finished parallel loop would spin on, and steal the other cores' time.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# Our matrices are small: more threads cost time, and may sum in another order.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

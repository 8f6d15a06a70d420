"""What a session asks of all hypotheses at once."""

from core.kernels.jit import kernel
from core.kernels.paths import FEATURE, OPEN
from core.kernels.prices import follow_all


@kernel
def survey(case, paths, prices, out_ends, out_dues, out_waiting_for):
    """Follow every path, and find the open feature that each waits for, or -1.

    All int64 (n_hypotheses,); see `follow_all`.
    """
    follow_all(case, paths, prices, out_ends, out_dues)
    status, nodes = case.status, paths.nodes
    for h in range(out_ends.shape[0]):
        out_waiting_for[h] = -1
        if out_ends[h] >= 0 and status[nodes[out_ends[h], FEATURE]] == OPEN:
            out_waiting_for[h] = nodes[out_ends[h], FEATURE]

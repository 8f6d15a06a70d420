"""Votes as probabilities, and the best of several classes."""

import numpy as np

from askless.core.kernels.jit import kernel

# Log odds beyond which a chance of two classes moves no further.
MAX_LOGIT = 40.0


@kernel
def write_probabilities(logits, out_chances):
    """Write the class probabilities of one row: logistic of one logit, or softmax.

    logits: (n_outputs,); out_chances: (n_classes,), which sum to 1.
    """
    if logits.shape[0] == 1:
        logit = min(max(logits[0], -MAX_LOGIT), MAX_LOGIT)
        out_chances[1] = 1.0 / (1.0 + np.exp(-logit))
        out_chances[0] = 1.0 - out_chances[1]
        return
    most, total = logits.max(), 0.0
    for output in range(logits.shape[0]):
        out_chances[output] = np.exp(logits[output] - most)
        total += out_chances[output]
    for output in range(logits.shape[0]):
        out_chances[output] /= total


@kernel
def link_votes(scores, shares, link, priors, tolerance, out_chances):
    """Write the probability of each class from the votes of each row; priors on a tie.

    scores: (n_rows, n_outputs), a tie where none exceeds the tolerance; shares:
    (n_rows,), in [0, 1]; link: (n_knots, n_outputs + 1) or (n_knots, 2), as in
    `askless.core.session.probability.apply_link`; priors: (n_classes,). out_chances:
    (n_rows, n_classes).
    """
    n_outputs, n_steps, slope = scores.shape[1], link.shape[0] - 1, link.shape[1] - 1
    factor = 2.0 if n_outputs == 1 else 1.0
    logits = np.empty(n_outputs)
    for row in range(scores.shape[0]):
        # Between two knots all is linear.
        knot = min(int(shares[row] * n_steps), n_steps - 1)
        part = shares[row] * n_steps - knot
        lower, upper = link[knot], link[knot + 1]
        rise = (1.0 - part) * lower[slope] + part * upper[slope]
        is_tie = True
        for output in range(n_outputs):
            column = min(output, slope - 1)
            offset = (1.0 - part) * lower[column] + part * upper[column]
            logits[output] = offset + rise * factor * scores[row, output]
            is_tie = is_tie and abs(scores[row, output]) <= tolerance
        if is_tie:
            for target in range(priors.shape[0]):
                out_chances[row, target] = priors[target]
        else:
            write_probabilities(logits, out_chances[row])


@kernel
def pick_best(gains, preference, tolerance, out_best):
    """Write the class of largest gain of each row; within the tolerance, the first.

    gains: (n_rows, n_classes); preference: (n_classes,), the classes in the
    order in which ties prefer them. out_best: int64 (n_rows,).
    """
    for row in range(gains.shape[0]):
        least = gains[row].max() - tolerance
        place = 0
        while gains[row, preference[place]] < least:
            place += 1
        out_best[row] = preference[place]

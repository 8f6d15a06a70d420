"""When an edge counts as none or as whole, a Z as 0, and two sums as equal."""

MAX_EDGE = 1 - 1e-9
MIN_EDGE = 1e-12

# More than the Z of a perfect hypothesis, whose alpha is that of `MAX_EDGE`.
MIN_Z = 1e-4

# Sums that differ by less are equal: their terms were added in different orders.
TIE = 1e-9

"""Solves ridge regressions with folds left out: one way for few rows, one for many."""

from collections.abc import Callable, Sequence

import numpy as np

from core.arrays import FloatArray, Floats, IntArray

# Rows whose inputs are computed at a time, where there are many.
BLOCK = 1000

# Inputs of some rows, by their positions; (n_some, n_inputs).
Lay = Callable[[IntArray], Floats]


class FewRows:
    """Ridge regression through the products of rows, which are fewer than inputs.

    Parameters
    ----------
    lay : function of row positions
        Their inputs.
    outputs : float64 array, shape (n_rows, n_outputs)
    folds : sequence of int64 arrays
        Rows that are left out together.
    """

    def __init__(self, lay: Lay, outputs: FloatArray, folds: Sequence[IntArray]):
        self.outputs, self.folds = outputs, folds
        self.every = np.arange(outputs.shape[0])
        self.inputs = lay(self.every)
        self.products = (self.inputs @ self.inputs.T).astype(np.float64)

    def fold_coefficients(self, hold: float) -> list[FloatArray]:
        """Return coefficients fitted without each fold; `hold` is the ridge penalty."""
        found = []
        for fold in self.folds:
            kept = np.setdiff1d(self.every, fold)
            duals = solve(self.products[np.ix_(kept, kept)], self.outputs[kept], hold)
            found.append(self.inputs[kept].T @ duals)
        return found

    def votes(self, by_fold: Sequence[FloatArray]) -> FloatArray:
        """Return the votes of coefficients on their fold's rows, 0 on others."""
        found = np.zeros((self.every.size, by_fold[0].shape[1]))
        for fold, coefficients in zip(self.folds, by_fold, strict=True):
            found[fold] = self.inputs[fold] @ coefficients
        return found

    def coefficients(self, hold: float) -> FloatArray:
        """Return the coefficients fitted to all rows, (n_inputs, n_outputs)."""
        found: FloatArray = self.inputs.T @ solve(self.products, self.outputs, hold)
        return found


class ManyRows:
    """Ridge regression through the products of inputs, summed block by block."""

    def __init__(self, lay: Lay, outputs: FloatArray, folds: Sequence[IntArray]):
        self.lay, self.n_rows, self.folds = lay, outputs.shape[0], folds
        others = np.setdiff1d(np.arange(outputs.shape[0]), np.concatenate(folds))
        parts = [sum_products(lay, outputs, part) for part in (*folds, others)]
        self.parts = parts[:-1]
        self.products = np.sum([one for one, _ in parts], axis=0)
        self.sums = np.sum([one for _, one in parts], axis=0)

    def fold_coefficients(self, hold: float) -> list[FloatArray]:
        """Return coefficients fitted without each fold; `hold` is the ridge penalty."""
        return [
            solve(self.products - products, self.sums - sums, hold)
            for products, sums in self.parts
        ]

    def votes(self, by_fold: Sequence[FloatArray]) -> FloatArray:
        """Return the votes of coefficients on their fold's rows, 0 on others."""
        found = np.zeros((self.n_rows, by_fold[0].shape[1]))
        for fold, coefficients in zip(self.folds, by_fold, strict=True):
            for block in in_blocks(fold):
                found[block] = self.lay(block) @ coefficients
        return found

    def coefficients(self, hold: float) -> FloatArray:
        """Return the coefficients fitted to all rows, (n_inputs, n_outputs)."""
        return solve(self.products, self.sums, hold)


def in_blocks(row_idxs: IntArray) -> list[IntArray]:
    """Split some rows into blocks; no rows are one block."""
    starts = range(0, max(row_idxs.size, 1), BLOCK)
    return [row_idxs[start : start + BLOCK] for start in starts]


def sum_products(
    lay: Lay, outputs: FloatArray, row_idxs: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Sum the products of inputs, and of inputs and outputs, over some rows."""
    products = sums = np.zeros(())
    for block in in_blocks(row_idxs):
        laid = lay(block)
        products = products + laid.T @ laid
        sums = sums + laid.T @ outputs[block].astype(laid.dtype)
    return products.astype(np.float64), sums


def load_solver() -> Callable[..., FloatArray]:
    """Load scipy's linear algebra; return its solver by a Cholesky root.

    Where it is needed: most commands fit nothing. Whoever limits the threads of BLAS
    calls it before, since only what is loaded by then is limited.
    """
    from scipy.linalg import cho_solve

    solver: Callable[..., FloatArray] = cho_solve
    return solver


def solve(products: FloatArray, sums: FloatArray, hold: float) -> FloatArray:
    """Solve (products + hold on the diagonal) x = sums."""
    cho_solve = load_solver()
    held = products.copy()
    held.flat[:: held.shape[0] + 1] += hold
    # numpy's leaves Python's lock meanwhile, which scipy's does not.
    lower = np.linalg.cholesky(held)
    found: FloatArray = cho_solve((lower.T, False), sums, check_finite=False)
    return found

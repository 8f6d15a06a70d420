"""Solve ridge regressions with folds left out, by rows or, of many rows, by inputs."""

from collections.abc import Callable, Sequence

import numpy as np

from askless.core.arrays import FloatArray, Floats, IntArray

# Rows whose inputs are computed at a time, where there are many.
BLOCK = 1000

# A function from positions of rows to their inputs, (n_some, n_inputs).
ComputeInputs = Callable[[IntArray], Floats]


class DualRidge:
    """Ridge regression in the dual form: products of rows, fewer than inputs.

    Parameters
    ----------
    compute_inputs : function of row positions
        Their inputs.
    outputs : float64 array, shape (n_rows, n_outputs)
    folds : sequence of int64 arrays
        Rows that are left out together.
    """

    def __init__(
        self,
        compute_inputs: ComputeInputs,
        outputs: FloatArray,
        folds: Sequence[IntArray],
    ):
        self.outputs, self.folds = outputs, folds
        self.every = np.arange(outputs.shape[0])
        self.inputs = compute_inputs(self.every)
        self.products = (self.inputs @ self.inputs.T).astype(np.float64)

    def fold_coefficients(self, penalty: float) -> list[FloatArray]:
        """Return the coefficients fitted without each fold, for one ridge penalty."""
        coefficients = []
        for fold in self.folds:
            row_idxs = np.setdiff1d(self.every, fold)
            duals = solve_ridge(
                self.products[np.ix_(row_idxs, row_idxs)],
                self.outputs[row_idxs],
                penalty,
            )
            coefficients.append(self.inputs[row_idxs].T @ duals)
        return coefficients

    def compute_votes(self, by_fold: Sequence[FloatArray]) -> FloatArray:
        """Return the votes of coefficients on their fold's rows, 0 on others."""
        votes = np.zeros((self.every.size, by_fold[0].shape[1]))
        for fold, coefficients in zip(self.folds, by_fold, strict=True):
            votes[fold] = self.inputs[fold] @ coefficients
        return votes

    def coefficients(self, penalty: float) -> FloatArray:
        """Return the coefficients fitted to all rows, (n_inputs, n_outputs)."""
        duals = solve_ridge(self.products, self.outputs, penalty)
        coefficients: FloatArray = self.inputs.T @ duals
        return coefficients


class PrimalRidge:
    """Ridge regression in the primal form: products of inputs, summed by blocks.

    Its parameters and methods are those of `DualRidge`.
    """

    def __init__(
        self,
        compute_inputs: ComputeInputs,
        outputs: FloatArray,
        folds: Sequence[IntArray],
    ):
        self.compute_inputs, self.n_rows, self.folds = (
            compute_inputs,
            outputs.shape[0],
            folds,
        )
        others = np.setdiff1d(np.arange(outputs.shape[0]), np.concatenate(folds))
        row_sets = (*folds, others)
        sums = [sum_products(compute_inputs, outputs, rows) for rows in row_sets]
        self.fold_sums = sums[:-1]
        self.products = np.sum([total for total, _ in sums], axis=0)
        self.output_products = np.sum([total for _, total in sums], axis=0)

    def fold_coefficients(self, penalty: float) -> list[FloatArray]:
        """Return the coefficients fitted without each fold, for one ridge penalty."""
        # Sums over the other rows are those over all rows, less the fold's.
        return [
            solve_ridge(self.products - products, self.output_products - sums, penalty)
            for products, sums in self.fold_sums
        ]

    def compute_votes(self, by_fold: Sequence[FloatArray]) -> FloatArray:
        """Return the votes of coefficients on their fold's rows, 0 on others."""
        votes = np.zeros((self.n_rows, by_fold[0].shape[1]))
        for fold, coefficients in zip(self.folds, by_fold, strict=True):
            for block in split_blocks(fold):
                votes[block] = self.compute_inputs(block) @ coefficients
        return votes

    def coefficients(self, penalty: float) -> FloatArray:
        """Return the coefficients fitted to all rows, (n_inputs, n_outputs)."""
        return solve_ridge(self.products, self.output_products, penalty)


def split_blocks(row_idxs: IntArray) -> list[IntArray]:
    """Split some rows into blocks of at most `BLOCK`; no rows are one empty block."""
    starts = range(0, max(row_idxs.size, 1), BLOCK)
    return [row_idxs[start : start + BLOCK] for start in starts]


def sum_products(
    compute_inputs: ComputeInputs, outputs: FloatArray, row_idxs: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Sum the products of inputs, and of inputs and outputs, over some rows."""
    products = sums = np.zeros(())
    for block in split_blocks(row_idxs):
        inputs = compute_inputs(block)
        products = products + inputs.T @ inputs
        sums = sums + inputs.T @ outputs[block].astype(inputs.dtype)
    return products.astype(np.float64), sums


def load_solver() -> Callable[..., FloatArray]:
    """Load scipy's linear algebra; return its solver by a Cholesky root.

    It is loaded only where needed, since most commands fit nothing. Whoever limits the
    threads of BLAS calls this before: a limit applies only to what is loaded by then.
    """
    from scipy.linalg import cho_solve

    solver: Callable[..., FloatArray] = cho_solve
    return solver


def solve_ridge(products: FloatArray, sums: FloatArray, penalty: float) -> FloatArray:
    """Solve (products + penalty on the diagonal) x = sums."""
    cho_solve = load_solver()
    penalised = products.copy()
    # Every (n + 1)-th element is on the diagonal.
    penalised.flat[:: penalised.shape[0] + 1] += penalty
    # numpy's root releases Python's lock meanwhile, scipy's does not.
    lower = np.linalg.cholesky(penalised)
    solution: FloatArray = cho_solve((lower.T, False), sums, check_finite=False)
    return solution

import pytest
from sklearn.datasets import load_breast_cancer

from tests.estimators import smoothed


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :6], y


@pytest.fixture(scope="module")
def fitted(cancer):
    return smoothed(rounds=2).fit(*cancer)

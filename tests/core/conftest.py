"""Keep trainings of core's tests short."""

import pytest

from askless.core.pipeline import calibration
from askless.core.training import baselines


@pytest.fixture
def short_pruning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a tree be pruned by few parameters, where a test is not about which."""
    monkeypatch.setattr(baselines, "MAX_ALPHAS", 3)


@pytest.fixture
def short_calibrations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let probabilities be fitted by few steps, where a test is not about them."""
    monkeypatch.setattr(calibration, "N_STEPS", 3)
    monkeypatch.setattr(calibration, "N_LOOKS", 1)

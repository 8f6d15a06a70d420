"""Keep trainings of core's tests short."""

import pytest

from askless.core.training import baselines


@pytest.fixture
def short_pruning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a tree be pruned by few parameters, where a test is not about which."""
    monkeypatch.setattr(baselines, "MAX_ALPHAS", 3)

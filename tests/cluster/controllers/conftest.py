"""One stage per test, with the controllers on it that the module names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.cluster.controllers.stage import Stage, running_stage


@pytest_asyncio.fixture
async def stage(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stage]:
    monkeypatch.setenv("KUBECACHEDIR", str(tmp_path))
    async with running_stage(request.module.CONTROLLERS) as made:
        yield made

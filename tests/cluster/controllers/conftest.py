"""One stage per test, with the controllers that the module names, on its clock if it has one."""

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
    clock = getattr(request.module, "CLOCK", None)
    async with running_stage(request.module.CONTROLLERS, clock) as made:
        yield made

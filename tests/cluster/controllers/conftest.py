"""One stage per test, with the controllers that the module names, on its clock if it has one."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.cluster.controllers.stage import Stage, running_stage


@pytest_asyncio.fixture
async def stage(request: pytest.FixtureRequest) -> AsyncIterator[Stage]:
    clock = getattr(request.module, "CLOCK", None)
    async with running_stage(request.module.CONTROLLERS, clock) as made:
        yield made

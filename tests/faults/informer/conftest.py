"""The scene, once with streamed lists and once with plain ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from tests.faults.informer.scene import Scene, scene


@pytest_asyncio.fixture(params=[True, False], ids=["streamed lists", "plain lists"])
async def stage(
    request: pytest.FixtureRequest, given_kubeconfig: str, tmp_path: Path
) -> AsyncIterator[Scene]:
    async with scene(
        tmp_path / "server", stream_lists=request.param, kubeconfig=given_kubeconfig
    ) as made:
        yield made


@pytest_asyncio.fixture(params=[True, False], ids=["streamed lists", "plain lists"])
async def own_stage(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Scene]:
    """With a server that can be stopped."""
    async with scene(tmp_path / "server", stream_lists=request.param) as made:
        yield made

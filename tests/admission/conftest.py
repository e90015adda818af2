"""A server, its administrator, and webhooks in another process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.admission.webhooks import WebhookProcess, webhook_process
from tests.in_process import client, server

__all__ = ["client", "process", "server"]


@pytest.fixture(scope="session")
def process() -> Iterator[WebhookProcess]:
    with webhook_process() as started:
        yield started

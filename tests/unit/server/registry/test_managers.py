"""Who writes without saying so is named by its User-Agent."""

from __future__ import annotations

import pytest

from tests.unit.server.registry.server_under_test import Asking


@pytest.mark.parametrize(
    ("agent", "manager"),
    [
        ("kubectl/v1.37 (linux)", "kubectl"),
        ("", "unknown"),
        ("/x", "unknown"),
        ("a\tb\u200bc", "abc"),
        ("\t" * 200 + "a", "a"),
        ("a" * 127 + "é" + "b", "a" * 127),
        ("a\udcffb", "a\ufffdb"),
    ],
)
async def test_a_manager_is_what_can_be_printed_of_a_programs_name(
    ask: Asking, agent: str, manager: str
) -> None:
    body = {"metadata": {"name": "a"}, "data": {"a": "b"}}

    made = await ask("POST", "configmaps", body, agent=agent)

    assert made.body["metadata"]["managedFields"][0]["manager"] == manager

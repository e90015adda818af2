"""What servers do: restart, forget history, stay away."""

from __future__ import annotations

import pytest

from tests.faults.informer.scene import Scene, until


async def test_a_server_that_restarts_with_the_same_data(stage: Scene) -> None:
    """Guarantee: eventually equal"""
    await stage.stop_server()
    await stage.start_server()
    await stage.churn()

    await stage.wait_equal()


async def test_a_server_that_restarted_and_forgot_the_history_in_between(
    stage: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guarantee: eventually equal. The informer is cut off, the collection changes, the server
    restarts with a short memory: resuming meets 410, and the relist finds deletions."""
    monkeypatch.setattr("proreus.server.parts._REMEMBERED", 5)
    await stage.cut_off()
    await stage.churn(60)
    await stage.delete("object-0")
    await stage.stop_server()
    await stage.start_server()
    await stage.churn(20)
    await stage.proxy.listen()

    await stage.wait_equal()
    assert "expired" in stage.causes


async def test_a_server_that_restarted_and_remembers_what_was_not_sent(stage: Scene) -> None:
    """Guarantee: resumable"""
    await stage.cut_off()
    await stage.churn(60)
    await stage.delete("object-0")
    await stage.stop_server()
    await stage.start_server()
    await stage.proxy.listen()

    await stage.wait_equal()
    assert "expired" not in stage.causes


async def test_a_server_that_stays_away_for_a_while(stage: Scene) -> None:
    """Guarantee: eventually equal"""
    await stage.stop_server()
    before = stage.informer.status().reconnects
    await until(lambda: stage.informer.status().reconnects >= before + 3)
    await stage.start_server()
    await stage.churn()

    await stage.wait_equal()

"""What servers do: restart, forget history, stay away."""

from __future__ import annotations

import pytest

from tests.faults.informer.scene import Scene, until


async def test_a_server_that_restarts_with_the_same_data(own_stage: Scene) -> None:
    """Guarantee: eventually equal"""
    await own_stage.stop_server()
    await own_stage.start_server()
    await own_stage.churn()

    await own_stage.wait_equal()


async def test_a_server_that_restarted_and_forgot_the_history_in_between(
    own_stage: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guarantee: eventually equal. The informer is cut off, the collection changes, the server
    restarts with a short memory: resuming meets 410, and the relist finds deletions."""
    monkeypatch.setattr("proreus.server.parts._REMEMBERED", 5)
    monkeypatch.setattr("proreus.server.watch_cache.recall.CHANGES_MAX", 5)
    await own_stage.cut_off()
    await own_stage.churn(60)
    await own_stage.delete("object-0")
    await own_stage.stop_server()
    await own_stage.start_server()
    await own_stage.churn(20)
    await own_stage.proxy.listen()

    await own_stage.wait_equal()
    assert "expired" in own_stage.causes


async def test_a_server_that_restarted_and_remembers_what_was_not_sent(own_stage: Scene) -> None:
    """Guarantee: resumable"""
    await own_stage.cut_off()
    await own_stage.churn(60)
    await own_stage.delete("object-0")
    await own_stage.stop_server()
    await own_stage.start_server()
    await own_stage.proxy.listen()

    await own_stage.wait_equal()
    assert "expired" not in own_stage.causes


async def test_a_server_that_stays_away_for_a_while(own_stage: Scene) -> None:
    """Guarantee: eventually equal"""
    await own_stage.stop_server()
    before = own_stage.informer.status().reconnects
    await until(lambda: own_stage.informer.status().reconnects >= before + 3)
    await own_stage.start_server()
    await own_stage.churn()

    await own_stage.wait_equal()

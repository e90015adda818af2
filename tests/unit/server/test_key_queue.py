"""A controller's queue has each key once, and says how long keys wait and are worked on."""

from __future__ import annotations

from proreus.server.key_queue import KeyQueues
from proreus.server.prometheus import CollectorRegistry
from proreus.testing.virtual_clock import VirtualClock


def values(queues: KeyQueues) -> dict[str, float]:
    return {
        sample.name: sample.value
        for family in queues.collect()
        for sample in family.samples
        if not sample.name.endswith("_bucket")
    }


async def test_a_key_that_waits_is_there_once_and_in_its_place() -> None:
    queue = KeyQueues(CollectorRegistry(), VirtualClock()).named("pods")
    for key in ("a", "b", "a"):
        queue.add(key)

    await queue.wait_any()

    assert len(queue) == 2
    assert queue.take() == ["a", "b"]
    assert queue.take() == []


async def test_metrics_say_how_long_keys_wait_and_are_worked_on() -> None:
    clock = VirtualClock()
    queues = KeyQueues(CollectorRegistry(), clock)
    queue = queues.named("pods")
    queue.add("a")
    await clock.advance(2)
    queue.take()
    with queue.working():
        await clock.advance(3)
        running = values(queues)
    queue.retry("a")

    ended = values(queues)

    assert running["workqueue_longest_running_processor_seconds"] == 3
    assert ended == {
        "workqueue_depth": 1,
        "workqueue_longest_running_processor_seconds": 0,
        "workqueue_unfinished_work_seconds": 0,
        "workqueue_adds_total": 2,
        "workqueue_retries_total": 1,
        "workqueue_queue_duration_seconds_count": 1,
        "workqueue_queue_duration_seconds_sum": 2,
        "workqueue_work_duration_seconds_count": 1,
        "workqueue_work_duration_seconds_sum": 3,
    }

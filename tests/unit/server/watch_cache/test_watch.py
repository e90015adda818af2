"""Starting a watch, and what it is told (spec/server §2.8, §3.4, §10)."""

from __future__ import annotations

from tests.watching import Cluster, from_start


async def test_a_watch_from_the_start_gets_the_state_then_its_end_then_changes(
    cluster: Cluster,
) -> None:
    await cluster.write("b/x")
    first = await cluster.write("a/y")

    watch = await cluster.watch(from_start(bookmarks=True))
    await cluster.settle()
    await cluster.delete("b/x")
    await cluster.settle()

    assert watch.told == [
        f"ADDED a/y {first}",
        f"ADDED b/x {first - 1}",
        f"BOOKMARK {first} end",
        f"DELETED b/x {first + 1}",
    ]

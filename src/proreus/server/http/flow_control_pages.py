"""Levels, queues and waiting requests as text, for people: /debug/api_priority_and_fairness/*."""

from __future__ import annotations

from collections.abc import Iterable

from proreus.net.http1.messages import Answer, Response
from proreus.server.fairness.fairness import Fairness
from proreus.server.http.exchange import Exchange

FOLDER = ("debug", "api_priority_and_fairness")
_LEVELS = ("PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests",
           "ExecutingRequests", "DispatchedRequests", "RejectedRequests", "TimedoutRequests",
           "CancelledRequests")  # fmt: skip
_QUEUES = ("PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse",
           "NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum")  # fmt: skip
_REQUESTS = ("PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue",
             "FlowDistingsher", "ArriveTime", "InitialSeats", "FinalSeats", "AdditionalLatency",
             "StartTime")  # fmt: skip

Row = tuple[object, ...]


def flow_control_page(fairness: Fairness, exchange: Exchange, name: str) -> Answer | None:
    """None: there is no such page."""
    match name:
        case "dump_priority_levels":
            text = _table(_LEVELS, _levels(fairness))
        case "dump_queues":
            text = _table(_QUEUES, _queues(fairness))
        case "dump_requests":
            text = _table(_REQUESTS, _requests(fairness))
        case _:
            return None
    content = ("Content-Type", "text/plain; charset=utf-8")
    return Response(200, exchange.head(content=content), text.encode())


def _levels(fairness: Fairness) -> Iterable[Row]:
    for level in fairness:
        seats, counts = level.seats, level.seats.counts
        is_idle = not seats.executing and not seats.waiting
        yield (
            level.config.name, len(list(seats.queues())), _text(is_idle), _text(False),
            seats.waiting, seats.executing, counts.dispatched, counts.rejected, counts.timed_out,
            counts.cancelled,
        )  # fmt: skip


def _queues(fairness: Fairness) -> Iterable[Row]:
    for level in fairness:
        for queue in level.seats.queues():
            waiting = sum(ticket.width for ticket in queue.waiting)
            yield (
                level.config.name, queue.index, len(queue.waiting), queue.executing, queue.seats,
                f"{queue.virtual_s:.8f}ss", waiting, waiting, f"{queue.virtual_s:.8f}ss",
            )  # fmt: skip


def _requests(fairness: Fairness) -> Iterable[Row]:
    for level in fairness:
        for queue in level.seats.queues():
            for number, ticket in enumerate(queue.waiting):
                yield (
                    level.config.name, ticket.schema, queue.index, number, ticket.flow,
                    f"{ticket.arrived_at:.6f}", ticket.width, 0, "0s", "",
                )  # fmt: skip


def _table(titles: tuple[str, ...], rows: Iterable[Row]) -> str:
    lines = [tuple(map(str, row)) for row in (titles, *rows)]
    widths = [max(map(len, column)) + 1 for column in zip(*lines, strict=True)]
    return "".join(
        " ".join(f"{cell},".ljust(width) for cell, width in zip(line, widths, strict=True))
        .rstrip()
        .removesuffix(",")
        + "\n"
        for line in lines
    )


def _text(is_so: bool) -> str:
    return "true" if is_so else "false"

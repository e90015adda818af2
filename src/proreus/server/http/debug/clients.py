"""Our own clients' side of list-watch, as they report it; and where they report."""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.server.http.body import read_body
from proreus.server.http.client_reports import read_report
from proreus.server.http.exchange import Exchange
from proreus.server.http.services import Services


async def show_clients(services: Services, exchange: Exchange) -> JsonObject:
    found = services.client_reports.look(services.clock.monotonic())
    return {"clients": [report.to_wire() for report in found]}


async def take_report(services: Services, exchange: Exchange) -> JsonObject:
    """Raises BadRequest, TooLarge."""
    report = read_report(
        await read_body(exchange),
        user=exchange.user.name,
        user_agent=exchange.user_agent(),
        now_s=services.clock.monotonic(),
        now=services.clock.now(),
    )
    return {"reportAfterSeconds": services.client_reports.take(report)}

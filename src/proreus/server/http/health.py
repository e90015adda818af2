"""livez, readyz, healthz: is it alive, may it be sent work (spec/server §1.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from proreus.api.wire.query import Query
from proreus.net.http_request import Answer
from proreus.server.http.exchange import Exchange

Check = Callable[[], str]  # "" if fine, else why not


@dataclass(frozen=True, slots=True)
class Health:
    """``checks`` by endpoint ("livez", …), in the order they are told."""

    checks: Mapping[str, Mapping[str, Check]]

    def answer(self, exchange: Exchange, parts: tuple[str, ...]) -> Answer | None:
        """None if there is no such endpoint or check."""
        checks = self.checks.get(parts[0])
        if checks is None or len(parts) > 2:
            return None
        if len(parts) == 2:
            return _one(exchange, checks.get(parts[1]))
        return _all(exchange, parts[0], checks)


def _one(exchange: Exchange, check: Check | None) -> Answer | None:
    if check is None:
        return None
    if why := check():
        return exchange.text(500, f"internal server error: {why}\n")
    return exchange.text(200, "ok")


def _all(exchange: Exchange, name: str, checks: Mapping[str, Check]) -> Answer:
    excluded, lines, has_failed = _excluded(exchange.query), [], False
    for check_name, check in checks.items():
        if check_name in excluded:
            lines.append(f"[+]{check_name} excluded: ok")
        elif check():
            has_failed = True
            lines.append(f"[-]{check_name} failed: reason withheld")
        else:
            lines.append(f"[+]{check_name} ok")
    unknown = sorted(excluded - set(checks))
    if unknown:
        shown = ",".join(f'"{one}"' for one in unknown)
        lines.append(f"warn: some health checks cannot be excluded: no matches for {shown}")
    if has_failed:
        text = "\n".join([*lines, f"{name} check failed", ""])
        return exchange.text(500, text)
    if "verbose" in exchange.query:
        return exchange.text(200, "\n".join([*lines, f"{name} check passed", ""]))
    return exchange.text(200, "ok")


def _excluded(query: Query) -> set[str]:
    return {name for value in query.get("exclude", ()) for name in value.split(",") if name}

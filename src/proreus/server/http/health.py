"""livez, readyz, healthz: is it alive, may it be sent work (server.md §1.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Protocol

from proreus.api.wire.query import Query
from proreus.lazy_dataclass import dataclass
from proreus.net.http1.messages import Answer, Response
from proreus.server.http.exchange import Exchange
from proreus.server.http.health_metrics import HealthMetrics
from proreus.server.http.stages.shutdown import Shutdown
from proreus.server.registry.collections import Collections
from proreus.server.storage.health import liveness, readiness
from proreus.server.storage.interface import Storage

Check = Callable[[], str]  # "" if fine, else why not


@dataclass(frozen=True, slots=True)
class Health:
    """``checks`` by endpoint ("livez", …), in the order they are listed."""

    checks: Mapping[str, Mapping[str, Check]]
    _metrics: HealthMetrics = field(default_factory=HealthMetrics)

    def answer(self, exchange: Exchange, parts: tuple[str, ...]) -> Answer | None:
        """None if there is no such endpoint or check."""
        checks = self.checks.get(parts[0])
        if checks is None:
            return None
        if len(parts) > 1:
            name = "/".join(parts[1:])
            return self._one(exchange, parts[0], name) if name in checks else None
        return self._all(exchange, parts[0], checks)

    def failing(self, endpoint: str) -> list[str]:
        """Checks that fail now, by name."""
        return [name for name, check in self.checks[endpoint].items() if check()]

    def metrics(self) -> bytes:
        """Metrics of every check, made now: its endpoint may not have been requested yet."""
        for endpoint, checks in self.checks.items():
            for name in checks:
                self._check(endpoint, name)
        return self._metrics.text()

    def _check(self, endpoint: str, name: str) -> str:
        why = self.checks[endpoint][name]()
        self._metrics.observe(name, endpoint, is_fine=not why)
        return why

    def _one(self, exchange: Exchange, endpoint: str, name: str) -> Answer:
        if why := self._check(endpoint, name):
            return exchange.text(500, f"internal server error: {why}\n")
        plain = ("Content-Type", "text/plain; charset=utf-8")
        return Response(200, exchange.head(content=plain), b"ok")

    def _all(self, exchange: Exchange, endpoint: str, checks: Mapping[str, Check]) -> Answer:
        excluded, lines, has_failed = _excluded(exchange.query), [], False
        for name in checks:
            if name in excluded:
                lines.append(f"[+]{name} excluded: ok")
            elif self._check(endpoint, name):
                has_failed = True
                lines.append(f"[-]{name} failed: reason withheld")
            else:
                lines.append(f"[+]{name} ok")
        unknown = sorted(excluded - set(checks))
        if unknown:
            names = ",".join(f'"{one}"' for one in unknown)
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}")
        if has_failed:
            text = "\n".join([*lines, f"{endpoint} check failed", ""])
            return exchange.text(500, text)
        if "verbose" in exchange.query:
            return exchange.text(200, "\n".join([*lines, f"{endpoint} check passed", ""]))
        return exchange.text(200, "ok")


def _excluded(query: Query) -> set[str]:
    return {name for value in query.get("exclude", ()) for name in value.split(",") if name}


class StartChecks(Protocol):
    """What kube-apiserver does when it starts, by the names of its checks."""

    def __call__(
        self, serves_definitions: Check, storage: Check, *, of_readiness: bool
    ) -> dict[str, Check]: ...


def server_health(
    collections: Collections,
    storage: Storage,
    shutdown: Shutdown,
    started: StartChecks,
    serves_definitions: Check,
) -> Health:

    def fine() -> str:
        return ""

    def synced() -> str:
        return "" if collections.is_ready else "storage is (re)initializing"

    def ending() -> str:
        return "process is shutting down" if shutdown.has_begun else ""

    def stored() -> str:
        return liveness(storage.health)

    def writable() -> str:
        return readiness(storage.health)

    # Whatever the store is, who asks about it calls it etcd. Who can ask has reached this server
    # and its log goes to standard error; it needs no certificate to reach itself.
    alive = {"ping": fine, "log": fine, "loopback-serving-certificate": fine, "etcd": stored}
    ready = {"ping": fine, "log": fine, "etcd": stored, "etcd-readiness": writable}
    ready["informer-sync"] = synced
    ready |= started(serves_definitions, writable, of_readiness=True)
    ready["shutdown"] = ending
    alive |= started(serves_definitions, stored, of_readiness=False)
    return Health({"healthz": alive, "livez": alive, "readyz": ready})

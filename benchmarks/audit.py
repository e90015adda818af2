"""What the audit log adds to a request: deciding, building and encoding its events."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from time import process_time
from typing import Any

from benchmarks.report import Row
from benchmarks.schema import pod
from proreus.api.wire.path import split
from proreus.server.audit.backlog import Backlog
from proreus.server.audit.event import AuditedRequest, AuditEvent
from proreus.server.audit.metrics import AuditMetrics
from proreus.server.audit.policy import AuditRule, Level, Policy, Recording, Stage
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.user import User

_PATH = "/api/v1/namespaces/default/pods"
_TARGET = split(_PATH)
_NOW = 1_794_787_200.0
_USER = User("system:serviceaccount:kube-system:replicaset-controller", ("system:authenticated",))
_HEADERS = {"User-Agent": "kube-controller-manager/v1.34.0 (linux/amd64) kubernetes/f9ec2a2"}


def run() -> list[Row]:
    return [
        Row("a create, both stages, level Metadata", _us(Level.METADATA), "µs", 15),
        Row("a create, both stages, level Request, pod of 3.7 kB", _us(Level.REQUEST), "µs"),
        Row("a request that is not recorded", _us(Level.NONE), "µs"),
    ]


def _us(level: Level, number: int = 20) -> float:
    policy = Policy([AuditRule(recording=Recording(level))])
    work = _recorded(policy, pod())
    return min(timeit.repeat(work, number=number, repeat=1000, timer=process_time)) / number * 1e6


def _recorded(policy: Policy, obj: dict[str, Any]) -> Callable[[], None]:
    backlog = Backlog("log", AuditMetrics(CollectorRegistry()))

    def record() -> None:
        request = AuditedRequest(
            "b5c39fd2-1f55-4b04-9a52-a1d5cd1e2b7e", _USER, "create", _TARGET, _PATH,
            f"{_PATH}?fieldManager=x", _HEADERS, "10.0.0.9",
        )  # fmt: skip
        recording = policy.evaluate(request.user, request.verb, request.target, request.path)
        if recording.level is Level.NONE:
            return
        event = AuditEvent(recording, request, _NOW)
        backlog.offer(event.encode(Stage.REQUEST_RECEIVED))
        event.set_request_object(obj)
        event.set_decision(is_allowed=True, reason="")
        event.set_response_code(201)
        backlog.offer(event.encode(Stage.RESPONSE_COMPLETE, _NOW))
        backlog.take()

    return record

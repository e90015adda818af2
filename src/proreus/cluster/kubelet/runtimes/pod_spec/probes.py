"""One probe as a state machine: when it runs, what its results mean. Pure.

    holding ──start + initial delay──▶ asking every period ──threshold of like answers──▶ verdict

A startup probe ends with its first good verdict, and holds back the others until then. After a bad
verdict a liveness or startup probe has done its work: the container is killed, and its next start
has probes of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from proreus.api.json_types import Json
from proreus.cluster.kubelet.runtimes.pod_spec.expansion import expand

ProbeKind = Literal["startup", "liveness", "readiness"]
KINDS: tuple[ProbeKind, ...] = ("startup", "liveness", "readiness")
# Who is not ready may be asked more often than its period says, to be so sooner.
_AWAITED_S = 1.0
_INITIAL: Mapping[ProbeKind, bool] = {"startup": False, "liveness": True, "readiness": False}


@dataclass(frozen=True, slots=True)
class ProbeSpec:
    """``content`` says how to ask: exec, httpGet, tcpSocket, grpc."""

    kind: ProbeKind
    initial_delay_s: float
    period_s: float
    timeout_s: float
    successes: int
    failures: int
    grace_s: float | None
    content: Json


def read_probes(container: Json) -> list[ProbeSpec]:
    return [_read(kind, content) for kind in KINDS if (content := container.get(f"{kind}Probe"))]


def _read(kind: ProbeKind, content: Json) -> ProbeSpec:
    grace = content.get("terminationGracePeriodSeconds")
    return ProbeSpec(
        kind=kind,
        initial_delay_s=float(content.get("initialDelaySeconds") or 0),
        period_s=float(content.get("periodSeconds") or 10),
        timeout_s=float(content.get("timeoutSeconds") or 1),
        successes=int(content.get("successThreshold") or 1),
        failures=int(content.get("failureThreshold") or 3),
        grace_s=float(grace) if grace is not None else None,
        content=content,
    )


def expanded_handler(handler: Json, container: Json) -> Json:
    """A probe's command may refer to variables that stand in the container; a hook's may not."""
    command = (handler.get("exec") or {}).get("command")
    if not command:
        return handler
    values = {one["name"]: str(one.get("value") or "") for one in container.get("env") or ()}
    return {**handler, "exec": {"command": [expand(str(part), values) for part in command]}}


class Probe:
    """``answered`` after each asking; ``is_good`` is the verdict that holds."""

    def __init__(self, spec: ProbeSpec, started_at: float) -> None:
        self.spec = spec
        self.is_good = _INITIAL[spec.kind]
        self.is_over = False
        self.next_at = started_at + spec.initial_delay_s
        self._run_of: bool | None = None
        self._length = 0

    def answered(self, is_success: bool, now: float) -> bool:
        """Whether the verdict changed, or a bad one was reached."""
        changed = self._count(is_success)
        is_awaited = self.spec.kind == "readiness" and not self.is_good
        period_s = self.spec.period_s
        self.next_at = now + (min(period_s, _AWAITED_S) if is_awaited else period_s)
        return changed

    def _count(self, is_success: bool) -> bool:
        self._length = self._length + 1 if self._run_of == is_success else 1
        self._run_of = is_success
        if self._length < (self.spec.successes if is_success else self.spec.failures):
            return False
        if self.spec.kind == "readiness":
            changed, self.is_good = self.is_good != is_success, is_success
            return changed
        self.is_good = is_success
        if self.spec.kind == "startup" or not is_success:
            self.is_over = True
        return self.is_over

    def __repr__(self) -> str:
        return f"<Probe {self.spec.kind} {'good' if self.is_good else 'bad'}>"

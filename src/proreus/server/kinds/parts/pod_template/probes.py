"""Probes and lifecycle hooks of containers."""

from __future__ import annotations

from proreus.api.json_types import Json
from proreus.api.values import names
from proreus.server.kinds.parts.findings import Findings, items
from proreus.server.kinds.parts.pod_template.restart_rules import check_stop_signal
from proreus.server.kinds.parts.validation_cache import cache_valid

_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold",
           "failureThreshold")  # fmt: skip


def check_probes(found: Findings, at: str, container: Json) -> None:
    """Of a container that keeps running."""
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (probe := container.get(key)) is None:
            continue
        check = _check_readiness if key == "readinessProbe" else _check_restarting
        check(found, f"{at}.{key}", probe)


@cache_valid
def _check_readiness(found: Findings, at: str, probe: Json) -> None:
    _check_probe(found, at, probe)
    if (grace := probe.get("terminationGracePeriodSeconds")) is not None:
        found.invalid(
            f"{at}.terminationGracePeriodSeconds", grace, "must not be set for readinessProbes"
        )


@cache_valid
def _check_restarting(found: Findings, at: str, probe: Json) -> None:
    _check_probe(found, at, probe)
    if probe.get("successThreshold", 1) != 1:
        found.invalid(f"{at}.successThreshold", probe["successThreshold"], "must be 1")


def check_lifecycle(found: Findings, at: str, lifecycle: Json | None, spec: Json) -> None:
    """Of a container of the pod ``spec``, whose time to end bounds how long a hook may sleep."""
    for key in ("postStart", "preStop"):
        if lifecycle and (hook := lifecycle.get(key)) is not None:
            _check_handler(found, f"{at}.{key}", hook, spec.get("terminationGracePeriodSeconds"))
    if lifecycle:
        check_stop_signal(found, f"{at}.stopSignal", lifecycle.get("stopSignal"), spec)


def _check_probe(found: Findings, at: str, probe: Json) -> None:
    _check_handler(found, at, probe)
    for key in _COUNTS:
        found.not_negative(f"{at}.{key}", probe.get(key))
    found.greater_than_zero(
        f"{at}.terminationGracePeriodSeconds", probe.get("terminationGracePeriodSeconds")
    )


_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")


def _check_handler(found: Findings, at: str, handler: Json, grace_s: int | None = None) -> None:
    given = [key for key in _HANDLERS if handler.get(key) is not None]
    if not given:
        found.require(at, None, "must specify a handler type")
        return
    kind, where, action = given[0], f"{at}.{given[0]}", handler[given[0]]
    match kind:
        case "exec":
            found.require(f"{where}.command", action.get("command"))
        case "httpGet":
            _check_http_get(found, where, action)
        case "tcpSocket":
            found.port_or_name(f"{where}.port", action.get("port", 0))
        case "grpc":
            found.port(f"{where}.port", action.get("port", 0))
        case _:
            seconds = action.get("seconds", 0)
            if grace_s is not None and not 0 <= seconds <= grace_s:
                limit = f"terminationGracePeriodSeconds ({grace_s})"
                found.invalid(where, seconds, f"must be non-negative and less than {limit}")
    for key in given[1:]:
        found.forbid(f"{at}.{key}", "may not specify more than 1 handler type")


def _check_http_get(found: Findings, at: str, action: Json) -> None:
    found.require(f"{at}.path", action.get("path"))
    found.port_or_name(f"{at}.port", action.get("port", 0))
    found.one_of(f"{at}.scheme", action.get("scheme"), ("HTTP", "HTTPS"))
    for _, header in items(action.get("httpHeaders"), ""):
        found.name(f"{at}.httpHeaders", header.get("name") or "", names.http_header)

"""An event as a line of text, the form that kube-apiserver calls legacy. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proreus.api.go_text import quoted
from proreus.api.wire import json

_NONE, _SELF, _LOOKUP, _UNKNOWN, _DEFERRED = (
    "<none>",
    "<self>",
    "<lookup>",
    "<unknown>",
    "<deferred>",
)


def legacy_line(event: bytes) -> bytes:
    fields: dict[str, Any] = json.decode(event)
    user = fields.get("user") or {}
    other = fields.get("impersonatedUser") or {}
    parts = {
        "id": fields.get("auditID") or "",
        "stage": fields.get("stage") or "",
        "ip": next(iter(fields.get("sourceIPs") or ()), _UNKNOWN),
        "method": fields.get("verb") or "",
        "user": user.get("username") or _NONE,
        "groups": _texts(user.get("groups") or (), _NONE),
        "as": other.get("username") or _SELF,
        "asgroups": _texts(other.get("groups") or (), _LOOKUP),
        "user-agent": fields.get("userAgent") or _UNKNOWN,
        "namespace": (fields.get("objectRef") or {}).get("namespace") or _NONE,
        "uri": fields.get("requestURI") or "",
    }
    code = (fields.get("responseStatus") or {}).get("code") or _DEFERRED
    described = " ".join(f"{name}={quoted(value)}" for name, value in parts.items())
    line = f'{fields["requestReceivedTimestamp"]} AUDIT: {described} response="{code}"'
    return line.encode()


def _texts(values: Sequence[str], default: str) -> str:
    return ",".join(map(quoted, values)) or default

"""Reads what Kubernetes writes as CBOR: its text comes as byte strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import cbor2


def json_of(document: bytes) -> Any:
    return json_value(cbor2.loads(document))


def json_value(value: Any) -> Any:
    match value:
        case bytes():
            return value.decode("utf-8", "surrogatepass")
        case Mapping():
            return {json_value(key): json_value(of) for key, of in value.items()}
        case list() | tuple():  # within a tag it is immutable
            return [json_value(item) for item in value]
        case _:
            return value

"""Answers in other forms than compact JSON. Streams are never turned into these."""

from __future__ import annotations

from proreus.api.wire import json, yaml


def indented(body: bytes) -> bytes:
    """For people with curl: two spaces, and no line feed at the end."""
    return json.encode_pretty(json.decode(body))


def to_yaml(body: bytes) -> bytes:
    return yaml.encode(json.decode(body))

"""A custom kind that operators reconcile in tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from proreus.client import custom_resource


@dataclass
class GreetingSpec:
    to: str


@custom_resource(group="example.com", version="v1")
@dataclass
class Greeting:
    spec: GreetingSpec
    status: dict[str, Any] | None = None

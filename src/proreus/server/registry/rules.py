"""The rules of one kind, under the name the registry uses; ``schema.rules`` defines them."""

from __future__ import annotations

from proreus.server.schema.rules import (
    PLAIN,
    Default,
    JsonObject,
    PrepareCreate,
    PrepareUpdate,
    Rules,
    Validate,
    ValidateUpdate,
    Warnings,
)

__all__ = [
    "PLAIN",
    "Default",
    "JsonObject",
    "PrepareCreate",
    "PrepareUpdate",
    "Rules",
    "Validate",
    "ValidateUpdate",
    "Warnings",
]

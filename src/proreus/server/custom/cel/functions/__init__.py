"""Every function a rule can call, by its name in CEL. All are pure and take values as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proreus.server.custom.cel.functions import library, operators, texts, times

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **operators.TABLE,
    **texts.TABLE,
    **times.TABLE,
    **library.TABLE,
}

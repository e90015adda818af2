"""What validation finds without a thread."""

from __future__ import annotations

from proreus.api.field_error import FieldError
from proreus.server.offload import NeedsThread
from proreus.server.resource.rules import Validated


def at_once(validated: Validated) -> list[FieldError]:
    assert not isinstance(validated, NeedsThread)
    return validated

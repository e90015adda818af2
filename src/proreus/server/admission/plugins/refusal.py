"""What a plugin refuses, as a Forbidden error that names the object."""

from __future__ import annotations

from proreus.api.status import ApiError
from proreus.server.registry.admission import Attributes
from proreus.server.registry.failures import ErrorTranslation


class Refused(Exception):
    """``str(error)`` is the reason a Forbidden status gives."""


class as_forbidden(ErrorTranslation):
    """Translates what a plugin's decision raises inside."""

    __slots__ = ("_attributes",)

    def __init__(self, attributes: Attributes) -> None:
        self._attributes = attributes

    def translated(self, error: BaseException) -> ApiError | None:
        if not isinstance(error, Refused):
            return None
        return self._attributes.forbidden(str(error))

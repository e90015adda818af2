"""A refusal by an admission policy, as a Status with the reason and code that the policy gives."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api.status import ApiError, Forbidden
from proreus.server.registry.admission import Attributes


def refused(attributes: Attributes, why: str, reason: str, code: int) -> ApiError:
    """``why`` is said of the object that the request names."""
    error = attributes.forbidden(why)
    return _with(error, error.message, [why], reason, code)


def refused_plainly(attributes: Attributes, texts: Sequence[str], reason: str) -> ApiError:
    """The message is the first of the texts as it is, and each is a cause."""
    error = attributes.forbidden(texts[0])
    return _with(error, texts[0], texts, reason or Forbidden.reason, Forbidden.code)


def _with(error: ApiError, message: str, causes: Sequence[str], reason: str, code: int) -> ApiError:
    status = {
        **error.status,
        "message": message,
        "reason": reason,
        "details": {**error.details, "causes": [{"message": text} for text in causes]},
        "code": code,
    }
    return ApiError.from_status(status)

"""One call of one webhook, and what its failure or refusal becomes."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import structlog

from proreus.aio.clock import Clock
from proreus.api import go_text
from proreus.api.json_types import JsonObject
from proreus.api.status import ApiError, BadRequest, InternalError
from proreus.api.values.names import qualified_name
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.webhooks.configuration import AdmissionWebhook
from proreus.server.admission.webhooks.metrics import AdmissionWebhookMetrics
from proreus.server.admission.webhooks.review import (
    InvalidResponse,
    ReviewResponse,
    UnreadableAnswer,
    read_response,
    review_body,
)
from proreus.server.registry.admission import Attributes
from proreus.server.registry.metadata import new_uid
from proreus.server.webhooks.client import CallError, CallImpossible, CallRejected
from proreus.server.webhooks.clients import WebhookClients

T = TypeVar("T")
_log = structlog.get_logger(__name__)
_ANSWER_BYTES_MAX = 8 * 1024 * 1024  # a patch of the largest object, twice over
_UNAVAILABLE = 503
_CODES = range(400, 1000)  # Go writes no others


class WebhookFailed(Exception):
    """A webhook that could not be asked, or did not answer as it must.

    ``str(error)`` names it; ``code`` is what metrics count.
    """

    def __init__(self, webhook: AdmissionWebhook, why: str, code: int = _UNAVAILABLE) -> None:
        super().__init__(f"failed calling webhook {go_text.quoted(webhook.name)}: {why}")
        self.code = code


class WebhookDenied(Exception):
    """A webhook refused; ``error`` is what the client gets."""

    def __init__(self, error: ApiError) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(frozen=True, slots=True)
class ReviewedObjects:
    """What is sent: a request in the version that the webhook asked for."""

    request: JsonObject
    obj: JsonObject | None
    old: JsonObject | None

    @property
    def pair(self) -> tuple[JsonObject | None, JsonObject | None]:
        return self.obj, self.old


@dataclass(frozen=True, slots=True)
class WebhookCaller:
    """Calls the webhooks of one half of admission, which metrics know by ``word``."""

    word: str
    clients: WebhookClients
    metrics: AdmissionWebhookMetrics
    clock: Clock

    async def ask(
        self,
        webhook: AdmissionWebhook,
        reviewed: ReviewedObjects,
        attributes: Attributes,
        *,
        is_mutating: bool = False,
    ) -> ReviewResponse:
        """The answer of a webhook that allows. Its warnings and annotations are passed on.

        Raises WebhookFailed, WebhookDenied, BadRequest for a dry run that it does not support.
        """
        if attributes.dry_run and not webhook.is_dry_run_safe:
            name = go_text.quoted(webhook.name)
            raise BadRequest(f"admission webhook {name} does not support dry run")
        response = await self._post(webhook, reviewed, is_mutating=is_mutating)
        for key, value in response.annotations.items():
            annotate(attributes, f"{webhook.name}/{key}", value)
        for warning in response.warnings:
            attributes.warn(warning)
        if not response.is_allowed:
            raise WebhookDenied(denial(webhook, response.result))
        return response

    async def _post(
        self, webhook: AdmissionWebhook, reviewed: ReviewedObjects, *, is_mutating: bool
    ) -> ReviewResponse:
        version = webhook.review_version
        if not version:
            why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
            raise WebhookFailed(webhook, f"could not create admission objects: {why}", 400)
        uid = new_uid()
        body = review_body(version, uid, reviewed.request, reviewed.pair)
        try:
            answer = await self.clients.of(webhook.client).post(
                body, webhook.timeout_s, answer_bytes_max=_ANSWER_BYTES_MAX
            )
            return read_response(answer, uid, version, is_mutating=is_mutating)
        except CallImpossible as error:
            raise WebhookFailed(webhook, f"could not get REST client: {error}", 500) from error
        except CallRejected as error:
            raise WebhookFailed(webhook, f"failed to call webhook: {error}", error.code) from error
        except (CallError, UnreadableAnswer) as error:
            raise WebhookFailed(webhook, f"failed to call webhook: {error}") from error
        except InvalidResponse as error:
            raise WebhookFailed(webhook, f"received invalid webhook response: {error}") from error

    async def outcome(
        self, webhook: AdmissionWebhook, operation: str, call: Awaitable[T]
    ) -> T | None:
        """The result of a call, counted; None if the webhook failed and that does not matter.

        Raises ApiError.
        """
        began, code, error, is_rejected = self.clock.monotonic(), 200, "", True
        try:
            result = await call
            is_rejected = False
            return result
        except WebhookFailed as failed:
            code = failed.code
            if webhook.fails_open:
                is_rejected = False
                self.metrics.failed_open(webhook.name, self.word)
                _log.warning("failed calling webhook, failing open", why=str(failed))
                return None
            error = "calling_webhook_error"
            _log.warning("failed calling webhook, failing closed", why=str(failed))
            raise InternalError.of(str(failed)) from failed
        except WebhookDenied as denied:
            code, error = int(denied.error.status["code"]), "no_error"
            raise denied.error from denied
        except ApiError:
            code, error = 0, "apiserver_internal_error"
            raise
        finally:
            if error:
                self.metrics.rejected(webhook.name, self.word, operation, error, code)
            self.metrics.called(
                webhook.name,
                self.word,
                operation,
                took_s=self.clock.monotonic() - began,
                code=code,
                is_rejected=is_rejected,
            )


def denial(webhook: AdmissionWebhook, result: JsonObject) -> ApiError:
    """A refusal with the code, reason and details that the webhook gave; never a success."""
    denied = f"admission webhook {go_text.quoted(webhook.name)} denied the request"
    if why := result.get("message") or result.get("reason"):
        message = f"{denied}: {why}"
    else:
        message = f"{denied} without explanation"
    code = max(result.get("code") or 0, _CODES.start)
    status = result.get("status") or "Success"
    return ApiError.from_status(
        {
            "metadata": {},
            **result,
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure" if status == "Success" else status,
            "message": message,
            "code": code if code in _CODES else 500,
        }
    )


def annotate(attributes: Attributes, key: str, value: str) -> None:
    """In the audit event, unless the key is no qualified name."""
    if attributes.annotate is not None and not qualified_name(key):
        attributes.annotate(key, value)

"""A conversion webhook (``spec.conversion.webhook`` of a definition): 30 s per call.

Failures are worded as Kubernetes words them: what was converted, what was asked, what failed.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from proreus.aio.clock import Clock
from proreus.api.json_types import JsonObject
from proreus.api.status import PlainError
from proreus.lazy_dataclass import dataclass
from proreus.server.custom.conversion.review import KNOWN_VERSIONS, BadReview, Review
from proreus.server.webhooks.client import CallFailed, CallRejected, Resolve, WebhookClient
from proreus.server.webhooks.client_config import WebhookClientConfig

TIMEOUT_S = 30.0


class ConversionRefused(PlainError):
    """The webhook was reached and did not convert: asking for less at once may succeed."""


@dataclass(frozen=True, slots=True)
class WebhookTarget:
    """``spec.conversion.webhook`` of a definition."""

    config: WebhookClientConfig
    review_versions: tuple[str, ...]

    @classmethod
    def of(cls, webhook: Mapping[str, Any]) -> WebhookTarget:
        versions = tuple(webhook.get("conversionReviewVersions") or ())
        return cls(WebhookClientConfig.of(webhook.get("clientConfig") or {}), versions)


class ConversionWebhook:
    """Connections are kept while the definition says the same; ``close`` ends them."""

    def __init__(self, target: WebhookTarget, resolve: Resolve, clock: Clock) -> None:
        self.target = target
        self._client = WebhookClient(target.config, resolve, clock)

    async def convert(self, objects: Sequence[JsonObject], desired: str) -> list[JsonObject]:
        """One call for all. Raises PlainError."""
        version = next((v for v in self.target.review_versions if v in KNOWN_VERSIONS), None)
        if version is None:
            raise PlainError("no supported conversion review versions")
        review = Review(str(uuid.uuid4()), version, desired, objects)
        try:
            answer = await self._client.post(review.body(), TIMEOUT_S)
        except CallFailed as error:
            raise PlainError(f"conversion webhook for {review.source} failed: {error}") from error
        except CallRejected as error:
            message = f"conversion webhook for {review.source} failed: {error}"
            raise ConversionRefused(message) from error
        try:
            return review.converted(answer)
        except BadReview as bad:
            raise ConversionRefused(str(bad)) from bad

    async def close(self) -> None:
        await self._client.close()

    async def retire(self) -> None:
        """Close once the calls under way are answered."""
        await self._client.retire()

    def __repr__(self) -> str:
        return f"<ConversionWebhook {self.target.config.url}>"

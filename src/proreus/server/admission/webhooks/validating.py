"""Validating webhooks: all that match are called together, and any of them refuses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

from proreus.api.status import ApiError
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.versions import MatchedKind
from proreus.server.admission.webhooks.calling import ReviewedObjects, WebhookCaller, annotate
from proreus.server.admission.webhooks.configuration import AdmissionWebhook
from proreus.server.admission.webhooks.following import WebhookList
from proreus.server.admission.webhooks.selection import WebhookSelection
from proreus.server.registry.admission import Attributes

_FAILED_OPEN = "failed-open.validating.webhook.admission.k8s.io/round_0_index_"


@dataclass(frozen=True, slots=True)
class ValidatingWebhooks:
    """A plugin's validating half."""

    webhooks: WebhookList
    selection: WebhookSelection
    caller: WebhookCaller

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        return self._admit(attributes) if self.webhooks.concern(attributes) else None

    async def _admit(self, attributes: Attributes) -> None:
        """Raises the refusal of the first webhook in order that refused."""
        reviewed: dict[MatchedKind, ReviewedObjects] = {}
        matched: list[tuple[AdmissionWebhook, MatchedKind]] = []
        for candidate in self.selection.candidates(self.webhooks.ordered, attributes):
            found = await self.selection.invocation(candidate, attributes)
            if found is None:
                continue
            matched.append((candidate.webhook, found.matched))
            if found.matched not in reviewed:
                reviewed[found.matched] = await self.selection.reviewed(attributes, found.matched)
        if not matched:
            return
        async with asyncio.TaskGroup() as tasks:
            calls = [
                tasks.create_task(self._call(webhook, reviewed[kind], attributes, number))
                for number, (webhook, kind) in enumerate(matched)
            ]
        for call in calls:
            if (refusal := call.result()) is not None:
                raise refusal

    async def _call(
        self,
        webhook: AdmissionWebhook,
        reviewed: ReviewedObjects,
        attributes: Attributes,
        number: int,
    ) -> ApiError | None:
        """What the webhook refuses with; the others are heard nevertheless."""
        call = self.caller.ask(webhook, reviewed, attributes)
        try:
            answer = await self.caller.outcome(webhook, attributes.operation, call)
        except ApiError as refusal:
            return refusal
        if answer is None:
            annotate(attributes, f"{_FAILED_OPEN}{number}", webhook.name)
        return None

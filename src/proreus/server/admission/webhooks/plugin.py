"""The two webhook plugins of a server, put together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from proreus.aio.clock import Clock
from proreus.server.admission.configuration_file import AdmissionConfiguration
from proreus.server.admission.expressions import ExpressionRunner
from proreus.server.admission.versions import ObjectVersions
from proreus.server.admission.webhooks.calling import WebhookCaller
from proreus.server.admission.webhooks.following import WebhookList
from proreus.server.admission.webhooks.metrics import AdmissionWebhookMetrics
from proreus.server.admission.webhooks.mutating import MutatingWebhooks
from proreus.server.admission.webhooks.selection import WebhookSelection
from proreus.server.admission.webhooks.validating import ValidatingWebhooks
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.collections import Collections
from proreus.server.webhooks.clients import WebhookClients
from proreus.server.webhooks.service_resolver import ServiceResolver

_ADMIT, _VALIDATE = "admit", "validating"  # as metrics call them


class AdmissionWebhooks:
    """Follows the configurations from the start; ``run`` owns the connections."""

    def __init__(
        self,
        collections: Collections,
        versions: ObjectVersions,
        expressions: ExpressionRunner,
        metrics: CollectorRegistry,
        clock: Clock,
        configuration: AdmissionConfiguration,
    ) -> None:
        counted = AdmissionWebhookMetrics(metrics)
        namespaces = collections.named("", "v1", "namespaces")
        resolve = ServiceResolver(collections).resolve
        mutating = WebhookClients(resolve, clock, configuration.mutating_webhooks)
        validating = WebhookClients(resolve, clock, configuration.validating_webhooks)
        self._on_change: Callable[[], None] = _nothing
        self._mutating = WebhookList(self._note_change)
        self._validating = WebhookList(self._note_change)
        self._clients = ((mutating, self._mutating), (validating, self._validating))
        self._mutating.follow(collections, "mutatingwebhookconfigurations")
        self._validating.follow(collections, "validatingwebhookconfigurations")

        def selection(word: str) -> WebhookSelection:
            return WebhookSelection(word, namespaces, versions, expressions, counted, clock)

        self.mutating = MutatingWebhooks(
            self._mutating,
            selection(_ADMIT),
            WebhookCaller(_ADMIT, mutating, counted, clock),
            versions,
        )
        self.validating = ValidatingWebhooks(
            self._validating,
            selection(_VALIDATE),
            WebhookCaller(_VALIDATE, validating, counted, clock),
        )

    def has_no_mutating(self) -> bool:
        return not self._mutating.ordered

    def has_no_validating(self) -> bool:
        return not self._validating.ordered

    def on_change(self, changed: Callable[[], None]) -> None:
        """``changed`` is called in the turn in which a cache applies a change."""
        self._on_change = changed

    async def run(self) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as parts:
            for clients, _ in self._clients:
                parts.create_task(clients.run(), name="connections to admission webhooks")

    def _note_change(self) -> None:
        self._on_change()
        for clients, webhooks in self._clients:
            clients.keep({webhook.client for webhook in webhooks.ordered})


def _nothing() -> None:
    return None

"""The two webhook plugins of a server, put together."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from proreus.aio.clock import Clock
from proreus.server.admission.expressions import ExpressionRunner
from proreus.server.admission.versions import ObjectVersions
from proreus.server.admission.webhooks.calling import WebhookCaller
from proreus.server.admission.webhooks.following import WebhookList
from proreus.server.admission.webhooks.metrics import AdmissionWebhookMetrics
from proreus.server.admission.webhooks.mutating import MutatingWebhooks
from proreus.server.admission.webhooks.selection import WebhookSelection
from proreus.server.admission.webhooks.validating import ValidatingWebhooks
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
    ) -> None:
        counted = AdmissionWebhookMetrics(metrics)
        namespaces = collections.named("", "v1", "namespaces")
        self._clients = WebhookClients(ServiceResolver(collections).resolve, clock)
        self._mutating = WebhookList(self._forget_clients)
        self._validating = WebhookList(self._forget_clients)
        self._mutating.follow(collections, "mutatingwebhookconfigurations")
        self._validating.follow(collections, "validatingwebhookconfigurations")

        def selection(word: str) -> WebhookSelection:
            return WebhookSelection(word, namespaces, versions, expressions, counted, clock)

        def caller(word: str) -> WebhookCaller:
            return WebhookCaller(word, self._clients, counted, clock)

        self.mutating = MutatingWebhooks(
            self._mutating, selection(_ADMIT), caller(_ADMIT), versions
        )
        self.validating = ValidatingWebhooks(
            self._validating, selection(_VALIDATE), caller(_VALIDATE)
        )

    async def run(self) -> None:
        """For ever."""
        await self._clients.run()

    def _forget_clients(self) -> None:
        used = (*self._mutating.ordered, *self._validating.ordered)
        self._clients.keep({webhook.client for webhook in used})

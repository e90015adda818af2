"""MutatingWebhookConfiguration: webhooks that change objects on admission."""

from __future__ import annotations

from proreus.server.kinds.parts.admission_kinds import admission_kind
from proreus.server.kinds.parts.webhooks import WEBHOOKS_PRINTER, webhook_rules

RESOURCES = (
    admission_kind(
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        webhook_rules(mutating=True),
        WEBHOOKS_PRINTER,
    ),
)

"""ValidatingWebhookConfiguration: webhooks that refuse objects on admission."""

from __future__ import annotations

from proreus.server.kinds.parts.admission_kinds import admission_kind
from proreus.server.kinds.parts.webhooks import WEBHOOKS_PRINTER, webhook_rules

RESOURCES = (
    admission_kind(
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        webhook_rules(mutating=False),
        WEBHOOKS_PRINTER,
    ),
)

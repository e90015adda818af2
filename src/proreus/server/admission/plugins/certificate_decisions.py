"""Who may decide about a certificate signing request: CertificateApproval and CertificateSigning.

Whoever approves or denies a request may ``approve`` for its signer; whoever writes its certificate
or its conditions may ``sign``. The signer is the one that was asked: nobody changes it on the way.
"""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.api.go_text import quoted
from proreus.api.json_types import Json
from proreus.server.admission.plugins.signer_rights import check_signer_right
from proreus.server.admission.plugins.signing_requests import REQUESTS
from proreus.server.authz.authorizer import Authorization
from proreus.server.registry.admission import UPDATE, Attributes


class CertificateDecisions:
    def __init__(self, authorization: Authorization) -> None:
        self._authorization = authorization

    def check_approval(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises Forbidden."""
        if not attributes.is_of(UPDATE, REQUESTS.group, REQUESTS.resource, "approval"):
            return None
        return self._check(attributes, "approve")

    def check_signing(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises Forbidden."""
        if not attributes.is_of(UPDATE, REQUESTS.group, REQUESTS.resource, "status"):
            return None
        if _signed(attributes.obj or {}) == _signed(attributes.old or {}):
            return None
        return self._check(attributes, "sign")

    def _check(self, attributes: Attributes, verb: str) -> Awaitable[None]:
        signer = (attributes.old or {})["spec"].get("signerName") or ""
        why = f"user not permitted to {verb} requests with signerName {quoted(signer)}"
        return check_signer_right(self._authorization, attributes, verb, signer, why)


def _signed(request: Json) -> tuple[object, object]:
    status = request.get("status") or {}
    return status.get("certificate") or "", status.get("conditions") or []

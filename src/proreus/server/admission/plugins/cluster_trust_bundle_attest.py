"""Whoever publishes certificates to be trusted in a signer's name may ``attest`` for it."""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.api.go_text import quoted
from proreus.server.admission.plugins.signer_rights import check_signer_right
from proreus.server.authz.authorizer import Authorization
from proreus.server.registry.admission import CREATE, UPDATE, Attributes


class ClusterTrustBundleAttest:
    def __init__(self, authorization: Authorization) -> None:
        self._authorization = authorization

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises Forbidden."""
        resource = attributes.resource
        if resource.plural != "clustertrustbundles" or resource.group != "certificates.k8s.io":
            return None
        if attributes.operation not in (CREATE, UPDATE):
            return None
        signer = (attributes.obj or {})["spec"].get("signerName") or ""
        if not signer or attributes.changes_only_collected:
            return None
        why = f"user not permitted to attest for signerName {quoted(signer)}"
        return check_signer_right(self._authorization, attributes, "attest", signer, why)

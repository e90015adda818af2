"""Whoever writes the status of a PodCertificateRequest may ``sign`` for its signer.

Kubernetes asks it in the registry and answers as it does invalid objects.
"""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.api import field_error
from proreus.api.go_text import quoted
from proreus.api.group_version import GroupKind
from proreus.api.status import Invalid
from proreus.server.admission.plugins.signer_rights import may_use_signer
from proreus.server.authz.authorizer import Authorization
from proreus.server.registry.admission import UPDATE, Attributes

_GROUP = "certificates.k8s.io"
_KIND = GroupKind(_GROUP, "PodCertificateRequest")


class PodCertificateSigning:
    def __init__(self, authorization: Authorization) -> None:
        self._authorization = authorization

    def admit(self, attributes: Attributes) -> Awaitable[None] | None:
        """Raises Invalid."""
        if not attributes.is_of(UPDATE, _GROUP, "podcertificaterequests", "status"):
            return None
        new, old = attributes.obj or {}, attributes.old or {}
        if (new.get("status") or {}) == (old.get("status") or {}):
            return None
        return self._check(attributes, old["spec"].get("signerName") or "")

    async def _check(self, attributes: Attributes, signer: str) -> None:
        if await may_use_signer(self._authorization, attributes.user, "sign", signer):
            return
        who = attributes.user.name
        why = f'User {quoted(who)} is not permitted to "sign" for signer {quoted(signer)}'
        error = field_error.forbidden("spec.signerName", why)
        raise Invalid.of(_KIND, attributes.name, [error])

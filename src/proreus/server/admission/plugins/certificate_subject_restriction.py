"""Nobody asks Kubernetes' own signer for a certificate of ``system:masters``: it could not be
revoked."""

from __future__ import annotations

import base64

from proreus.api.signers import API_CLIENT
from proreus.server.admission.plugins.signing_requests import REQUESTS
from proreus.server.kinds.parts.pem import Malformed, requested
from proreus.server.registry.admission import CREATE, Attributes
from proreus.server.registry.user import MASTERS


def restrict_certificate_subject(attributes: Attributes) -> None:
    """Raises Forbidden."""
    if not attributes.is_of(CREATE, REQUESTS.group, REQUESTS.resource):
        return
    spec = (attributes.obj or {})["spec"]
    if spec.get("signerName") != API_CLIENT:
        return
    try:
        asked = requested(base64.b64decode(spec["request"]))
    except Malformed as error:
        raise attributes.forbidden(f"failed to parse CSR: {error}") from error
    if MASTERS in asked.organizations:
        why = f"use of {API_CLIENT} signer with {MASTERS} group is not allowed"
        raise attributes.forbidden(why)

"""The hash by which clients know which type a resource is stored as."""

from __future__ import annotations

import base64
import hashlib

from proreus.server.resource import Resource


def storage_version_hash(resource: Resource) -> str | None:
    """None for what is not stored: reviews, bindings, component statuses. Nor is there one for a
    custom kind whose stored version is not served."""
    if resource.unstored is not None or (resource.custom and not resource.custom.is_storage_served):
        return None
    gvk = resource.stored_gvk
    digest = hashlib.sha256(f"{gvk.group}/{gvk.version}/{gvk.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()

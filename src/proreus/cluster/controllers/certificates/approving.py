"""Approves the client certificates of kubelets, if whoever asks may have them.

Receives: keys of CertificateSigningRequests. Their users are asked about by SubjectAccessReviews:
``selfnodeclient`` renews the certificate one shows, ``nodeclient`` gets a node its first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.signers import KUBELET_CLIENT
from proreus.client.conditions import present
from proreus.client.controller import Controller, Result, RetryLater
from proreus.cluster.controllers.certificates.reading import is_decided, is_issued, read
from proreus.cluster.controllers.certificates.signers import REQUESTS, kubelet_client_fault
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler

_SELF, _OTHER = "selfnodeclient", "nodeclient"
_MESSAGES = {
    _SELF: "Auto approving self kubelet client certificate after SubjectAccessReview.",
    _OTHER: "Auto approving kubelet client certificate after SubjectAccessReview.",
}


class Approving(ObjectReconciler):
    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, REQUESTS)
        self._reviews = context.client.resource("subjectaccessreviews.authorization.k8s.io")

    async def sync(self, request: KubeObject) -> Result | None:
        """Raises RetryLater: the right may be granted yet."""
        if is_issued(request) or is_decided(request):
            return None
        if request.spec.signerName != KUBELET_CLIENT:
            return None
        rights = await asyncio.to_thread(lambda: tuple(sufficient_rights(request)))
        for right in rights:
            if await self._may(request, right):
                await self._approve(request, _MESSAGES[right])
                return None
        if rights:
            raise RetryLater(f"whoever asks has no right of {' or '.join(rights)}")
        return None

    async def _may(self, request: KubeObject, right: str) -> bool:
        spec = request.to_dict()["spec"]
        about: JsonObject = {
            "user": spec.get("username"),
            "groups": spec.get("groups"),
            "uid": spec.get("uid"),
            "extra": spec.get("extra"),
            "resourceAttributes": {
                "group": "certificates.k8s.io",
                "resource": "certificatesigningrequests",
                "verb": "create",
                "subresource": right,
            },
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {name: value for name, value in about.items() if value},
        }
        answer = await self._reviews.create(review)
        return bool(answer.status.allowed)

    async def _approve(self, request: KubeObject, message: str) -> None:
        approved = {
            "type": "Approved",
            "status": "True",
            "reason": "AutoApproved",
            "message": message,
        }
        status = {
            **request.to_dict().get("status", {}),
            "conditions": [*present(request), approved],
        }
        await self.api.replace({**request.to_dict(), "status": status}, subresource="approval")


def sufficient_rights(request: KubeObject) -> Iterator[str]:
    """By each of which the request may be approved. Raises TerminalError."""
    _, asked = read(request)
    if kubelet_client_fault(asked, list(request.spec.usages or ())):
        return
    if request.spec.username == asked.common_name:
        yield _SELF
    yield _OTHER


def approving_controller(context: ControllerContext) -> Controller:
    return Approving(context).controller("csrapproving")

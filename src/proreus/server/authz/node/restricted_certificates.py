"""Which certificates a node may ask for: its own, and those that its pods' volumes name."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable

from proreus.api.go_text import quoted
from proreus.api.json_types import Json
from proreus.api.signers import KUBELET_CLIENT, KUBELET_SERVING
from proreus.api.status import NotFound, PlainError
from proreus.lazy_dataclass import dataclass
from proreus.server.authz.authorizer import Action
from proreus.server.authz.node.authorizer import NODE_PREFIX
from proreus.server.authz.node.cached_objects import CachedObjects
from proreus.server.authz.node.references import MIRROR
from proreus.server.authz.node.restricted_pods import node_of
from proreus.server.kinds.parts.pem import Malformed, requested
from proreus.server.registry.admission import CREATE, Attributes

_GROUP = "certificates.k8s.io"
_VERB = "request-serviceaccounts-podcertificate-signer"
_ASKED = "named in the PodCertificateRequest"


def check_signing_request(node: str, attributes: Attributes) -> str:
    """A kubelet's certificates say which node it is; all else is asked by the signer."""
    if attributes.operation != CREATE:
        return ""
    spec = (attributes.obj or {}).get("spec") or {}
    if spec.get("signerName") not in (KUBELET_CLIENT, KUBELET_SERVING):
        return ""
    try:
        asked = requested(base64.b64decode(spec.get("request") or ""))
    except Malformed as error:
        return f"unable to parse csr: {error}"
    own = f"{NODE_PREFIX}{node}"
    return "" if asked.common_name == own else f"can only create a node CSR with CN={own}"


@dataclass(frozen=True, slots=True)
class RestrictedPodCertificates:
    """``is_allowed``: whether the authorizers allow an action.

    What the caches may not know yet is answered by PlainError, so that the kubelet tries again.
    """

    objects: CachedObjects
    is_allowed: Callable[[Action], Awaitable[bool]]

    async def check(self, node: str, attributes: Attributes) -> str:
        """Raises PlainError."""
        if attributes.operation != CREATE:
            return f"unexpected operation {attributes.operation}"
        if attributes.subresource:
            return f"unexpected subresource {attributes.subresource}"
        spec = (attributes.obj or {}).get("spec") or {}
        name = spec.get("nodeName") or ""
        if name != node:
            return (
                f"PodCertificateRequest.Spec.NodeName={quoted(name)}, which is not the requesting "
                f"node {quoted(node)}"
            )
        where = quoted(f"{attributes.namespace}/{spec.get('podName') or ''}")
        self._check_node(spec, where)
        pod = self._pod(spec, where, attributes.namespace)
        if node_of(pod) != node:
            return f"pod {where} is not running on node {quoted(node)} {_ASKED}"
        if MIRROR in (pod["metadata"].get("annotations") or {}):
            return f"pod {where} is a mirror pod"
        account = (pod.get("spec") or {}).get("serviceAccountName") or ""
        given = spec.get("serviceAccountName") or ""
        if given != account:
            return (
                f"PodCertificateRequest for pod {where} contains serviceAccountName "
                f"({quoted(given)}) that differs from running pod ({quoted(account)})"
            )
        self._check_account(spec, where, attributes.namespace)
        return await self._signer_fault(attributes, pod, spec)

    def _check_node(self, spec: Json, where: str) -> None:
        name = spec["nodeName"]
        uid = _uid(lambda: self.objects.node(name), f"node {quoted(name)}")
        if (given := spec.get("nodeUID") or "") != uid:
            raise PlainError(
                f"PodCertificateRequest for pod {where} names node UID {quoted(given)}, "
                f"inconsistent with the running node ({quoted(uid)})"
            )

    def _pod(self, spec: Json, where: str, namespace: str) -> Json:
        try:
            pod = self.objects.pod(namespace, spec.get("podName") or "")
        except NotFound as error:
            raise PlainError(f"while retrieving pod {where} {_ASKED}: {error.message}") from error
        uid, given = pod["metadata"]["uid"], spec.get("podUID") or ""
        if given != uid:
            raise PlainError(
                f"PodCertificateRequest for pod {where} contains pod UID ({quoted(given)}) which "
                f"differs from running pod {quoted(uid)}"
            )
        return pod

    def _check_account(self, spec: Json, where: str, namespace: str) -> None:
        name = spec.get("serviceAccountName") or ""
        uid = _uid(
            lambda: self.objects.get("", "serviceaccounts", namespace, name),
            f"service account {quoted(f'{namespace}/{name}')}",
        )
        if (given := spec.get("serviceAccountUID") or "") != uid:
            raise PlainError(
                f"PodCertificateRequest for pod {where} names service account UID "
                f"{quoted(given)}, which differs from the running service account ({quoted(uid)})"
            )

    async def _signer_fault(self, attributes: Attributes, pod: Json, spec: Json) -> str:
        signer = spec.get("signerName") or ""
        for volume in (pod.get("spec") or {}).get("volumes") or ():
            for source in (volume.get("projected") or {}).get("sources") or ():
                if (source.get("podCertificate") or {}).get("signerName") == signer:
                    return ""
        action = Action(
            user=attributes.user,
            verb=_VERB,
            group=_GROUP,
            version="v1",
            resource=signer.replace("/", ":"),
            namespace=attributes.namespace,
            name=spec.get("serviceAccountName") or "",
        )
        if await self.is_allowed(action):
            return ""
        who = attributes.user.name
        return f"{who} is not authorized to request certificates from signer {quoted(signer)}"


def _uid(read: Callable[[], Json], what: str) -> str:
    """Raises PlainError."""
    try:
        return str(read()["metadata"]["uid"])
    except NotFound as error:
        raise PlainError(f"while retrieving {what} {_ASKED}: {error.message}") from error

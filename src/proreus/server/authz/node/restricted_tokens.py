"""Which tokens of service accounts a node may ask for: bound to a pod that runs on it, for an
audience that the pod's volumes name (Kubernetes: ServiceAccountNodeAudienceRestriction).

A volume names audiences itself, or by the CSI driver that mounts it. Any other audience takes the
verb ``request-serviceaccounts-token-audience``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from proreus.api.go_text import quoted
from proreus.api.json_types import Json
from proreus.api.status import NotFound
from proreus.lazy_dataclass import dataclass
from proreus.server.authz.authorizer import Action
from proreus.server.authz.node.cached_objects import CachedObjects
from proreus.server.authz.node.restricted_pods import node_of
from proreus.server.registry.admission import CREATE, Attributes

_VERB = "request-serviceaccounts-token-audience"
# Volumes of Kubernetes' own kinds are mounted by drivers nowadays.
_DRIVERS = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "azureDisk": "disk.csi.azure.com",
    "azureFile": "file.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "portworxVolume": "pxd.portworx.com",
    "vsphereVolume": "csi.vsphere.vmware.com",
}


@dataclass(frozen=True, slots=True)
class RestrictedTokens:
    """``is_allowed``: whether the authorizers allow an action."""

    objects: CachedObjects
    is_allowed: Callable[[Action], Awaitable[bool]]

    async def check(self, node: str, attributes: Attributes) -> str:
        """Raises NotFound."""
        if attributes.operation != CREATE or attributes.subresource != "token":
            return ""
        spec = (attributes.obj or {}).get("spec") or {}
        bound = spec.get("boundObjectRef") or {}
        if (bound.get("apiVersion"), bound.get("kind")) != ("v1", "Pod") or not bound.get("name"):
            return "node requested token not bound to a pod"
        uid = bound.get("uid")
        if not uid:
            return "node requested token with a pod binding without a uid"
        pod = self.objects.pod(attributes.namespace, bound["name"])
        if uid != pod["metadata"].get("uid"):
            return (
                f"the UID in the bound object reference ({uid}) does not match the UID in record. "
                "The object might have been deleted and then recreated"
            )
        if node_of(pod) != node:
            return "node requested token bound to a pod scheduled on a different node"
        audiences = spec.get("audiences") or [""]
        if len(audiences) > 1:
            return "node may only request 0 or 1 audiences"
        return await self._audience_fault(attributes, pod, audiences[0])

    async def _audience_fault(self, attributes: Attributes, pod: Json, audience: str) -> str:
        missing: list[str] = []
        for volume in (pod.get("spec") or {}).get("volumes") or ():
            try:
                if self._names(pod, volume, audience):
                    return ""
            except NotFound as error:
                missing.append(error.message)
        if missing:
            why = missing[0] if len(missing) == 1 else f"[{', '.join(dict.fromkeys(missing))}]"
            return f"error validating audience {quoted(audience)}: {why}"
        action = Action(
            user=attributes.user,
            verb=_VERB,
            version="v1",
            resource=audience,
            namespace=attributes.namespace,
            name=attributes.name,
        )
        if await self.is_allowed(action):
            return ""
        who = attributes.user.name
        return f"{who} is not authorized to request tokens for audience {quoted(audience)}"

    def _names(self, pod: Json, volume: Json, audience: str) -> bool:
        """Raises NotFound for what the volume needs and is not there."""
        for source in (volume.get("projected") or {}).get("sources") or ():
            token = source.get("serviceAccountToken")
            if token is not None and (token.get("audience") or "") == audience:
                return True
        driver = self._driver(pod, volume)
        if not driver:
            return False
        wanted = (self.objects.get("storage.k8s.io", "csidrivers", "", driver)["spec"]) or {}
        requests = wanted.get("tokenRequests") or ()
        return any((request.get("audience") or "") == audience for request in requests)

    def _driver(self, pod: Json, volume: Json) -> str:
        """Of the CSI driver that mounts a volume of a pod; "" if none does. Raises NotFound."""
        metadata = pod["metadata"]
        if (volume.get("ephemeral") or {}).get("volumeClaimTemplate") is not None:
            claim = f"{metadata['name']}-{volume.get('name')}"
        else:
            claim = (volume.get("persistentVolumeClaim") or {}).get("claimName") or ""
        if not claim:
            return _driver_of(volume)
        found = self.objects.get("", "persistentvolumeclaims", metadata["namespace"], claim)
        name = (found.get("spec") or {}).get("volumeName")
        if not name:
            return ""
        return _driver_of(self.objects.get("", "persistentvolumes", "", name).get("spec") or {})


def _driver_of(source: Json) -> str:
    if csi := source.get("csi"):
        return str(csi.get("driver") or "")
    return next((driver for kind, driver in _DRIVERS.items() if source.get(kind) is not None), "")

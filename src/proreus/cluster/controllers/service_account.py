"""Objects that every namespace has: the default service account and the cluster's root certificate.

Receives: keys of namespaces, from their events and when one of these objects is changed or deleted.
"""

from __future__ import annotations

import contextlib

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists
from proreus.client.controller import Controller, Result, Watch
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler
from proreus.cluster.pod_status import is_deleting

ACCOUNT = "default"
ROOT_CA = "kube-root-ca.crt"


class NamespaceObject(ObjectReconciler):
    """One object that every namespace has, created where it lacks and restored where its data
    changed."""

    def __init__(self, context: ControllerContext, resource: str, name: str) -> None:
        super().__init__(context, "namespaces")
        self._name = name
        self._objects_api = context.client.resource(resource)
        self.objects = context.informers.informer(resource, field_selector=f"metadata.name={name}")

    def desired(self) -> JsonObject:
        """Its name is added."""
        return {"apiVersion": "v1", "kind": "ServiceAccount"}

    async def sync(self, namespace: KubeObject) -> Result | None:
        if is_deleting(namespace):
            return None
        desired, api = self.desired(), self._objects_api(namespace.name)
        found = self.objects.indexer.get(f"{namespace.name}/{self._name}")
        if found is None:
            with contextlib.suppress(AlreadyExists):
                await api.create({**desired, "metadata": {"name": self._name}})
        elif "data" in desired and found.data != desired["data"]:
            await api.replace({**found.to_dict(), "data": desired["data"]})
        return None

    def namespace_controller(self, name: str) -> Controller:
        watches = [Watch(self.objects, lambda obj: (obj.namespace,))]
        return self.controller(name, watches=watches)


class RootCertificates(NamespaceObject):
    def desired(self) -> JsonObject:
        # What this client trusts, all others may; empty without TLS.
        data = {"ca.crt": (self.client.config.tls.read_ca() or b"").decode()}
        return {"apiVersion": "v1", "kind": "ConfigMap", "data": data}


def service_account_controller(context: ControllerContext) -> Controller:
    accounts = NamespaceObject(context, "serviceaccounts", ACCOUNT)
    return accounts.namespace_controller("serviceaccount")


def root_ca_controller(context: ControllerContext) -> Controller:
    certificates = RootCertificates(context, "configmaps", ROOT_CA)
    return certificates.namespace_controller("root-ca")

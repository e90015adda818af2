"""What every namespace has from the start: a default service account and the cluster's trust root.

Receives: keys of namespaces, from their events and when one of these objects is changed or deleted.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.status import AlreadyExists
from proreus.client.client import Client
from proreus.client.controller import Controller, Result, Watch
from proreus.cluster.controllers.own_writes import OwnWrites, reconciling
from proreus.cluster.controllers.ownership import is_deleting
from proreus.cluster.controllers.setting import Setting

ACCOUNT = "default"
ROOT_CA = "kube-root-ca.crt"


def service_account_controller(setting: Setting) -> Controller:
    def wanted() -> dict[str, Any]:
        return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": ACCOUNT}}

    return _controller(setting, "serviceaccount", "serviceaccounts", wanted)


def root_ca_controller(setting: Setting) -> Controller:
    def wanted() -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": ROOT_CA},
            "data": {"ca.crt": _authority(setting.client)},
        }

    return _controller(setting, "root-ca", "configmaps", wanted)


def _controller(
    setting: Setting, name: str, resource: str, wanted: Callable[[], dict[str, Any]]
) -> Controller:
    namespaces = setting.informers.informer("namespaces")
    own_name = wanted()["metadata"]["name"]
    objects = setting.informers.informer(resource, field_selector=f"metadata.name={own_name}")
    writes = OwnWrites()
    api = setting.client.resource(resource)

    async def sync(namespace: KubeObject) -> Result | None:
        if is_deleting(namespace):
            return None
        content = wanted()
        found = objects.indexer.get(f"{namespace.name}/{own_name}")
        if found is None:
            try:
                written = await api(namespace.name).create(content)
            except AlreadyExists:
                return None
        elif "data" in content and found.data != content["data"]:
            changed = {**found.to_dict(), "data": content["data"]}
            written = await api(namespace.name).replace(changed)
        else:
            return None
        writes.wrote(namespace.key, objects, written)
        return None

    return Controller(
        reconciling(namespaces, writes, sync),
        namespaces,
        watches=[Watch(objects, lambda obj: (obj.namespace,))],
        name=name,
        concurrency=5,
    )


def _authority(client: Client) -> str:
    """What this client trusts, all others may; empty without TLS."""
    tls = client.config.tls
    if tls.ca_data:
        return tls.ca_data.decode()
    return Path(tls.ca_file).read_text() if tls.ca_file else ""

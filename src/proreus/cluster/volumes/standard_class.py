"""The storage class that a new cluster has, and who makes the volumes of it.

A class as any other: users delete it, replace it, or let another be the default. Only its
``provisioner`` matters here, which other classes may name too.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from proreus.api.json_types import JsonObject
from proreus.api.status import AlreadyExists
from proreus.client.client import Client
from proreus.cluster.volumes.storage_annotations import DEFAULT_CLASS

PROVISIONER = "proreus.dev/local-path"
STANDARD_CLASS: JsonObject = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "standard", "annotations": {DEFAULT_CLASS: "true"}},
    "provisioner": PROVISIONER,
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "WaitForFirstConsumer",
    "allowVolumeExpansion": True,
}


def volumes_folder(data_dir: Path) -> Path:
    return data_dir / "volumes"


async def make_standard_class(client: Client) -> None:
    """Unless there is a class already: then somebody has decided what volumes are here."""
    classes = client.resource("storageclasses.storage.k8s.io")
    if not (await classes.list(limit=1)).items:
        with suppress(AlreadyExists):
            await classes.create(STANDARD_CLASS)

"""The informers of claims and volumes, with the index by which they find each other."""

from __future__ import annotations

from proreus.client.informer import SharedInformer
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.volumes.indexes import INDEX, claim_values, volume_values


def claims_informer(context: ControllerContext) -> SharedInformer:
    return context.informers.informer("persistentvolumeclaims", indexes={INDEX: claim_values})


def volumes_informer(context: ControllerContext) -> SharedInformer:
    return context.informers.informer("persistentvolumes", indexes={INDEX: volume_values})

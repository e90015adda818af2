"""A local, indexed, ordered copy of a collection, and everyone who wants to hear of its changes."""

from proreus.client.informer.delta_fifo import Delta, DeltaFifo, DeltaType
from proreus.client.informer.factory import (
    ListWatchSource,
    Selection,
    SharedInformerFactory,
    list_watch_of,
)
from proreus.client.informer.handler import Change, Handler, Notification
from proreus.client.informer.indexer import (
    NAMESPACE_INDEX,
    Indexer,
    IndexExists,
    IndexFunction,
    UnknownIndex,
    by_namespace,
)
from proreus.client.informer.informer import InformerStopped, SharedInformer
from proreus.client.informer.list_watch import ListWatch
from proreus.client.informer.lister import Lister
from proreus.client.informer.reflector import Reflector, ReflectorConfig
from proreus.client.informer.status import HandlerStatus, InformerStatus
from proreus.client.informer.transforms import Transform, chain, drop_fields, drop_managed_fields

__all__ = [
    "NAMESPACE_INDEX",
    "Change",
    "Delta",
    "DeltaFifo",
    "DeltaType",
    "Handler",
    "HandlerStatus",
    "IndexExists",
    "IndexFunction",
    "Indexer",
    "InformerStatus",
    "InformerStopped",
    "ListWatch",
    "ListWatchSource",
    "Lister",
    "Notification",
    "Reflector",
    "ReflectorConfig",
    "Selection",
    "SharedInformer",
    "SharedInformerFactory",
    "Transform",
    "UnknownIndex",
    "by_namespace",
    "chain",
    "drop_fields",
    "drop_managed_fields",
    "list_watch_of",
]

"""A local, indexed, ordered copy of a collection, and everyone who wants to hear of its changes."""

from proreus.client.informer.delta_fifo import Delta, DeltaFifo, DeltaType
from proreus.client.informer.factory import (
    InformerSelection,
    ListWatchSource,
    SharedInformerFactory,
    TransformExists,
    list_watch_of,
)
from proreus.client.informer.handler import ChangeType, Handler, Notification
from proreus.client.informer.indexer import (
    NAMESPACE_INDEX,
    Indexer,
    IndexExists,
    IndexFunction,
    UnknownIndex,
    by_namespace,
)
from proreus.client.informer.informer import InformerStopped, SharedInformer
from proreus.client.informer.lister import Lister
from proreus.client.informer.status import HandlerStatus, InformerStatus
from proreus.client.informer.transforms import chain, drop_fields, drop_managed_fields
from proreus.client.reflector.list_watch import ListWatch
from proreus.client.reflector.reflector import Reflector, ReflectorConfig, ReflectorSink, Transform

__all__ = [
    "NAMESPACE_INDEX",
    "ChangeType",
    "Delta",
    "DeltaFifo",
    "DeltaType",
    "Handler",
    "HandlerStatus",
    "IndexExists",
    "IndexFunction",
    "Indexer",
    "InformerSelection",
    "InformerStatus",
    "InformerStopped",
    "ListWatch",
    "ListWatchSource",
    "Lister",
    "Notification",
    "Reflector",
    "ReflectorConfig",
    "ReflectorSink",
    "SharedInformer",
    "SharedInformerFactory",
    "Transform",
    "TransformExists",
    "UnknownIndex",
    "by_namespace",
    "chain",
    "drop_fields",
    "drop_managed_fields",
    "list_watch_of",
]

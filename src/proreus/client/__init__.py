"""client-go in Python: rest → informer → workqueue → controller, against any Kubernetes cluster.

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proreus.aio.signals import run_until_signal
    from proreus.aio.tasks import background
    from proreus.api.frozen import FrozenList, FrozenMapping
    from proreus.api.object import KubeObject, ObjectKey
    from proreus.api.object_list import ObjectList
    from proreus.api.patch.patch_type import PatchType
    from proreus.api.status import (
        AlreadyExists,
        ApiError,
        BadRequest,
        Conflict,
        Expired,
        Forbidden,
        InternalError,
        Invalid,
        NotFound,
        ServiceUnavailable,
        Timeout,
        TooManyRequests,
        Unauthorized,
    )
    from proreus.api.wire.framing import WatchEvent
    from proreus.client.client import Client, ClientOptions
    from proreus.client.client_config import (
        AuthSettings,
        ClientConfig,
        ConfigError,
        ExecSettings,
        Impersonation,
        RateLimit,
        TlsSettings,
    )
    from proreus.client.conditions import set_condition
    from proreus.client.config.in_cluster import NotInCluster
    from proreus.client.config.loading import load_config
    from proreus.client.config.overrides import Overrides
    from proreus.client.controller import (
        Controller,
        ReconcileLimits,
        Request,
        Result,
        RetryLater,
        TerminalError,
        Watch,
        all_of,
        annotations_changed,
        any_of,
        changed_beside_status,
        changes_of,
        deletion,
        generation_changed,
        labels_changed,
        negated,
    )
    from proreus.client.credentials.source import CredentialError
    from proreus.client.custom_resources import (
        Definition,
        PrinterColumn,
        Scale,
        Stored,
        Typed,
        custom_resource,
        definition_of,
        register,
    )
    from proreus.client.discovery.mapper import UnknownResource
    from proreus.client.event_recorder import EventRecorder
    from proreus.client.eventually import eventually
    from proreus.client.finalizers import add_finalizer, has_finalizer, remove_finalizer
    from proreus.client.informer import (
        Handler,
        InformerStatus,
        Lister,
        Notification,
        SharedInformer,
        SharedInformerFactory,
        drop_fields,
        drop_managed_fields,
    )
    from proreus.client.leader_election import LeaderElector, LeadershipLost, LeaseLock
    from proreus.client.operator import (
        LeaderElection,
        Operator,
        ReconcilerOptions,
        Reconciliation,
        StatusCondition,
        Watched,
    )
    from proreus.client.ownership import (
        controlled_by,
        controller_of,
        controller_reference,
        owner_reference,
    )
    from proreus.client.resources.event_stream import EventStream, ObjectEvent
    from proreus.client.resources.modifying import Applied, ApplyOutcome
    from proreus.client.resources.resource_client import ResourceClient
    from proreus.client.resources.running_command import CommandResult, RunningCommand
    from proreus.client.resources.waiting import ConditionNotMet
    from proreus.client.rest.request import InvalidRequest
    from proreus.client.rest.retry import RetryPolicy
    from proreus.client.rest.warning import WarnOnce
    from proreus.client.retry_on_conflict import retry_on_conflict
    from proreus.client.schema_keywords import SchemaError
    from proreus.client.typed_informer import TypedInformer
    from proreus.client.typed_schema import Rule, checked, keyed_by
    from proreus.client.workqueue import RateLimitedQueue, WorkQueue
    from proreus.net.client.transport_error import (
        ConnectFailed,
        ConnectionLost,
        ConnectionRefused,
        NotPermitted,
        ProtocolError,
        StreamSilent,
        TlsFailed,
        TransportError,
        TransportTimeout,
    )

__all__ = [
    "AlreadyExists", "ApiError", "Applied", "ApplyOutcome", "AuthSettings", "BadRequest", "Client",
    "ClientConfig", "ClientOptions", "CommandResult", "ConditionNotMet", "ConfigError", "Conflict",
    "ConnectFailed", "ConnectionLost", "ConnectionRefused", "Controller", "CredentialError",
    "Definition", "EventRecorder", "EventStream", "ExecSettings", "Expired", "Forbidden",
    "FrozenList", "FrozenMapping", "Handler", "Impersonation", "InformerStatus", "InternalError",
    "Invalid", "InvalidRequest", "KubeObject", "LeaderElection", "LeaderElector", "LeadershipLost",
    "LeaseLock", "Lister", "NotFound", "NotInCluster", "NotPermitted", "Notification",
    "ObjectEvent", "ObjectKey", "ObjectList", "Operator", "Overrides", "PatchType", "PrinterColumn",
    "ProtocolError", "RateLimit", "RateLimitedQueue", "ReconcileLimits", "ReconcilerOptions",
    "Reconciliation", "Request", "ResourceClient", "Result", "RetryLater", "RetryPolicy", "Rule",
    "RunningCommand", "Scale", "SchemaError", "ServiceUnavailable", "SharedInformer",
    "SharedInformerFactory", "StatusCondition", "Stored", "StreamSilent", "TerminalError",
    "Timeout", "TlsFailed", "TlsSettings", "TooManyRequests", "TransportError", "TransportTimeout",
    "Typed", "TypedInformer", "Unauthorized", "UnknownResource", "WarnOnce", "Watch", "WatchEvent",
    "Watched", "WorkQueue", "add_finalizer", "all_of", "annotations_changed", "any_of",
    "background", "changed_beside_status", "changes_of", "checked", "controlled_by",
    "controller_of", "controller_reference", "custom_resource", "definition_of", "deletion",
    "drop_fields", "drop_managed_fields", "eventually", "generation_changed", "has_finalizer",
    "keyed_by", "labels_changed", "load_config", "negated", "owner_reference", "register",
    "remove_finalizer", "retry_on_conflict", "run_until_signal", "set_condition",
]  # fmt: skip

_HOMES: dict[str, tuple[str, ...]] = {
    "proreus.aio.signals": ("run_until_signal",),
    "proreus.aio.tasks": ("background",),
    "proreus.api.frozen": ("FrozenList", "FrozenMapping"),
    "proreus.api.object": ("KubeObject", "ObjectKey"),
    "proreus.api.object_list": ("ObjectList",),
    "proreus.api.patch.patch_type": ("PatchType",),
    "proreus.api.status": (
        "AlreadyExists", "ApiError", "BadRequest", "Conflict", "Expired", "Forbidden",
        "InternalError", "Invalid", "NotFound", "ServiceUnavailable", "Timeout", "TooManyRequests",
        "Unauthorized",
    ),
    "proreus.api.wire.framing": ("WatchEvent",),
    "proreus.client.client": ("Client", "ClientOptions"),
    "proreus.client.client_config": (
        "AuthSettings", "ClientConfig", "ConfigError", "ExecSettings", "Impersonation", "RateLimit",
        "TlsSettings",
    ),
    "proreus.client.conditions": ("set_condition",),
    "proreus.client.config.in_cluster": ("NotInCluster",),
    "proreus.client.config.loading": ("load_config",),
    "proreus.client.config.overrides": ("Overrides",),
    "proreus.client.controller": (
        "Controller", "ReconcileLimits", "Request", "Result", "RetryLater", "TerminalError",
        "Watch", "all_of", "annotations_changed", "any_of", "changed_beside_status", "changes_of",
        "deletion", "generation_changed", "labels_changed", "negated",
    ),
    "proreus.client.credentials.source": ("CredentialError",),
    "proreus.client.custom_resources": (
        "Definition", "PrinterColumn", "Scale", "Stored", "Typed", "custom_resource",
        "definition_of", "register",
    ),
    "proreus.client.discovery.mapper": ("UnknownResource",),
    "proreus.client.event_recorder": ("EventRecorder",),
    "proreus.client.eventually": ("eventually",),
    "proreus.client.finalizers": ("add_finalizer", "has_finalizer", "remove_finalizer"),
    "proreus.client.informer": (
        "Handler", "InformerStatus", "Lister", "Notification", "SharedInformer",
        "SharedInformerFactory", "drop_fields", "drop_managed_fields",
    ),
    "proreus.client.leader_election": ("LeaderElector", "LeadershipLost", "LeaseLock"),
    "proreus.client.operator": (
        "LeaderElection", "Operator", "ReconcilerOptions", "Reconciliation", "StatusCondition",
        "Watched",
    ),
    "proreus.client.ownership": (
        "controlled_by", "controller_of", "controller_reference", "owner_reference",
    ),
    "proreus.client.resources.event_stream": ("EventStream", "ObjectEvent"),
    "proreus.client.resources.modifying": ("Applied", "ApplyOutcome"),
    "proreus.client.resources.resource_client": ("ResourceClient",),
    "proreus.client.resources.running_command": ("CommandResult", "RunningCommand"),
    "proreus.client.resources.waiting": ("ConditionNotMet",),
    "proreus.client.rest.request": ("InvalidRequest",),
    "proreus.client.rest.retry": ("RetryPolicy",),
    "proreus.client.rest.warning": ("WarnOnce",),
    "proreus.client.retry_on_conflict": ("retry_on_conflict",),
    "proreus.client.schema_keywords": ("SchemaError",),
    "proreus.client.typed_informer": ("TypedInformer",),
    "proreus.client.typed_schema": ("Rule", "checked", "keyed_by"),
    "proreus.client.workqueue": ("RateLimitedQueue", "WorkQueue"),
    "proreus.net.client.transport_error": (
        "ConnectFailed", "ConnectionLost", "ConnectionRefused", "NotPermitted", "ProtocolError",
        "StreamSilent", "TlsFailed", "TransportError", "TransportTimeout",
    ),
}  # fmt: skip
_MODULE_OF = {name: module for module, names in _HOMES.items() for name in names}


if not TYPE_CHECKING:  # else every misspelled name would pass the type checker

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found: object = getattr(importlib.import_module(_MODULE_OF[name]), name)
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted(__all__)

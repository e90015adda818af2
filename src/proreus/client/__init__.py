"""client-go in Python: rest → informer → workqueue → controller, against any Kubernetes cluster.

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proreus.aio.signals import run_until_signal
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
    from proreus.client.client import Client
    from proreus.client.client_config import (
        AuthSettings,
        ClientConfig,
        ConfigError,
        ExecSettings,
        Impersonation,
        RateLimit,
        TlsSettings,
    )
    from proreus.client.config.in_cluster import NotInCluster
    from proreus.client.config.loading import load_config
    from proreus.client.config.overrides import Overrides
    from proreus.client.controller import Controller, Result
    from proreus.client.credentials.source import CredentialError
    from proreus.client.custom_resources import (
        Definition,
        PrinterColumn,
        Scale,
        Stored,
        Typed,
        custom_resource,
        definition_of,
        parse,
        register,
    )
    from proreus.client.discovery.mapper import UnknownResource
    from proreus.client.event_recorder import EventRecorder
    from proreus.client.informer import Lister, SharedInformer, SharedInformerFactory
    from proreus.client.leader_election import LeaderElector, LeadershipLost, LeaseLock
    from proreus.client.resources.commands import CommandResult, RunningCommand
    from proreus.client.resources.resource_client import ResourceClient
    from proreus.client.resources.waiting import ConditionNotMet
    from proreus.client.rest.request import InvalidRequest
    from proreus.client.rest.retry import RetryPolicy
    from proreus.client.rest.warning import WarnOnce
    from proreus.client.typed_schema import (
        Rule,
        SchemaError,
        atomic,
        checked,
        keyed_by,
        rules,
        unique,
    )
    from proreus.client.typed_values import named
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
    "AlreadyExists", "ApiError", "AuthSettings", "BadRequest", "Client", "ClientConfig",
    "CommandResult", "ConditionNotMet", "ConfigError", "Conflict", "ConnectFailed",
    "ConnectionLost", "ConnectionRefused", "Controller", "CredentialError", "Definition",
    "EventRecorder", "ExecSettings", "Expired", "Forbidden", "FrozenList", "FrozenMapping",
    "Impersonation", "InternalError", "Invalid", "InvalidRequest", "KubeObject", "LeaderElector",
    "LeadershipLost", "LeaseLock", "Lister", "NotFound", "NotInCluster", "NotPermitted",
    "ObjectKey", "ObjectList", "Overrides", "PatchType", "PrinterColumn", "ProtocolError",
    "RateLimit", "RateLimitedQueue", "ResourceClient", "Result", "RetryPolicy", "Rule",
    "RunningCommand", "Scale", "SchemaError", "ServiceUnavailable", "SharedInformer",
    "SharedInformerFactory", "Stored", "StreamSilent", "Timeout", "TlsFailed", "TlsSettings",
    "TooManyRequests", "TransportError", "TransportTimeout", "Typed", "Unauthorized",
    "UnknownResource", "WarnOnce", "WatchEvent", "WorkQueue", "atomic", "checked",
    "custom_resource", "definition_of", "keyed_by", "load_config", "named", "parse", "register",
    "rules", "run_until_signal", "unique",
]  # fmt: skip

_HOMES: dict[str, tuple[str, ...]] = {
    "proreus.aio.signals": ("run_until_signal",),
    "proreus.api.frozen": ("FrozenList", "FrozenMapping"),
    "proreus.api.object": ("KubeObject", "ObjectKey"),
    "proreus.api.object_list": ("ObjectList",),
    "proreus.api.status": (
        "AlreadyExists", "ApiError", "BadRequest", "Conflict", "Expired", "Forbidden",
        "InternalError", "Invalid", "NotFound", "ServiceUnavailable", "Timeout", "TooManyRequests",
        "Unauthorized",
    ),
    "proreus.api.wire.framing": ("WatchEvent",),
    "proreus.client.client": ("Client",),
    "proreus.client.client_config": (
        "AuthSettings", "ClientConfig", "ConfigError", "ExecSettings", "Impersonation", "RateLimit",
        "TlsSettings",
    ),
    "proreus.client.config.in_cluster": ("NotInCluster",),
    "proreus.client.config.loading": ("load_config",),
    "proreus.client.config.overrides": ("Overrides",),
    "proreus.client.credentials.source": ("CredentialError",),
    "proreus.client.custom_resources": (
        "Definition", "PrinterColumn", "Scale", "Stored", "Typed", "custom_resource",
        "definition_of", "parse", "register",
    ),
    "proreus.client.typed_schema": (
        "Rule", "SchemaError", "atomic", "checked", "keyed_by", "rules", "unique",
    ),
    "proreus.client.typed_values": ("named",),
    "proreus.client.discovery.mapper": ("UnknownResource",),
    "proreus.client.resources.commands": ("CommandResult", "RunningCommand"),
    "proreus.client.resources.resource_client": ("ResourceClient",),
    "proreus.client.resources.waiting": ("ConditionNotMet",),
    "proreus.api.patch.patch_type": ("PatchType",),
    "proreus.client.rest.request": ("InvalidRequest",),
    "proreus.client.rest.retry": ("RetryPolicy",),
    "proreus.client.rest.warning": ("WarnOnce",),
    "proreus.net.client.transport_error": (
        "ConnectFailed", "ConnectionLost", "ConnectionRefused", "NotPermitted", "ProtocolError",
        "StreamSilent", "TlsFailed", "TransportError", "TransportTimeout",
    ),
    "proreus.client.controller": ("Controller", "Result"),
    "proreus.client.event_recorder": ("EventRecorder",),
    "proreus.client.informer": ("Lister", "SharedInformer", "SharedInformerFactory"),
    "proreus.client.leader_election": ("LeaderElector", "LeadershipLost", "LeaseLock"),
    "proreus.client.workqueue": ("RateLimitedQueue", "WorkQueue"),
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

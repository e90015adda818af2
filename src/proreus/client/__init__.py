"""client-go in Python: rest → informer → workqueue → controller, against any Kubernetes cluster."""

from proreus.api.frozen import FrozenList, FrozenMapping
from proreus.api.object import KubeObject, ObjectKey
from proreus.api.object_list import ObjectList
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
from proreus.client.config import (
    AuthSettings,
    ClientConfig,
    ConfigError,
    ExecSettings,
    Impersonation,
    NotInCluster,
    Overrides,
    RateLimit,
    TlsSettings,
    load_config,
)
from proreus.client.credentials import CredentialError
from proreus.client.discovery.mapper import UnknownResource
from proreus.client.resources.resource_client import ResourceClient
from proreus.client.resources.waiting import ConditionNotMet
from proreus.client.rest.request import InvalidRequest, PatchType
from proreus.client.rest.retry import RetryPolicy
from proreus.client.rest.warning import WarnOnce
from proreus.net.transport_error import (
    ConnectFailed,
    ConnectionLost,
    ConnectionRefused,
    ProtocolError,
    StreamSilent,
    TlsFailed,
    TransportError,
    TransportTimeout,
)

__all__ = [
    "AlreadyExists",
    "ApiError",
    "AuthSettings",
    "BadRequest",
    "Client",
    "ClientConfig",
    "ConditionNotMet",
    "ConfigError",
    "Conflict",
    "ConnectFailed",
    "ConnectionLost",
    "ConnectionRefused",
    "CredentialError",
    "ExecSettings",
    "Expired",
    "Forbidden",
    "FrozenList",
    "FrozenMapping",
    "Impersonation",
    "InternalError",
    "Invalid",
    "InvalidRequest",
    "KubeObject",
    "NotFound",
    "NotInCluster",
    "ObjectKey",
    "ObjectList",
    "Overrides",
    "PatchType",
    "ProtocolError",
    "RateLimit",
    "ResourceClient",
    "RetryPolicy",
    "ServiceUnavailable",
    "StreamSilent",
    "Timeout",
    "TlsFailed",
    "TlsSettings",
    "TooManyRequests",
    "TransportError",
    "TransportTimeout",
    "Unauthorized",
    "UnknownResource",
    "WarnOnce",
    "WatchEvent",
    "load_config",
]

"""Kinds of the core group, ``/api/v1``."""

from __future__ import annotations

from proreus.api.group_version import GroupVersionKind
from proreus.server.registry.builtin import selectable
from proreus.server.registry.builtin.declare import CONNECT, CREATE_ONLY, PROXY, Group, scale
from proreus.server.registry.resource import STANDARD_VERBS, Resource, Subresource

_V1 = Group("", "v1")
_EVENT_TTL_S = 3600.0

_POD_SUBRESOURCES = (
    _V1.sub("attach", "PodAttachOptions", CONNECT),
    _V1.sub("binding", "Binding", CREATE_ONLY),
    _V1.sub("ephemeralcontainers", "Pod"),
    Subresource(
        name="eviction", kind=GroupVersionKind("policy", "v1", "Eviction"), verbs=CREATE_ONLY
    ),
    _V1.sub("exec", "PodExecOptions", CONNECT),
    _V1.sub("log", "Pod", ("get",)),
    _V1.sub("portforward", "PodPortForwardOptions", CONNECT),
    _V1.sub("proxy", "PodProxyOptions", PROXY),
    _V1.sub("resize", "Pod"),
)
_TOKEN = Subresource(
    name="token",
    kind=GroupVersionKind("authentication.k8s.io", "v1", "TokenRequest"),
    verbs=CREATE_ONLY,
)

_WORKLOADS: tuple[Resource, ...] = (
    _V1.resource(
        "Pod",
        "pods",
        namespaced=True,
        short_names=("po",),
        categories=("all",),
        status=True,
        subresources=_POD_SUBRESOURCES,
        selectable=selectable.POD,
        tracks_generation=True,
        returns_deleted=True,
        graceful_delete=True,
    ),
    _V1.resource(
        "PodTemplate",
        "podtemplates",
        namespaced=True,
        tracks_generation=True,
        returns_deleted=True,
    ),
    _V1.resource(
        "ReplicationController",
        "replicationcontrollers",
        namespaced=True,
        short_names=("rc",),
        categories=("all",),
        status=True,
        subresources=(scale(),),
        storage_prefix="controllers",
        selectable=selectable.REPLICATION_CONTROLLER,
        tracks_generation=True,
        default_propagation="Orphan",
    ),
    _V1.resource("Binding", "bindings", namespaced=True, verbs=CREATE_ONLY),
)

_NETWORK: tuple[Resource, ...] = (
    _V1.resource(
        "Service",
        "services",
        namespaced=True,
        short_names=("svc",),
        categories=("all",),
        status=True,
        subresources=(_V1.sub("proxy", "ServiceProxyOptions", PROXY),),
        storage_prefix="services/specs",
        selectable=selectable.SERVICE,
        create_on_update=True,
        returns_deleted=True,
        name_rule="dns-label",
    ),
    _V1.resource(
        "Endpoints",
        "endpoints",
        namespaced=True,
        short_names=("ep",),
        storage_prefix="services/endpoints",
        create_on_update=True,
        deprecation_warning=(
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
        ),
    ),
)

_CLUSTER: tuple[Resource, ...] = (
    _V1.resource(
        "ComponentStatus",
        "componentstatuses",
        namespaced=False,
        short_names=("cs",),
        verbs=("get", "list"),
        deprecation_warning="v1 ComponentStatus is deprecated in v1.19+",
    ),
    _V1.resource(
        "Namespace",
        "namespaces",
        namespaced=False,
        short_names=("ns",),
        verbs=tuple(verb for verb in STANDARD_VERBS if verb != "deletecollection"),
        status=True,
        subresources=(_V1.sub("finalize", "Namespace", ("update",)),),
        selectable=selectable.NAMESPACE,
        returns_deleted=True,
        name_rule="dns-label",
    ),
    _V1.resource(
        "Node",
        "nodes",
        namespaced=False,
        short_names=("no",),
        status=True,
        subresources=(_V1.sub("proxy", "NodeProxyOptions", PROXY),),
        storage_prefix="minions",
        selectable=selectable.NODE,
    ),
    _V1.resource(
        "PersistentVolume",
        "persistentvolumes",
        namespaced=False,
        short_names=("pv",),
        status=True,
        returns_deleted=True,
    ),
)

_NAMESPACED: tuple[Resource, ...] = (
    _V1.resource("ConfigMap", "configmaps", namespaced=True, short_names=("cm",)),
    _V1.resource("Secret", "secrets", namespaced=True, selectable=selectable.SECRET),
    _V1.resource(
        "ServiceAccount",
        "serviceaccounts",
        namespaced=True,
        short_names=("sa",),
        subresources=(_TOKEN,),
        returns_deleted=True,
    ),
    _V1.resource(
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        namespaced=True,
        short_names=("pvc",),
        status=True,
        returns_deleted=True,
    ),
    _V1.resource(
        "LimitRange",
        "limitranges",
        namespaced=True,
        short_names=("limits",),
        create_on_update=True,
    ),
    _V1.resource(
        "ResourceQuota",
        "resourcequotas",
        namespaced=True,
        short_names=("quota",),
        status=True,
        returns_deleted=True,
    ),
    _V1.resource(
        "Event",
        "events",
        namespaced=True,
        short_names=("ev",),
        selectable=selectable.CORE_EVENT,
        create_on_update=True,
        garbage_collected=False,
        cached=False,
        ttl_s=_EVENT_TTL_S,
    ),
)

RESOURCES: tuple[Resource, ...] = _WORKLOADS + _NETWORK + _CLUSTER + _NAMESPACED

"""An APIService as this server uses it."""

from __future__ import annotations

from dataclasses import field

from proreus.api.group_version import GroupVersion
from proreus.api.json_types import Json, JsonObject
from proreus.lazy_dataclass import dataclass
from proreus.server.discovery.priorities import DiscoveryPriority
from proreus.server.webhooks.client_config import ServiceReference

REGISTRATION = ("apiregistration.k8s.io", "v1", "apiservices")
MANAGED = "kube-aggregator.kubernetes.io/automanaged"
AT_START, ALWAYS = "onstart", "true"  # values of that label: when the object is put right
AVAILABLE = "Available"
_HTTPS_PORT = 443


@dataclass(frozen=True, slots=True)
class BackendConfig:
    """The server behind a service. ``ca_bundle``: base64 of PEM; "": the system's authorities."""

    service: ServiceReference
    ca_bundle: str = field(default="", repr=False)
    is_insecure: bool = False


@dataclass(frozen=True, slots=True)
class ApiService:
    """``backend`` None: this server serves the version itself."""

    group_version: GroupVersion
    priority: DiscoveryPriority
    backend: BackendConfig | None = None
    managed: str = ""  # the value of the label, "" for an object of a user
    is_available: bool = False

    @classmethod
    def of(cls, obj: Json) -> ApiService:
        """Raises KeyError, TypeError, AttributeError or ValueError for what is none."""
        spec = obj["spec"]
        where = GroupVersion(spec.get("group") or "", spec["version"])
        if obj["metadata"]["name"] != service_name(where):
            raise ValueError("it is not named as its version and group")
        return cls(
            where,
            DiscoveryPriority(int(spec["groupPriorityMinimum"]), int(spec["versionPriority"])),
            _backend(spec),
            (obj["metadata"].get("labels") or {}).get(MANAGED, ""),
            is_available(obj),
        )

    @property
    def name(self) -> str:
        return service_name(self.group_version)


def _backend(spec: Json) -> BackendConfig | None:
    service = spec.get("service")
    if service is None:
        return None
    port = int(service.get("port") or _HTTPS_PORT)
    where = ServiceReference(service["namespace"], service["name"], port)
    return BackendConfig(
        where, spec.get("caBundle") or "", is_insecure=bool(spec.get("insecureSkipTLSVerify"))
    )


def is_available(obj: Json) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == AVAILABLE and c.get("status") == "True" for c in conditions)


def service_name(group_version: GroupVersion) -> str:
    return f"{group_version.version}.{group_version.group}"


def local_object(
    group_version: GroupVersion, priority: DiscoveryPriority, managed: str
) -> JsonObject:
    """The object of a version that this server serves; its status comes with its creation."""
    group = {"group": group_version.group} if group_version.group else {}
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": service_name(group_version), "labels": {MANAGED: managed}},
        "spec": {
            **group,
            "version": group_version.version,
            "groupPriorityMinimum": priority.group,
            "versionPriority": priority.version,
        },
    }

"""Every environment variable that proreus reads: for ``--help`` and ``docs/reference``."""

from __future__ import annotations

from proreus.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class EnvironmentVariable:
    name: str
    about: str


ENVIRONMENT = (
    EnvironmentVariable("KUBECONFIG", "Kubeconfig files, with colons between; as for kubectl."),
    EnvironmentVariable(
        "HOME", "Without KUBECONFIG, .kube/config in it is read; .kube/cache has API discovery."
    ),
    EnvironmentVariable("USERPROFILE", "Instead of HOME, where that is not set."),
    EnvironmentVariable("KUBECACHEDIR", "Where API discovery is cached instead."),
    EnvironmentVariable("HTTPS_PROXY", "The proxy to an API server; in small letters too."),
    EnvironmentVariable("HTTP_PROXY", "The same for plain HTTP."),
    EnvironmentVariable("NO_PROXY", "Hosts, domains and networks that are reached without."),
    EnvironmentVariable(
        "KUBERNETES_SERVICE_HOST", "In a pod: where the API server is; Kubernetes sets it."
    ),
    EnvironmentVariable("KUBERNETES_SERVICE_PORT", "In a pod: its port."),
    EnvironmentVariable("POD_NAMESPACE", "In a pod: its namespace, if not the mounted one."),
    EnvironmentVariable(
        "PROREUS_ROOT",
        "In a pod of the process runtime: the folder that its volumes are in; the kubelet sets it.",
    ),
    EnvironmentVariable("PATH", "Where kubectl and commands of the process runtime are found."),
)


def described_environment() -> str:
    r"""As a chapter of ``--help``; ``\b`` keeps click from wrapping it."""
    width = max(len(one.name) for one in ENVIRONMENT)
    lines = [f"  {one.name:<{width}}  {one.about}" for one in ENVIRONMENT]
    return "\b\nEnvironment:\n" + "\n".join(lines)

"""What kube-apiserver fills into pods and pod templates.

``default_pod_spec`` is for both; ``default_pod`` adds what only a real pod gets: requests from
limits, service links, host ports, a grace period that is not negative. Running it twice changes
nothing. Lives on the write path: plain lookups, no copies.
"""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.server.kinds.parts.pod_template.images import pull_policy
from proreus.server.kinds.parts.pod_template.pod_resources import default_pod_resources
from proreus.server.kinds.parts.pod_template.volume_defaults import default_volume

_CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
# They held init containers before fields did; Kubernetes keeps them out of what it stores.
_INIT_ANNOTATIONS = frozenset(
    f"pod.{stage}.kubernetes.io/{what}"
    for what in ("init-containers", "init-container-statuses")
    for stage in ("beta", "alpha")
)


def default_pod(pod: JsonObject) -> None:
    spec = pod["spec"]
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    _drop_init_annotations(pod["metadata"])
    spec.setdefault("enableServiceLinks", True)
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            if limits := container["resources"].get("limits"):
                requests = container["resources"].setdefault("requests", {})
                for name, amount in limits.items():
                    requests.setdefault(name, amount)
    default_pod_resources(spec)
    if spec.get("hostNetwork"):
        _default_host_ports(spec)
    default_pod_status(pod)


def default_pod_template(template: JsonObject) -> None:
    _drop_init_annotations(template.setdefault("metadata", {}))
    default_pod_spec(template.setdefault("spec", {}))


def _drop_init_annotations(metadata: JsonObject) -> None:
    annotations = metadata.get("annotations")
    if not annotations or _INIT_ANNOTATIONS.isdisjoint(annotations):
        return
    for key in _INIT_ANNOTATIONS:
        annotations.pop(key, None)
    if not annotations:
        del metadata["annotations"]


def default_pod_spec(spec: JsonObject) -> None:
    for key in _CONTAINER_LISTS:
        for container in spec.get(key) or ():
            _default_container(container)
    spec.setdefault("restartPolicy", "Always")
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    _mirror_service_account(spec)
    for volume in spec.get("volumes") or ():
        default_volume(volume)


def _mirror_service_account(spec: JsonObject) -> None:
    """``serviceAccount`` is the old name of the same field; the new one wins."""
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name


def _default_container(container: JsonObject) -> None:
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("resources", {})
    if "imagePullPolicy" not in container:
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        if "valueFrom" in variable and (source := variable["valueFrom"]):
            if (field := source.get("fieldRef")) is not None:
                field.setdefault("apiVersion", "v1")
            if (file := source.get("fileKeyRef")) is not None:
                file.setdefault("optional", False)
    for key in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (probe := container.get(key)) is not None:
            _default_probe(probe)
    for hook in (container.get("lifecycle") or {}).values():
        if isinstance(hook, dict) and hook.get("httpGet") is not None:
            _default_http_get(hook["httpGet"])


def _default_probe(probe: JsonObject) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    if (action := probe.get("httpGet")) is not None:
        _default_http_get(action)
    if (action := probe.get("grpc")) is not None:
        action.setdefault("service", "")


def _default_http_get(action: JsonObject) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")


def _default_host_ports(spec: JsonObject) -> None:
    for key in ("containers", "initContainers"):
        for container in spec.get(key) or ():
            for port in container.get("ports") or ():
                if not port.get("hostPort"):
                    port["hostPort"] = port["containerPort"]


def default_pod_status(pod: JsonObject) -> None:
    """``podIP`` and the first of ``podIPs`` are the same; so for hosts."""
    status = pod.get("status")
    if not status:
        return
    for single, several in (("podIP", "podIPs"), ("hostIP", "hostIPs")):
        first, listed = status.get(single), status.get(several)
        if listed and not first and listed[0].get("ip"):
            status[single] = listed[0]["ip"]
        elif single == "podIP" and first and (not listed or listed[0].get("ip") != first):
            status[several] = [{"ip": first}]

"""Why the kubelet's endpoint refuses: a code and a plain text, which the API server passes on."""

from __future__ import annotations

from proreus.api.object import KubeObject
from proreus.net.http1.messages import Response

_TEXT = ("Content-Type", "text/plain; charset=utf-8")
_LISTS = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
_PULLING = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}


class RequestRefused(Exception):
    """Raised before anything was answered."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code

    def answer(self) -> Response:
        return text_answer(self.code, str(self))


def text_answer(code: int, text: str) -> Response:
    return Response(code, (_TEXT,), text.encode())


def log_unavailable(pod: KubeObject, container: str, *, previous: bool) -> str:
    """Why a container that exists has no log, in the words of its status."""
    where = f'container "{container}" in pod "{pod.name}"'
    if previous:
        return f"previous terminated {where} not found"
    status = pod.get("status") or {}
    found = next(
        (one for name in _LISTS for one in status.get(name) or () if one.get("name") == container),
        None,
    )
    if found is None:
        return f"{where} is not available"
    state = found.get("state") or {}
    if state.get("terminated"):
        return f"{where} is terminated"
    reason = (state.get("waiting") or {}).get("reason")
    if not reason:
        return f"{where} is waiting to start - no logs yet"
    return f"{where} is waiting to start: {_PULLING.get(reason, reason)}"


def has_container(pod: KubeObject, name: str) -> bool:
    spec = pod.get("spec") or {}
    return any(
        container.get("name") == name
        for key in ("containers", "initContainers", "ephemeralContainers")
        for container in spec.get(key) or ()
    )

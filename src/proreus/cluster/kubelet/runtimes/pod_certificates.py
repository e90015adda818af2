"""The certificates of one pod: asked for, waited for, and asked for again before they end.

A signer is anybody's program. A request that it denies, or fails at, is not repeated: the volume
cannot be made, and the pod's events say why.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from dataclasses import dataclass

from proreus.aio.clock import Clock
from proreus.api.object import KubeObject
from proreus.api.status import ApiError, NotFound
from proreus.api.values.timestamp import parse_time
from proreus.client import Client, TransportError
from proreus.client.conditions import find
from proreus.cluster.kubelet.runtimes.pod_spec.certificate_requests import (
    CertificateRequest,
    PodIdentity,
    account_of,
    certificate_requests,
    request_object,
)
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import PodSpec
from proreus.cluster.kubelet.runtimes.pod_spec.references import ConfigProblem
from proreus.net.tls.key_pairs import KeyPair

_LOOK_S, _LOOKS = 0.5, 20
_REFUSED = {"Denied": "was denied", "Failed": "failed"}


@dataclass(slots=True, repr=False)
class _CertificateState:
    """``name`` of the request that has no answer yet; with it goes ``key``."""

    name: str = ""
    key: bytes = b""
    held: KeyPair | None = None
    refresh_at: float = 0.0
    refusal: str = ""


class PodCertificates:
    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._asked: dict[CertificateRequest, _CertificateState] = {}

    async def current(self, pod: PodSpec) -> Mapping[CertificateRequest, KeyPair]:
        """Waits a while for new ones. Raises ``ConfigProblem``."""
        found: dict[CertificateRequest, KeyPair] = {}
        for wanted in certificate_requests(pod):
            asked = self._asked.setdefault(wanted, _CertificateState())
            try:
                found[wanted] = await self._credentials(pod, wanted, asked)
            except (ApiError, TransportError, ValueError) as failure:  # such as an unknown key type
                said = f"no certificate of {wanted.signer}: {failure}"
                raise ConfigProblem(said) from failure
        return found

    @property
    def next_look(self) -> float:
        """When ``current`` may have others: soon if one was asked for, else when the first of them
        is to be asked for again."""
        if any(asked.name for asked in self._asked.values()):
            return self._clock.now() + _LOOK_S
        return min((asked.refresh_at for asked in self._asked.values()), default=math.inf)

    async def _credentials(
        self, pod: PodSpec, wanted: CertificateRequest, asked: _CertificateState
    ) -> KeyPair:
        """Raises ``ConfigProblem``, ``ApiError``, ``TransportError``."""
        if asked.refusal:
            raise ConfigProblem(asked.refusal)
        if asked.held is not None and self._clock.now() < asked.refresh_at:
            return asked.held
        if not asked.name:
            await self._ask(pod, wanted, asked)
        for _ in range(_LOOKS):
            if await self._is_answered(pod, asked):
                assert asked.held is not None
                return asked.held
            if asked.held is not None:  # which is good until the next look
                return asked.held
            await self._clock.sleep(_LOOK_S)
        raise ConfigProblem(f"PodCertificateRequest {asked.name} is not issued yet")

    async def _ask(
        self, pod: PodSpec, wanted: CertificateRequest, asked: _CertificateState
    ) -> None:
        from proreus.net.tls.requesting import new_key  # loads ``cryptography``

        core = self._client.core_v1
        account = await core.serviceaccounts(pod.namespace).get(account_of(pod))
        node = await core.nodes.get(str(pod.spec.get("nodeName")))
        made = await asyncio.to_thread(new_key, wanted.key_type)
        identity = PodIdentity(account.uid, node.uid)
        requests = self._client.certificates_v1.podcertificaterequests(pod.namespace)
        body = request_object(pod, wanted, identity, made.request)
        asked.name = (await requests.create(body)).name
        asked.key = made.key

    async def _is_answered(self, pod: PodSpec, asked: _CertificateState) -> bool:
        """Raises ``ConfigProblem`` for a refusal."""
        requests = self._client.certificates_v1.podcertificaterequests(pod.namespace)
        try:
            found = await requests.get(asked.name)
        except NotFound:
            asked.name = ""  # somebody cleaned up: ask again
            raise
        if refusal := _refusal(found):
            asked.refusal = refusal
            raise ConfigProblem(refusal)
        if find(found, "Issued") is None:
            return False
        chain = str(found.status.certificateChain or "").encode()
        asked.held = KeyPair(chain, asked.key)
        asked.refresh_at = parse_time(str(found.status.beginRefreshAt))
        asked.name, asked.key = "", b""
        return True


def _refusal(found: KubeObject) -> str:
    for kind, word in _REFUSED.items():
        if (condition := find(found, kind)) is not None:
            said = f"{condition.get('reason')}: {condition.get('message')}"
            return f"PodCertificateRequest {found.name} {word}: {said}"
    return ""

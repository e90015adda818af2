"""Sets up a container before its start: volumes, environment, root, command line."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

from proreus.api.object import KubeObject
from proreus.api.status import ApiError
from proreus.api.values.timestamp import parse_time
from proreus.client import TransportError
from proreus.client.service_account_tokens import request_token
from proreus.cluster.kubelet.runtimes.claimed_volumes import ClaimNotReady, claimed_volumes
from proreus.cluster.kubelet.runtimes.pod_certificates import PodCertificates
from proreus.cluster.kubelet.runtimes.pod_spec.certificate_requests import CertificateRequest
from proreus.cluster.kubelet.runtimes.pod_spec.environment import (
    ValueSources,
    command_line,
    environment_of,
)
from proreus.cluster.kubelet.runtimes.pod_spec.pod_spec import ContainerSpec, PodSpec, user_refusal
from proreus.cluster.kubelet.runtimes.pod_spec.references import ConfigProblem, references_of
from proreus.cluster.kubelet.runtimes.pod_spec.token_requests import TokenRequest, token_requests
from proreus.cluster.kubelet.runtimes.pod_spec.volumes import Contents, volume_content
from proreus.cluster.kubelet.runtimes.process.folders import (
    create_root,
    prepare_private,
    working_folder,
    write_volume,
)
from proreus.cluster.kubelet.runtimes.process.guard import ROOT_VARIABLE
from proreus.cluster.kubelet.runtimes.process.host import Host
from proreus.cluster.kubelet.runtimes.process.processes import Command
from proreus.cluster.kubelet.runtimes.runtime import PodAddresses
from proreus.cluster.kubelet.runtimes.service_variables import read_service_variables
from proreus.net.tls.key_pairs import KeyPair

MESSAGE_VARIABLE = "PROREUS_TERMINATION_LOG"
_RENEW_AFTER = 0.8  # of a token's time


class MountProblem(ConfigProblem):
    """A volume cannot be made; the text is for the user."""


class CommandMissing(Exception):
    """The container relies on its image to say what to run."""


class ContainerSetup:
    """For one pod; keeps its tokens, and the volumes of its claims."""

    def __init__(self, host: Host, addresses: PodAddresses) -> None:
        self._host = host
        self._addresses = addresses
        self._tokens: dict[TokenRequest, tuple[float, bytes]] = {}
        self._volumes: dict[str, KubeObject] | None = None
        self._certificates = PodCertificates(host.client, host.clock)

    async def value_sources(self, pod: PodSpec) -> ValueSources:
        """Raises ``ConfigProblem``."""
        found = await self._host.objects.read(pod.namespace, references_of(pod))
        return ValueSources(self._addresses, self._host.capacity, found)

    async def volumes(self, pod: PodSpec) -> None:
        """Make the pod's volumes, or bring them up to date. Raises ``MountProblem``."""
        folder = self._host.pod_folder(pod.uid)
        try:
            prepare_private([folder.path, folder.path / "volumes", folder.path / "containers"])
        except OSError as problem:
            raise MountProblem(f"the pod's folder cannot be made: {problem}") from problem
        volumes = pod.spec.get("volumes") or ()
        if not volumes:
            return
        contents = Contents(
            await self.value_sources(pod),
            await self._fresh_tokens(pod),
            await self._issued(pod),
            await self._claimed(pod),
        )
        for volume in volumes:
            try:
                content = volume_content(pod, volume, contents)
                # What containers put there may be much, or slow.
                await asyncio.to_thread(write_volume, folder, volume["name"], content)
            except (ConfigProblem, OSError) as problem:
                said = f'MountVolume.SetUp failed for volume "{volume["name"]}" : {problem}'
                raise MountProblem(said) from problem

    async def _claimed(self, pod: PodSpec) -> Mapping[str, KubeObject]:
        """What was mounted once stays mounted, whatever becomes of the claim. Raises
        ``MountProblem``."""
        if self._volumes is None:
            try:
                self._volumes = await claimed_volumes(self._host.client, pod)
            except ClaimNotReady as problem:
                raise MountProblem(str(problem)) from problem
        return self._volumes

    async def _issued(self, pod: PodSpec) -> Mapping[CertificateRequest, KeyPair]:
        """Raises ``MountProblem``."""
        try:
            return await self._certificates.current(pod)
        except ConfigProblem as problem:
            raise MountProblem(str(problem)) from problem

    async def command(self, pod: PodSpec, container: ContainerSpec) -> Command:
        """Raises ``ConfigProblem``, ``CommandMissing``."""
        if why := user_refusal(pod, container, os.geteuid()):
            raise ConfigProblem(why)
        folder = self._host.pod_folder(pod.uid)
        home = folder.container(container.name)
        given = {
            **await self._services(pod),
            **self._host.given,
            "HOSTNAME": str(pod.spec.get("hostname") or pod.name),
            ROOT_VARIABLE: str(home.root),
            MESSAGE_VARIABLE: str(home.termination_log(container)),
        }
        if container.content.get("tty"):
            given["TERM"] = "xterm"
        variables = environment_of(pod, container, given, await self.value_sources(pod))
        variables[ROOT_VARIABLE] = given[ROOT_VARIABLE]  # the mark by which we know our own
        arguments = command_line(container, variables)
        if not arguments:
            raise CommandMissing
        try:
            prepare_private([home.path])
            # What the last life left in its root may be much; no other container has it.
            await asyncio.to_thread(create_root, folder, container, variables)
            arguments[0] = _program(home.root, arguments[0])
            where = working_folder(home, container)
            return Command(arguments, variables, where, next(self._host.marks))
        except OSError as problem:
            raise ConfigProblem(str(problem)) from problem

    async def _services(self, pod: PodSpec) -> dict[str, str]:
        """Raises ``ConfigProblem``."""
        try:
            return await read_service_variables(self._host.client, pod, with_server=False)
        except (ApiError, TransportError) as failure:
            raise ConfigProblem(f"services have not been read yet: {failure}") from failure

    async def _fresh_tokens(self, pod: PodSpec) -> Mapping[TokenRequest, bytes]:
        now = self._host.clock.now()
        for wanted in token_requests(pod):
            until, _ = self._tokens.get(wanted, (0.0, b""))
            if until <= now:
                self._tokens[wanted] = await self._request_token(pod, wanted, now)
        return {wanted: token for wanted, (_, token) in self._tokens.items()}

    async def _request_token(
        self, pod: PodSpec, wanted: TokenRequest, now: float
    ) -> tuple[float, bytes]:
        account = str(pod.spec.get("serviceAccountName") or "default")
        bound = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
        spec = {
            "audiences": [wanted.audience] if wanted.audience else [],
            "expirationSeconds": wanted.expires_s,
            "boundObjectRef": bound,
        }
        accounts = self._host.client.core_v1.serviceaccounts(pod.namespace)
        try:
            answer = await request_token(accounts, account, spec)
        except (ApiError, TransportError) as failure:
            said = f"no token for service account {pod.namespace}/{account}: {failure}"
            raise MountProblem(said) from failure
        expires = parse_time(answer.status.expirationTimestamp)
        return now + (expires - now) * _RENEW_AFTER, str(answer.status.token).encode()


def _program(root: Path, name: str) -> str:
    """An absolute path means the container's own tree first: it may lie in a volume."""
    own = root / name.lstrip("/")
    return str(own) if name.startswith("/") and own.exists() else name

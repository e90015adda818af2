"""Credentials printed by a program, as cloud providers ship them (ExecCredential v1, v1beta1).

The program runs at first use, when what it printed has expired, and after the server refused it;
never twice at once. What it prints is a secret and is never logged.
"""

from __future__ import annotations

import asyncio
import base64
import os
import sys

from proreus.aio.clock import Clock, deadline
from proreus.api.json_types import Json, JsonObject
from proreus.api.values.timestamp import parse_time
from proreus.api.wire import json
from proreus.client.client_config import ClientConfig, ExecSettings
from proreus.client.credentials.source import Credential, CredentialError

# A person may have to log in while an interactive plugin waits.
_TIMEOUT_S = 60.0
_INTERACTIVE_TIMEOUT_S = 600.0


class ExecPlugin:
    """Runs the program and keeps what it gave for as long as that is good."""

    def __init__(self, settings: ExecSettings, config: ClientConfig, clock: Clock) -> None:
        self._settings = settings
        self._cluster = cluster_of(config) if settings.provide_cluster else None
        self._clock = clock
        self._running = asyncio.Lock()
        self._credential: Credential | None = None
        self._expires_at: float | None = None

    async def current(self) -> Credential:
        if self._is_good():
            assert self._credential is not None, "a good credential exists"
            return self._credential
        async with self._running:  # those that waited find what the first one fetched
            if not self._is_good():
                await self._refresh()
            assert self._credential is not None, "a refresh gives a credential or raises"
            return self._credential

    def refused(self, used: Credential) -> None:
        # Another request may have refreshed since; only the very credential that failed is dropped.
        if self._credential == used:
            self._credential = None

    def _is_good(self) -> bool:
        if self._credential is None:
            return False
        return self._expires_at is None or self._clock.now() <= self._expires_at

    async def _refresh(self) -> None:
        interactive = is_interactive(self._settings)
        output = await self._run(interactive)
        self._credential, self._expires_at = read_output(output, self._settings)

    async def _run(self, interactive: bool) -> bytes:
        settings = self._settings
        env = dict(os.environ)
        env.update(settings.env)
        env["KUBERNETES_EXEC_INFO"] = request_document(
            settings, interactive=interactive, cluster=self._cluster
        ).decode()
        try:
            plugin = await asyncio.create_subprocess_exec(
                settings.command,
                *settings.args,
                env=env,
                stdin=None if interactive else asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=None,  # its messages are for the user
            )
        except OSError as problem:
            raise CredentialError(_cannot_start(settings, problem)) from problem
        limit_s = _INTERACTIVE_TIMEOUT_S if interactive else _TIMEOUT_S
        try:
            async with deadline(self._clock, limit_s):
                output, _ = await plugin.communicate()
        except TimeoutError as late:
            raise CredentialError(f"{settings.command}: no credential in {limit_s:g} s") from late
        finally:
            if plugin.returncode is None:
                plugin.kill()
                await plugin.wait()
        if plugin.returncode:
            raise CredentialError(f"{settings.command}: exit code {plugin.returncode}")
        return output


def cluster_of(config: ClientConfig) -> JsonObject:
    """The cluster as plugins with ``provideClusterInfo`` get it."""
    cluster: JsonObject = {"server": config.host}
    if config.tls.server_name:
        cluster["tls-server-name"] = config.tls.server_name
    if config.tls.insecure:
        cluster["insecure-skip-tls-verify"] = True
    ca = config.tls.ca_data
    if ca is None and config.tls.ca_file is not None:
        ca = config.tls.ca_file.read_bytes()
    if ca:
        cluster["certificate-authority-data"] = base64.b64encode(ca).decode()
    if config.proxy_url:
        cluster["proxy-url"] = config.proxy_url
    if config.disable_compression:
        cluster["disable-compression"] = True
    extension = config.auth.exec.cluster_extension if config.auth.exec else ""
    if extension:
        cluster["config"] = json.decode(extension)
    return cluster


def request_document(settings: ExecSettings, *, interactive: bool, cluster: Json | None) -> bytes:
    """What the plugin reads in KUBERNETES_EXEC_INFO."""
    spec: JsonObject = {"interactive": interactive}
    if cluster is not None:
        spec["cluster"] = cluster
    return json.encode({"kind": "ExecCredential", "apiVersion": settings.api_version, "spec": spec})


def is_interactive(settings: ExecSettings) -> bool:
    """Whether the plugin may ask the user something on this terminal."""
    has_terminal = sys.stdin is not None and sys.stdin.isatty()
    if settings.interactive_mode == "Always" and not has_terminal:
        raise CredentialError(f"{settings.command}: needs a terminal, and there is none")
    return settings.interactive_mode != "Never" and has_terminal


def read_output(output: bytes, settings: ExecSettings) -> tuple[Credential, float | None]:
    """The credential a plugin printed and when it expires (Unix seconds; None: by itself never)."""
    try:
        document = json.decode(output)
    except json.JSONDecodeError as problem:
        raise CredentialError(f"{settings.command}: printed no JSON") from problem
    if not isinstance(document, dict) or document.get("kind") != "ExecCredential":
        raise CredentialError(f"{settings.command}: printed no ExecCredential")
    version = document.get("apiVersion")
    if version != settings.api_version:
        raise CredentialError(
            f"{settings.command}: printed {version}, but the kubeconfig asks for "
            f"{settings.api_version}"
        )
    status = document.get("status") or {}
    token = status.get("token") or ""
    cert, key = status.get("clientCertificateData"), status.get("clientKeyData")
    if bool(cert) != bool(key):
        raise CredentialError(f"{settings.command}: printed a certificate or key without the other")
    if not token and not cert:
        raise CredentialError(f"{settings.command}: printed neither a token nor a certificate")
    expires = status.get("expirationTimestamp")
    return (
        Credential(
            f"Bearer {token}" if token else "",
            cert.encode() if cert else None,
            key.encode() if key else None,
        ),
        parse_time(expires) if expires else None,
    )


def _cannot_start(settings: ExecSettings, problem: OSError) -> str:
    why = "no such program" if isinstance(problem, FileNotFoundError) else str(problem.strerror)
    hint = f"\n\n{settings.install_hint}" if settings.install_hint else ""
    return f"credential plugin {settings.command}: {why}{hint}"

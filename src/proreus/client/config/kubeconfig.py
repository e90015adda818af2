"""One kubeconfig file, read and checked: clusters, users and contexts by name.

Relative paths are made absolute here, against the folder of the file that wrote them, because after
merging it is not known any more which file that was.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from proreus.api.json_types import Json
from proreus.api.wire import json
from proreus.client.client_config import ConfigError, ExecSettings, Impersonation

EXEC_EXTENSION = "client.authentication.k8s.io/exec"
_EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
_INTERACTIVE_MODES = ("Never", "IfAvailable", "Always")
_Entry = TypeVar("_Entry")


@dataclass(frozen=True, slots=True)
class Cluster:
    server: str = ""
    tls_server_name: str = ""
    insecure: bool = False
    ca_file: Path | None = None
    ca_data: bytes | None = None
    proxy_url: str = ""
    disable_compression: bool = False
    exec_extension: str = ""


@dataclass(frozen=True, slots=True)
class KubeconfigUser:
    cert_file: Path | None = None
    cert_data: bytes | None = None
    key_file: Path | None = None
    key_data: bytes | None = field(default=None, repr=False)
    token: str = field(default="", repr=False)
    token_file: Path | None = None
    username: str = ""
    password: str = field(default="", repr=False)
    impersonate: Impersonation | None = None
    exec: ExecSettings | None = None
    auth_provider: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    cluster: str = ""
    user: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """What one file says, or several merged."""

    clusters: Mapping[str, Cluster] = field(default_factory=dict)
    users: Mapping[str, KubeconfigUser] = field(default_factory=dict)
    contexts: Mapping[str, Context] = field(default_factory=dict)
    current_context: str = ""

    @property
    def is_empty(self) -> bool:
        return not (self.clusters or self.users or self.contexts or self.current_context)


def read_kubeconfig(path: Path) -> Kubeconfig:
    """Read one file. Raises ``ConfigError`` that names the file."""
    try:
        text = path.read_bytes()
    except OSError as problem:
        raise ConfigError(f"kubeconfig {path}: cannot be read: {problem.strerror}") from problem
    return parse_kubeconfig(text, path)


def parse_kubeconfig(text: bytes, path: Path) -> Kubeconfig:
    """``path`` is where relative paths start and what errors name."""
    import yaml  # here, so that a pod that needs no kubeconfig does not load it

    try:
        # The C loader is ten times faster but not on every machine.
        document = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as problem:
        raise ConfigError(f"kubeconfig {path}: not YAML: {problem}") from problem
    if document is None:
        return Kubeconfig()
    if not isinstance(document, dict):
        raise ConfigError(f"kubeconfig {path}: not a mapping")
    reader = _Reader(path)
    return Kubeconfig(
        clusters=reader.entries(document, "clusters", "cluster", reader.cluster),
        users=reader.entries(document, "users", "user", reader.user),
        contexts=reader.entries(document, "contexts", "context", reader.context),
        current_context=str(document.get("current-context") or ""),
    )


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._folder = path.parent
        self._entry = ""

    def entries(
        self, document: Json, plural: str, singular: str, read: Callable[[Json], _Entry]
    ) -> dict[str, _Entry]:
        found: dict[str, _Entry] = {}
        listed = document.get(plural) or []
        if not isinstance(listed, list):
            raise ConfigError(f"kubeconfig {self._path}: {plural} is not a list")
        for number, entry in enumerate(listed):
            self._entry = f"{plural}[{number}]"
            if not isinstance(entry, dict) or not entry.get("name"):
                raise self._refuse("has no name")
            name = str(entry["name"])
            self._entry = f"{singular} {name!r}"
            content = entry.get(singular) or {}
            if not isinstance(content, dict):
                raise self._refuse(f"{singular} is not a mapping")
            if name in found:
                raise self._refuse("is defined twice")
            found[name] = read(content)
        return found

    def cluster(self, raw: Json) -> Cluster:
        return Cluster(
            server=self._text(raw, "server"),
            tls_server_name=self._text(raw, "tls-server-name"),
            insecure=self._flag(raw, "insecure-skip-tls-verify"),
            ca_file=self._file(raw, "certificate-authority"),
            ca_data=self._bytes(raw, "certificate-authority-data"),
            proxy_url=self._text(raw, "proxy-url"),
            disable_compression=self._flag(raw, "disable-compression"),
            exec_extension=_exec_extension(raw),
        )

    def user(self, raw: Json) -> KubeconfigUser:
        provider = raw.get("auth-provider") or {}
        return KubeconfigUser(
            cert_file=self._file(raw, "client-certificate"),
            cert_data=self._bytes(raw, "client-certificate-data"),
            key_file=self._file(raw, "client-key"),
            key_data=self._bytes(raw, "client-key-data"),
            token=self._text(raw, "token"),
            token_file=self._file(raw, "tokenFile"),
            username=self._text(raw, "username"),
            password=self._text(raw, "password"),
            impersonate=self._impersonation(raw),
            exec=self._exec(raw["exec"]) if raw.get("exec") else None,
            auth_provider=str(provider.get("name", "")) if isinstance(provider, dict) else "?",
        )

    def context(self, raw: Json) -> Context:
        return Context(
            cluster=self._text(raw, "cluster"),
            user=self._text(raw, "user"),
            namespace=self._text(raw, "namespace"),
        )

    def _impersonation(self, raw: Json) -> Impersonation | None:
        user, uid = self._text(raw, "as"), self._text(raw, "as-uid")
        groups, extra = raw.get("as-groups") or [], raw.get("as-user-extra") or {}
        if not user:
            if uid or groups or extra:
                raise self._refuse("as-uid, as-groups and as-user-extra need as")
            return None
        kept = {str(key): tuple(map(str, values)) for key, values in extra.items()}
        return Impersonation(user, uid, tuple(map(str, groups)), kept)

    def _exec(self, raw: Any) -> ExecSettings:
        if not isinstance(raw, dict):
            raise self._refuse("exec is not a mapping")
        command, version = self._text(raw, "command"), self._text(raw, "apiVersion")
        if not command:
            raise self._refuse("exec.command is missing")
        if version not in _EXEC_VERSIONS:
            known = " or ".join(_EXEC_VERSIONS)
            raise self._refuse(f"exec.apiVersion {version!r} is not {known}")
        mode = self._text(raw, "interactiveMode")
        if not mode and version.endswith("/v1"):
            raise self._refuse("exec.interactiveMode is missing")
        if mode and mode not in _INTERACTIVE_MODES:
            raise self._refuse(f"exec.interactiveMode {mode!r} is not one of {_INTERACTIVE_MODES}")
        if os.sep in command:
            command = str(self._folder / command)
        return ExecSettings(
            command=command,
            api_version=version,
            args=tuple(str(arg) for arg in raw.get("args") or ()),
            env=tuple((str(e["name"]), str(e.get("value", ""))) for e in raw.get("env") or ()),
            interactive_mode=mode or "IfAvailable",
            install_hint=self._text(raw, "installHint"),
            provide_cluster=self._flag(raw, "provideClusterInfo"),
        )

    def _text(self, raw: Json, key: str) -> str:
        value = raw.get(key)
        if isinstance(value, (dict, list)):
            raise self._refuse(f"{key} is not a string")
        return "" if value is None else str(value)

    def _flag(self, raw: Json, key: str) -> bool:
        value = raw.get(key) or False
        if not isinstance(value, bool):
            raise self._refuse(f"{key} is neither true nor false")
        return value

    def _file(self, raw: Json, key: str) -> Path | None:
        value = self._text(raw, key)
        return self._folder / value if value else None

    def _bytes(self, raw: Json, key: str) -> bytes | None:
        value = self._text(raw, key)
        if not value:
            return None
        try:
            return base64.b64decode("".join(value.split()), validate=True)
        except (binascii.Error, ValueError) as problem:
            raise self._refuse(f"{key} is not base64") from problem

    def _refuse(self, why: str) -> ConfigError:
        return ConfigError(f"kubeconfig {self._path}: {self._entry}: {why}")


def _exec_extension(raw: Json) -> str:
    for extension in raw.get("extensions") or ():
        if isinstance(extension, dict) and extension.get("name") == EXEC_EXTENSION:
            return json.encode(extension.get("extension")).decode()
    return ""

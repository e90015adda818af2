"""ServiceAccount: every pod runs as an account of its namespace and gets the account's token.

The token comes as a projected volume: the kubelet asks for one that is bound to the pod. Mirror
pods stand for what a kubelet runs by itself; they are left as they are, without an account.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Awaitable, Iterator
from typing import Any

from proreus.aio.clock import Clock
from proreus.api.json_types import Json, JsonObject
from proreus.api.wire import json
from proreus.server.admission.plugins import lookup
from proreus.server.admission.plugins.refusal import Refused, as_forbidden
from proreus.server.authz.node.references import MIRROR
from proreus.server.authz.node.restricted_pods import mirror_faults
from proreus.server.registry.admission import CREATE, Attributes
from proreus.server.registry.collection import Collection

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_DEFAULT = "default"
_VOLUME = "kube-api-access-"
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
# An hour, and a few seconds that distinguish tokens which the server added.
_EXPIRATION_S = 3607
_ENFORCED = "kubernetes.io/enforce-mountable-secrets"
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
# The default account is made by a controller, moments after its namespace.
_DEFAULT_ATTEMPTS = 25


class PodServiceAccounts:
    def __init__(self, accounts: Collection, clock: Clock) -> None:
        self._accounts = accounts
        self._clock = clock

    def set_account(self, attributes: Attributes) -> Awaitable[None] | None:
        """Of a new pod."""
        assert attributes.obj is not None, "a create has an object"
        return self._set_account(attributes, attributes.obj)

    def check_account(self, attributes: Attributes) -> Awaitable[None] | None:
        """Of a new pod once more, as another plugin may have changed it, and of one that gets
        ephemeral containers."""
        assert attributes.obj is not None, "a write has an object"
        if attributes.operation == CREATE:
            return self._check(attributes, attributes.obj)
        return self._check_ephemeral(attributes, attributes.obj)

    async def _set_account(self, attributes: Attributes, pod: JsonObject) -> None:
        with as_forbidden(attributes):
            if MIRROR in (pod["metadata"].get("annotations") or {}):
                _refuse_mirror(pod)
                return
            spec = pod.setdefault("spec", {})
            if not spec.get("serviceAccountName"):
                spec["serviceAccountName"] = spec["serviceAccount"] = _DEFAULT
            account = await self._find(attributes.namespace, spec["serviceAccountName"])
            if should_mount(account, spec):
                mount_token(spec)
            if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
                spec["imagePullSecrets"] = [dict(one) for one in account["imagePullSecrets"]]
            limit_secrets(account, spec)

    async def _check(self, attributes: Attributes, pod: JsonObject) -> None:
        with as_forbidden(attributes):
            if MIRROR in (pod["metadata"].get("annotations") or {}):
                _refuse_mirror(pod)
                return
            name = pod["spec"].get("serviceAccountName")
            if not name:
                where = f"{attributes.namespace}/{pod['metadata'].get('name') or ''}"
                raise Refused(f"no service account specified for pod {where}")
            limit_secrets(await self._find(attributes.namespace, name), pod["spec"])

    async def _check_ephemeral(self, attributes: Attributes, pod: JsonObject) -> None:
        if MIRROR in (pod["metadata"].get("annotations") or {}):
            return
        name = pod["spec"].get("serviceAccountName") or _DEFAULT
        with as_forbidden(attributes):
            account = await self._find(attributes.namespace, name)
            if _is_limited(account):
                known = _names(account.get("secrets"))
                for container in pod["spec"].get("ephemeralContainers") or ():
                    _limit_environment("ephemeral container", container, known, account)

    async def _find(self, namespace: str, name: str) -> dict[str, Any]:
        """Raises Refused."""
        key = f"{namespace}/{name}"
        for attempt in range(_DEFAULT_ATTEMPTS if name == _DEFAULT else 1):
            if attempt:
                await self._clock.sleep(random.uniform(0.15, 0.25))
            if (found := await lookup.find(self._accounts, key)) is not None:
                return found
        raise Refused(f'error looking up service account {key}: serviceaccount "{name}" not found')


def _refuse_mirror(pod: Json) -> None:
    """Raises Refused."""
    if why := mirror_faults(pod):
        raise Refused(why)


def should_mount(account: Json, spec: Json) -> bool:
    """What the pod says counts before what its account says."""
    for holder in (spec, account):
        if (wanted := holder.get("automountServiceAccountToken")) is not None:
            return bool(wanted)
    return True


def mount_token(spec: JsonObject) -> None:
    """In every container that has nothing at the place yet."""
    volumes = spec.get("volumes") or []
    names = (volume.get("name") or "" for volume in volumes)
    present = next((name for name in names if name.startswith(_VOLUME)), "")
    name = present or f"{_VOLUME}{_suffix(spec)}"
    is_needed = False
    for key in ("initContainers", "containers"):
        for container in spec.get(key) or ():
            mounts = container.get("volumeMounts") or []
            if any(mount.get("mountPath") == TOKEN_PATH for mount in mounts):
                continue
            mount = {"name": name, "readOnly": True, "mountPath": TOKEN_PATH}
            container["volumeMounts"] = [*mounts, mount]
            is_needed = True
    if is_needed and not present:
        spec["volumes"] = [*volumes, {"name": name, "projected": token_sources()}]


def _suffix(spec: Json) -> str:
    """The same for pods of one template, whose specs are then checked once and not for each."""
    number = zlib.crc32(json.encode(spec.get("containers")))
    letters = []
    for _ in range(5):
        number, place = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[place])
    return "".join(letters)


def token_sources() -> JsonObject:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "defaultMode": 0o644,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _EXPIRATION_S, "path": "token"}},
            {
                "configMap": {
                    "name": "kube-root-ca.crt",
                    "items": [{"key": "ca.crt", "path": "ca.crt"}],
                }
            },
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
        ],
    }


def limit_secrets(account: Json, spec: Json) -> None:
    """An account may say that its pods use no secrets but its own. Raises Refused."""
    if not _is_limited(account):
        return
    known = _names(account.get("secrets"))
    for volume in spec.get("volumes") or ():
        secret = (volume.get("secret") or {}).get("secretName")
        if secret is not None and secret not in known:
            raise Refused(f'volume with secret.secretName="{secret}" {_unknown(account)}')
    for kind, key in (("init container", "initContainers"), ("container", "containers")):
        for container in spec.get(key) or ():
            _limit_environment(kind, container, known, account)
    pulling = _names(account.get("imagePullSecrets"))
    for index, one in enumerate(spec.get("imagePullSecrets") or ()):
        if one.get("name") not in pulling:
            at = f'imagePullSecrets[{index}].name="{one.get("name") or ""}"'
            raise Refused(f"{at} {_unknown(account, 'imagePullSecret')}")


def _limit_environment(kind: str, container: Json, known: set[str], account: Json) -> None:
    for where, secret in _secrets_of(container):
        if secret not in known:
            raise Refused(
                f"{kind} {container.get('name')} with {where} referencing "
                f'secret.secretName="{secret}" {_unknown(account)}'
            )


def _secrets_of(container: Json) -> Iterator[tuple[str, str]]:
    """Which part of the environment names which secret, in the order in which they are checked."""
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference is not None:
            yield f"envVar {variable.get('name') or ''}", reference.get("name") or ""
    for source in container.get("envFrom") or ():
        if (reference := source.get("secretRef")) is not None:
            yield "envFrom", reference.get("name") or ""


def _unknown(account: Json, what: str = "secret") -> str:
    name = account["metadata"]["name"]
    return f"is not allowed because service account {name} does not reference that {what}"


def _is_limited(account: Json) -> bool:
    return (account["metadata"].get("annotations") or {}).get(_ENFORCED) in _TRUE


def _names(references: Any) -> set[str]:
    return {one.get("name") or "" for one in references or ()}

"""Config maps, secrets, service accounts, role bindings and quotas."""

from __future__ import annotations

from collections.abc import Sequence

from proreus.server.views.columns.cells import Object, age, name_of
from proreus.server.views.columns.printer import Cells, Printer, columns


def _fill_config_map(obj: Object, now: float) -> Cells:
    count = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [name_of(obj), count, age(obj, now)]


def _fill_secret(obj: Object, now: float) -> Cells:
    return [name_of(obj), obj.get("type", ""), len(obj.get("data") or ()), age(obj, now)]


def _fill_named(obj: Object, now: float) -> Cells:
    return [name_of(obj), age(obj, now)]


def _fill_binding(obj: Object, now: float) -> Cells:
    role, subjects = obj.get("roleRef") or {}, obj.get("subjects") or ()
    accounts = [
        f"{subject.get('namespace', '')}/{subject.get('name', '')}"
        for subject in subjects
        if subject.get("kind") == "ServiceAccount"
    ]
    return [
        name_of(obj),
        f"{role.get('kind', '')}/{role.get('name', '')}",
        age(obj, now),
        _named_subjects(subjects, "User"),
        _named_subjects(subjects, "Group"),
        ", ".join(accounts),
    ]


def _named_subjects(subjects: Sequence[Object], kind: str) -> str:
    return ", ".join(s.get("name", "") for s in subjects if s.get("kind") == kind)


def _fill_quota(obj: Object, now: float) -> Cells:
    status = obj.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    texts = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    limits = [text for name, text in texts.items() if name.startswith("limits")]
    requests = [text for name, text in texts.items() if not name.startswith("limits")]
    return [name_of(obj), ", ".join(requests), ", ".join(limits), age(obj, now)]


_BINDINGS = Printer(
    columns("Name", "Role", "Age", "Users*", "Groups*", "ServiceAccounts*"), _fill_binding
)

PRINTERS: dict[tuple[str, str], Printer] = {
    ("", "ConfigMap"): Printer(columns("Name", "Data", "Age"), _fill_config_map),
    ("", "Secret"): Printer(columns("Name", "Type", "Data", "Age"), _fill_secret),
    ("", "ServiceAccount"): Printer(columns("Name", "Age"), _fill_named),
    ("", "ResourceQuota"): Printer(columns("Name", "Request", "Limit", "Age"), _fill_quota),
    ("rbac.authorization.k8s.io", "RoleBinding"): _BINDINGS,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _BINDINGS,
}

"""The groups of a client as its attributes. Type checkers read the stub beside this, which the
build makes: every built-in group and resource, with its kind, and none else."""

from __future__ import annotations

from proreus.client.resources.groups import GroupClient, ResourceLookup


class BuiltinGroups:
    """Mixed into ``Client``. In a running program any group version of the server is there."""

    _lookup: ResourceLookup

    def __getattr__(self, name: str) -> GroupClient:
        lookup = self.__dict__.get("_lookup")
        group: GroupClient | None = lookup.group(name) if lookup is not None else None
        if group is None:
            raise AttributeError(f"Client has no attribute {name!r}")
        return group

"""Owners of a Scale's replicas: those of the object behind it, and back again (server.md §6.5).

A write through ``/scale`` is tracked on the Scale, in its version. Of the object's owners the Scale
knows those that have its replicas; who loses them there loses them in the object.
"""

from __future__ import annotations

from proreus.api.patch import field_sets
from proreus.api.patch.field_sets import Tree, difference, includes
from proreus.api.patch.managed_fields import UPDATE, Owned, Owner, Owners

SCALE_VERSION = "autoscaling/v1"
REPLICAS: Tree = field_sets.of_paths((("spec", "replicas"),))


def owners_in_scale(owners: Owners, known_versions: frozenset[str]) -> Owners:
    """Who owns the replicas of an object, as owners of its Scale."""
    return {
        _in_version(owner, SCALE_VERSION): Owned(REPLICAS, SCALE_VERSION, owned.time)
        for owner, owned in owners.items()
        if owned.api_version in known_versions and includes(owned.fields, REPLICAS)
    }


def owners_in_object(
    owners: Owners, in_scale: Owners, api_version: str, known_versions: frozenset[str]
) -> Owners:
    """``owners`` after a write of the Scale left ``in_scale``.

    Entries in versions the kind does not have are dropped. A new entry has no time: a
    kube-apiserver takes it from the entry of before.
    """
    left = {owner: owned for owner, owned in in_scale.items() if includes(owned.fields, REPLICAS)}
    kept: Owners = {}
    for owner, owned in owners.items():
        if owned.api_version not in known_versions:
            continue
        in_version = _in_version(owner, SCALE_VERSION)
        if not includes(owned.fields, REPLICAS):
            kept[owner] = owned
        elif in_version in left:
            kept[owner] = owned
            del left[in_version]
        elif fields := difference(owned.fields, REPLICAS):
            kept[owner] = owned._replace(fields=fields)
    for owner in left:
        kept[_in_version(owner, api_version)] = Owned(REPLICAS, api_version)
    return kept


def _in_version(owner: Owner, api_version: str) -> Owner:
    return owner._replace(api_version=api_version) if owner.operation == UPDATE else owner

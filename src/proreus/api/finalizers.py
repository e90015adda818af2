"""Finalizers that say what becomes of an object's dependents when it is deleted."""

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"

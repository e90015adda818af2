"""The type variables of all that hands out objects of one kind: ``ResourceClient[Pod]``.

``Object`` is that of what only hands them out, ``AnyObject`` that of functions and of what takes
some in, too. ``Value`` and ``AnyValue`` are the same where a value of a user's class may stand for
an object.

Without a parameter the objects are of any kind, read dynamically: ``Lister`` is
``Lister[KubeObject]``. Only type checkers know this default; Python 3.11 does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    from proreus.api.object import KubeObject

    Object = TypeVar("Object", bound=KubeObject, default=KubeObject, covariant=True)
    AnyObject = TypeVar("AnyObject", bound=KubeObject, default=KubeObject)
    Value = TypeVar("Value", default=KubeObject, covariant=True)
    AnyValue = TypeVar("AnyValue", default=KubeObject)
else:
    from typing import TypeVar

    Object = TypeVar("Object", covariant=True)
    AnyObject = TypeVar("AnyObject")
    Value = TypeVar("Value", covariant=True)
    AnyValue = TypeVar("AnyValue")

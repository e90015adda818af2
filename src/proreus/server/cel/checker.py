"""The CEL library: parses expressions and checks their types.

It checks and does not run: its evaluator can neither be stopped nor asked what it spent, and
copies every value in. Object types reach its checker as protobuf messages, one per object of the
schema; where protobuf has no such type (a list of lists inside of an object) it is ``dyn``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from proreus.server.cel.initializers import Spelling
from proreus.server.cel.literals import misfits, type_name
from proreus.server.cel.message_types import WORD, MessageTypes
from proreus.server.cel.shapes import ValueShape
from proreus.server.cel.signatures import Signature, signatures
from proreus.server.cel.syntax import (
    Call,
    Identifier,
    MakeMap,
    Node,
    TooDeep,
    Tree,
    read,
    read_parsed,
    walk,
)
from proreus.server.cel.wording import LOGICAL, located, reworded, worded

_CONFIGURATION = """
name: kubernetes
extensions:
- name: optional
- name: strings
  version: 2
- name: sets
- name: two-var-comprehensions
- name: lists
  version: 2
"""
# These macros write what they are called on twice, and so on for every one behind another.
_DOUBLING = re.compile(r"\.\s*opt(?:Flat)?Map\s*\(")
_DOUBLINGS_MAX = 6
OLD, _OPTIONAL_OLD = "oldSelf", "__oldSelf__"
_OPTIONAL_CALL = f"optional.of({_OPTIONAL_OLD})"
_PLACE = re.compile(r"^ERROR: <input>:(\d+):(\d+): (.*)\n \| .*\n \| \.*\^", re.MULTILINE)
_OLD_SELF = re.compile(r"(?<![\w.])oldSelf\b")


class CheckError(Exception):
    """An expression that is not well formed, in the checker's words."""


def is_available() -> bool:
    return find_spec("cel_expr_python") is not None and find_spec("google.protobuf") is not None


class Checker:
    """Checks expressions about variables of known shapes; None is any.

    A ``Program`` takes the values of ``variables`` in their order.
    """

    __slots__ = ("_environment", "_spelling", "objects", "variables")

    def __init__(
        self,
        variables: Mapping[str, ValueShape | None],
        texts: Iterable[str] | None = None,
        *,
        making: str | None = None,
    ) -> None:
        """``texts``: what will be checked, if it is known: then only fields that are mentioned
        are declared. ``making``: the one text that will be checked, which may make objects.
        """
        from cel_expr_python import cel

        words = None if texts is None else (word for text in texts for word in WORD.findall(text))
        types = MessageTypes(None if words is None else frozenset(words))
        declared = {
            name: cel.Type("dyn" if shape is None else types.spelled(shape))
            for name, shape in variables.items()
        }
        if OLD in declared:
            declared[_OPTIONAL_OLD] = declared[OLD]
        self._spelling = Spelling.of(making) if making is not None else None
        if self._spelling is not None:
            types.declare_made(self._spelling)
        self.variables = variables
        self.objects = types.objects
        self._environment = cel.NewEnv(
            descriptor_pool=types.pool(),
            config=_configuration(),
            variables=declared,
            extensions=[_extension(), *([_patch_extension()] if making is not None else [])],
        )

    @classmethod
    def of_rules(cls, shape: ValueShape | None, texts: Iterable[str] | None = None) -> Checker:
        """For the rules of a schema, about a value and what it was."""
        return cls({"self": shape, OLD: shape}, texts)

    def check(self, text: str, *, optional_old: bool = False) -> Node:
        """Raises CheckError. With ``optional_old`` the old value is an optional."""
        if not optional_old:
            return self._checked(text)
        # A variable cannot be declared optional; a call can be, and is taken out again below.
        try:
            return self._checked(_OLD_SELF.sub(_OPTIONAL_CALL, text))
        except CheckError as error:
            raise CheckError(_in_terms_of(text, str(error))) from error

    def _checked(self, text: str) -> Node:
        if len(_DOUBLING.findall(text)) > _DOUBLINGS_MAX:
            raise CheckError("expression is nested too deep")
        made = self._spelling
        assert made is None or self._spelling == Spelling.of(text), "made for another text"
        try:
            compiled = self._environment.compile(text if made is None else made.text)
            tree = read(compiled.serialize(), made.types if made is not None else {})
            _refuse_odd(tree, text, makes_objects=made is not None)
        except TooDeep as error:
            raise CheckError("expression is nested too deep") from error
        except RuntimeError as error:
            source = text if made is None else made.text
            said = reworded(str(error), source, self._type_of, self._operand_offsets)
            raise CheckError(said if made is None else made.restored(said)) from error
        return tree.node

    def _operand_offsets(self, text: str, at: int) -> list[int]:
        """Where the operands of ``&&`` or ``||`` stand, which itself stands ``at`` some place."""
        tree = read_parsed(self._environment.compile(text, disable_check=True).serialize())
        for node in walk(tree.node):
            if isinstance(node, Call) and node.function in LOGICAL and tree.offset(node) == at:
                return [tree.offset(operand) for operand in node.operands]
        return []

    def _type_of(self, part: str) -> str:
        """How messages call the type of a part of an expression; raises ValueError."""
        try:
            tree = read(self._environment.compile(part).serialize())
        except (RuntimeError, TooDeep) as error:
            raise ValueError(part) from error
        return type_name(tree.node.type, worded)


def uses_old_self(node: Node) -> bool:
    names = {part.name for part in walk(node) if isinstance(part, Identifier)}
    return not names.isdisjoint((OLD, _OPTIONAL_OLD))


def is_optional_old(node: Call) -> bool:
    """Whether a call stands for the old value, which may be absent."""
    return (
        node.function == "optional.of"
        and len(node.arguments) == 1
        and isinstance(node.arguments[0], Identifier)
        and node.arguments[0].name == _OPTIONAL_OLD
    )


def _refuse_odd(tree: Tree, text: str, *, makes_objects: bool) -> None:
    """What Kubernetes' checker is stricter about."""
    for node in walk(tree.node):
        if isinstance(node, MakeMap) and node.message and not makes_objects:
            raise CheckError(f"undeclared reference to '{node.message}' (in container '')")
    found = [(tree.offset(node), why) for node, why in misfits(tree.node, worded)]
    if found:
        raise CheckError("\n".join(located(text, *one) for one in sorted(found)))


def _in_terms_of(text: str, message: str) -> str:
    """A message about an expression with calls for ``oldSelf``, as one about the expression."""
    lines = text.split("\n")

    def restored(place: re.Match[str]) -> str:
        line = lines[int(place[1]) - 1]
        above = sum(len(one) + 1 for one in lines[: int(place[1]) - 1])
        return located(text, above + _column_before(line, int(place[2]) - 1), place[3])

    return _PLACE.sub(restored, message)


def _column_before(line: str, column: int) -> int:
    """Where in a line something stands that stands at ``column`` once calls are written."""
    longer = 0
    for name in _OLD_SELF.finditer(line):
        start = name.start() + longer
        if column < start:
            break
        if column < start + len(_OPTIONAL_CALL):
            return name.start()
        longer += len(_OPTIONAL_CALL) - len(name[0])
    return column - longer


@lru_cache(maxsize=1)
def _configuration() -> Any:
    from cel_expr_python import cel

    return cel.NewEnvConfigFromYaml(_CONFIGURATION)


@lru_cache(maxsize=1)
def _extension() -> Any:
    from cel_expr_python import cel

    by_name: dict[str, list[Any]] = {}
    for number, one in enumerate(signatures()):
        by_name.setdefault(one.function, []).append(_overload(cel, number, one))
    return cel.CelExtension("kubernetes", [cel.FunctionDecl(*both) for both in by_name.items()])


@lru_cache(maxsize=1)
def _patch_extension() -> Any:
    """What only mutations can call."""
    from cel_expr_python import cel

    made = Signature("jsonpatch.escapeKey", "string", ("string",))
    overloads = [_overload(cel, len(signatures()), made)]
    return cel.CelExtension("jsonpatch", [cel.FunctionDecl(made.function, overloads)])


def _overload(cel: Any, number: int, one: Signature) -> Any:
    spelled = "_".join(one.parameters) or "none"
    return cel.Overload(
        id=f"k{number}_{one.function}_{spelled}",
        return_type=_library_type(cel, one.result),
        parameters=[_library_type(cel, kind) for kind in one.parameters],
        is_member=one.is_member,
    )


def _library_type(cel: Any, spelled: str) -> Any:
    if spelled.startswith("optional_type<"):
        inner = spelled.removeprefix("optional_type<").removesuffix(">")
        return cel.Type.AbstractType("optional_type", [_library_type(cel, inner)])
    return cel.Type(spelled)

"""What the library says of an expression that is not well formed, as cel-go says it.

Kubernetes' users know cel-go's messages. It tells errors in the order of their places, leaves out
those that follow from another one, and writes the overload that was looked for as it was called:
``string.(int)`` for ``"a".startsWith(1)``.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from proreus.lazy_dataclass import dataclass
from proreus.server.cel.functions.table import FUNCTIONS
from proreus.server.cel.message_types import PACKAGE

LOGICAL = frozenset({"_&&_", "_||_"})
_CODE = re.compile(r"^[A-Z_]+: (?=ERROR)|\s*\[INVALID_ARGUMENT\]$")
_WORDS = (
    (re.compile(r"expression of type '(.*)' cannot be the operand of a select operation"),
     r"type '\1' does not support field selection"),
    (re.compile(r"(?<!reference to ')\bnull_type\b"), "null"),
    (re.compile(r"\bT%\d+\b"), "dyn"),
    (re.compile(r"'\\u003F'"), "'?'"),
    (re.compile(r"undefined field '[^']*' not found in struct '(net\.\w+)'"),
     r"type '\1' does not support field selection"),
    (re.compile(r"undefined field '[^']*' not found in struct '(kubernetes\.\w+)'"),
     r"unexpected failed resolution of '\1'"),
    (re.compile(r"undefined field '([^']*)' not found in struct '[^']*'"), r"undefined field '\1'"),
    (re.compile(r"\bgoogle\.protobuf\.Timestamp\b"), "timestamp"),
    (re.compile(r"\bgoogle\.protobuf\.Duration\b"), "duration"),
    (re.compile(r"cannot be the range of a comprehension"), "cannot be range of a comprehension"),
    (re.compile(rf"\b{re.escape(PACKAGE)}\.Object\d+"), "object"),
    (re.compile(rf"\b{re.escape(PACKAGE)}\.(\w+?)__(\w+)"), r"\1.\2"),
    (re.compile(r"(?<=: )has\(\) argument must be a field selection"),
     "invalid argument to has() macro"),
    (re.compile(r"(?<=: )(?:map|filter)\(\) variable name must be a simple identifier"),
     "argument is not an identifier"),
    (re.compile(r"(?<=: )(?:all|exists|exists_one|existsOne|transform\w+)\(\) [\w ]*name must be "
                r"a simple identifier"), "argument must be a simple name"),
    (re.compile(r"(?<=: )\w+\(\) [\w ]*name cannot be __result__"),
     "iteration variable overwrites accumulator variable"),
)  # fmt: skip
# cel-go looks at what stands before the first dot, and says so there.
_QUALIFIED = re.compile(
    r"^(ERROR: <input>:\d+:)(\d+)(: undeclared reference to ')(\w+)(\.[\w.]+)('[^\n]*\n \| )"
    r"([^\n]*)(\n \| )\.*\^",
    re.MULTILINE,
)
_FINDING = re.compile(r"^(?=(?:ERROR|WARNING): <input>:)", re.MULTILINE)
_PLACE = re.compile(r"ERROR: <input>:(\d+):(\d+): ")
_OVERLOAD = re.compile(r"found no matching overload for '([\w.]+)' applied to '\((.*)\)'\n")
_LOGICAL_CALL = re.compile(
    r"found no matching overload for '_(?:&&|\|\|)_' applied to '\((.*)\)'\n"
)
_LOGICAL_KINDS = frozenset({"bool", "dyn", "*error*"})
_UNDECLARED = re.compile(r"undeclared reference to '(\w+)' \(in container ''\)")
_TOKEN = re.compile(
    r"""(?:[rRbB]{0,2})(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    r"|[A-Za-z_]\w*|[0-9][\w.]*|\S",
    re.DOTALL,
)
_OPENING = {")": "(", "]": "[", "}": "{"}


def worded(text: str) -> str:
    """Words alone: for a message, or for a name of a type in one."""
    text = _QUALIFIED.sub(_first_part, _CODE.sub("", text))
    for pattern, replacement in _WORDS:
        text = pattern.sub(replacement, text)
    return text


def reworded(
    message: str,
    expression: str,
    type_of: Callable[[str], str],
    operand_offsets: Callable[[str, int], list[int]],
) -> str:
    """All that the library found. ``type_of`` a part of the expression; raises ValueError.

    ``operand_offsets``: of the logical operator that stands at some place in an expression.
    """
    first, *found = _FINDING.split(worded(message))
    placed = []
    for one in found:
        at = _PLACE.match(one)
        if at is None:  # a warning
            continue
        offset = _offset(expression, int(at[1]), int(at[2]))
        if (kinds := _LOGICAL_CALL.search(one)) is not None:
            places = operand_offsets(expression, offset)
            placed += _not_logical(expression, places, _parts(kinds[1]))
            continue
        if "*error*" in one:  # it follows from another error
            continue
        placed.append(
            (int(at[1]), int(at[2]), _called(one.rstrip("\n"), expression, offset, type_of))
        )
    if not placed:
        return worded(message)
    return first + "\n".join(one for *_, one in sorted(placed, key=lambda one: one[:2]))


def _offset(expression: str, line: int, column: int) -> int:
    return sum(len(above) + 1 for above in expression.split("\n")[: line - 1]) + column - 1


def _called(finding: str, expression: str, at: int, type_of: Callable[[str], str]) -> str:
    """With the overload as it was called; a function that exists with others is no unknown one."""
    if named := _OVERLOAD.search(finding):
        name, kinds = named.groups()
        if not _call_of(name, expression, at).target:
            return finding
        target, *rest = _parts(kinds)
        return finding.replace(f"'({kinds})'\n", f"'{target}.({', '.join(rest)})'\n")
    unknown = _UNDECLARED.search(finding)
    if unknown is None or unknown[1] not in FUNCTIONS or expression[at : at + 1] != "(":
        return finding
    call = _call_of(unknown[1], expression, at)
    try:
        target = f"{type_of(call.target)}." if call.target else ""
        kinds = ", ".join(map(type_of, call.arguments))
    except ValueError:
        return finding
    wanted = f"found no matching overload for '{unknown[1]}' applied to '{target}({kinds})'"
    return finding.replace(unknown[0], wanted)


def _not_logical(
    expression: str, places: list[int], kinds: list[str]
) -> list[tuple[int, int, str]]:
    found = []
    for place, kind in zip(places, kinds, strict=True):
        if kind not in _LOGICAL_KINDS:
            why = f"expected type 'bool' but found '{kind}'"
            line = expression.count("\n", 0, place) + 1
            column = place - expression.rfind("\n", 0, place)
            found.append((line, column, located(expression, place, why)))
    return found


def located(text: str, offset: int, why: str) -> str:
    """As the checker says where in a text something is wrong."""
    start = text.rfind("\n", 0, offset) + 1
    line, column = text.count("\n", 0, offset) + 1, offset - start
    line_text = text[start:].partition("\n")[0]
    return f"ERROR: <input>:{line}:{column + 1}: {why}\n | {line_text}\n | {'.' * column}^"


def _parts(kinds: str) -> list[str]:
    """The types of a signature: ``int, map(string, int)`` are two."""
    found, depth = [""], 0
    for sign in kinds:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            found.append("")
        else:
            found[-1] += sign
    return [one.strip() for one in found]


@dataclass(frozen=True, slots=True)
class _Written:
    """A call as it stands in the text; ``target`` is empty for a function of none."""

    target: str
    arguments: tuple[str, ...]


def _call_of(name: str, expression: str, opening: int) -> _Written:
    tokens = [(one.start(), one[0]) for one in _TOKEN.finditer(expression)]
    at = next((number for number, (start, _) in enumerate(tokens) if start == opening), 0)
    if at < 1 or tokens[at][1] != "(" or tokens[at - 1][1] != name:
        return _Written("", ())
    target = ""
    if at > 2 and tokens[at - 2][1] == ".":
        start = tokens[_start_of_operand([text for _, text in tokens], at - 3)][0]
        target = expression[start : tokens[at - 2][0]].strip()
    return _Written(target, tuple(_arguments(expression, tokens, at)))


def _start_of_operand(tokens: list[str], at: int) -> int:
    """Where what ends at a token begins: ``a.b[0].c(d)``."""
    while at > 0:
        depth = 0
        while at > 0 and (tokens[at] in _OPENING or depth):
            depth += (tokens[at] in _OPENING) - (tokens[at] in _OPENING.values())
            if depth == 0:
                break
            at -= 1
        is_called = tokens[at] in "([" and at > 0 and re.match(r"[\w)\]]", tokens[at - 1])
        if is_called:
            at -= 1
        elif at > 1 and tokens[at - 1] == ".":
            at -= 2
        else:
            break
    return at


def _arguments(expression: str, tokens: list[tuple[int, str]], at: int) -> list[str]:
    depth, start, found = 0, tokens[at][0] + 1, []
    for place, token in tokens[at:]:
        depth += (token in _OPENING.values()) - (token in _OPENING)
        if depth == 0 or (depth == 1 and token == ","):
            found.append(expression[start:place].strip())
            start = place + 1
        if depth == 0:
            break
    return [one for one in found if one]


def _first_part(found: re.Match[str]) -> str:
    head, column, reference, name, rest, tail, line, last = found.groups()
    spelled = re.compile(
        r"\s*\.\s*".join(re.escape(part) for part in f"{name}{rest}".split(".")[:-1])
    )
    places = [one.start() for one in spelled.finditer(line, 0, int(column) - 1)]
    at = places[-1] if places else int(column) - 1
    return f"{head}{at + 1}{reference}{name}{tail}{line}{last}{'.' * at}^"

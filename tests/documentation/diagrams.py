"""Mermaid as the pages use it: flowcharts, sequences and state machines, line by line.

A subset on purpose, so that a mistake is found without a browser; ``test_site.py`` has mermaid
itself draw every diagram where it can be had.
"""

from __future__ import annotations

import re

NODE = r"\w+(?:\[\"[^\"]+\"\]|\[\(\"[^\"]+\"\)\]|\(\[\"[^\"]+\"\]\)|\{\"[^\"]+\"\})?"
ARROW = r"(?:-->|-\.->|==>|---|~~~)(?:\|\"[^\"]+\"\|)?"
SHAPES = {
    "flowchart": [
        rf"{NODE}(?: {ARROW} {NODE}(?: & {NODE})*)*",
        r"subgraph \w+(?:\[\"[^\"]+\"\])?",
        r"direction (?:LR|TB)",
        r"end",
    ],
    "sequenceDiagram": [
        r"participant \w+(?: as [^;]+)?",
        r"\w+ *(?:->>|-->>|-\)|--\)|-x|--x) *\w+: [^;#]+",
        r"Note (?:over|right of|left of) \w+(?:, ?\w+)?: [^;#]+",
        r"(?:loop|opt|alt|else|rect|par|and)\b[^;#]*",
        r"end",
    ],
    "stateDiagram-v2": [
        r"direction (?:LR|TB)",
        r"(?:\w+|\[\*\]) --> (?:\w+|\[\*\])(?:: [^;#]+)?",
        r"state \"[^\"]+\" as \w+",
        r"\w+: [^;#]+",
    ],
}
OPENS = {"subgraph", "loop", "opt", "alt", "rect", "par"}


def mistakes_in(diagram: str) -> list[str]:
    """Lines that are none of the known shapes, and blocks that do not end."""
    lines = [line.strip() for line in diagram.splitlines()]
    head = lines[0].split()[0]
    if head not in SHAPES or (head == "flowchart" and lines[0].split()[1:] not in (["LR"], ["TB"])):
        return [f"{lines[0]!r} is none of {sorted(SHAPES)}"]
    wrong = [
        line
        for line in lines[1:]
        if line
        and not line.startswith("%%")
        and not any(re.fullmatch(shape, line) for shape in SHAPES[head])
    ]
    opened = sum(line.split(" ")[0] in OPENS for line in lines) - lines.count("end")
    return [*wrong, *(["a block does not end"] if opened else [])]

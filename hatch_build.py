"""Build hook: condenses Kubernetes' published type definitions into one file beside the package.

The definitions come from the build requirement ``kubernetes-validate`` (Apache-2.0), which
repackages Kubernetes' OpenAPI documents (Apache-2.0). They say nothing of enumerations and
defaults, which a kube-apiserver publishes too; ``enums_and_defaults.json`` adds those. Nothing else
of the definitions is kept in the repository; the built file carries the notice that its licence
asks for. ``hatch_kinds`` makes types for the client of the same definitions. Editable installs and
wheels run the same code, so both find the files at the same place.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RELEASE = "v1.37.0-local"
OUTPUT = "src/proreus/server/schema/definitions.json.gz"
ADDITIONS = "src/proreus/server/schema/enums_and_defaults.json"
TYPES = (
    "src/proreus/api/kinds/fields.json",
    "src/proreus/api/kinds/*_v*.py",
    "src/proreus/api/kinds/*_v*.pyi",
    "src/proreus/client/resources/builtin_groups.pyi",
    "src/proreus/blocking/builtin_groups.pyi",
)
NOTICE = (
    "Derived from the OpenAPI documents of Kubernetes 1.37, Copyright The Kubernetes Authors, "
    "licensed under the Apache License, Version 2.0. Changed: collected into one document, "
    "references and nullable types rewritten."
)
# Two definitions lose their shape in the repackaged form; these are the published ones' facts.
REPAIRED = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "oneOf": [{"type": "string"}, {"type": "number"}],
    },
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}


class DefinitionsHook(BuildHookInterface[Any]):
    """Writes ``definitions.json.gz``: every definition as its own JSON text, plus the kinds; and
    the files of ``hatch_kinds``."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        output = Path(self.root) / OUTPUT
        try:
            published = _published()
        except ModuleNotFoundError:
            # Building from an unpacked source distribution that already has the file.
            if not output.exists():
                raise
        else:
            additions = json.loads((Path(self.root) / ADDITIONS).read_text())
            definitions = _definitions(published, additions)
            kinds = _kinds(definitions)
            document = _document(definitions, kinds)
            _write_if_changed(output, gzip.compress(document, 9, mtime=0))
            files = runpy.run_path(str(Path(self.root) / "hatch_kinds.py"))["files"]
            for path, text in files(definitions, kinds, Path(self.root)):
                _write_if_changed(Path(self.root) / path, text.encode())
        build_data["artifacts"] += [f"/{path}" for path in (OUTPUT, *TYPES)]


def _published() -> dict[str, Any]:
    found = importlib.util.find_spec("kubernetes_validate")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("building proreus needs kubernetes-validate==1.37.*")
    folder = Path(found.origin).parent / "kubernetes-json-schema" / RELEASE
    definitions: dict[str, Any] = json.loads((folder / "_definitions.json").read_text())["$defs"]
    return definitions


def _definitions(published: dict[str, Any], additions: dict[str, Any]) -> dict[str, Any]:
    definitions: dict[str, Any] = {
        name: REPAIRED.get(name) or _openapi(definition) for name, definition in published.items()
    }
    for name, fields in additions.items():
        for field, keywords in fields.items():
            _add(definitions[name]["properties"][field], keywords)
    return definitions


def _kinds(definitions: dict[str, Any]) -> dict[str, str]:
    return {
        f"{gvk['group']}/{gvk['version']}/{gvk['kind']}": name
        for name, definition in definitions.items()
        for gvk in definition.get("x-kubernetes-group-version-kind", ())
    }


def _document(definitions: dict[str, Any], kinds: dict[str, str]) -> bytes:
    texts = {name: _json(definition) for name, definition in sorted(definitions.items())}
    return _json({"notice": NOTICE, "kinds": kinds, "definitions": texts}).encode()


def _openapi(schema: Any) -> Any:
    """One schema as the published OpenAPI v3 documents have it."""
    if isinstance(schema, list):
        return [_openapi(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "properties":
            result[key] = {name: _openapi(field) for name, field in value.items()}
        elif key == "type" and isinstance(value, list):
            result[key] = next(kind for kind in value if kind != "null")
        elif key == "$ref":
            result[key] = value.replace("#/$defs/", "#/components/schemas/")
        elif (key == "additionalProperties" and value is False) or key == "enum":
            continue
        else:
            result[key] = _openapi(value)
    if "$ref" in result and len(result) > 1:
        # Beside a reference OpenAPI ignores everything else.
        result = {"allOf": [{"$ref": result.pop("$ref")}], **result}
    return result


def _add(schema: dict[str, Any], keywords: dict[str, Any]) -> None:
    """``enum[]`` is about the elements of a list."""
    for keyword, value in keywords.items():
        if keyword == "enum[]":
            schema["items"]["enum"] = value
        else:
            schema[keyword] = value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _write_if_changed(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

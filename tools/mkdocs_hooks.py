"""What ``make docs`` does beyond mkdocs: source files as pages of the site, and diagrams.

Pages link to files of the repository by relative paths, which work where the repository is browsed.
In the site such a file becomes a page of its own, so that these links work there too; a link to a
file that is not there is a warning, and so an error. Diagrams are rendered by mermaid from
``build/mermaid``, where ``make docs`` puts it; without it they are shown as their text, since
nothing is fetched when a page is read.
"""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pymdownx.superfences import fence_code_format

log = logging.getLogger("mkdocs.plugins.proreus")
ROOT = Path(__file__).parents[1]
MERMAID = ROOT / "build" / "mermaid" / "mermaid.min.js"
SCRIPT = "assets/mermaid.min.js"
LINK = re.compile(r"(?P<text>\[[^\]\n]*\])\((?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")
LANGUAGES = {".py": "python", ".yaml": "yaml", ".toml": "toml"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    is_rendered = MERMAID.exists()
    fence = {
        "name": "mermaid",
        "class": "mermaid" if is_rendered else "diagram",
        "format": fence_code_format,
    }
    config.mdx_configs["pymdownx.superfences"] = {"custom_fences": [fence]}
    if is_rendered:
        config.extra_javascript.append(SCRIPT)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    docs = Path(config.docs_dir)
    pending = [docs / file.src_uri for file in files.documentation_pages()]
    seen: set[Path] = set()
    while pending:
        for target in _outside_links(pending.pop(), docs):
            if target not in seen and target.exists():
                seen.add(target)
                files.append(_page_of(target, docs, config))
                if target.suffix == ".md":
                    pending.append(target)
    _place_the_rest(files, config)
    if MERMAID.exists():
        files.append(File.generated(config, SCRIPT, content=MERMAID.read_bytes()))
    return files


def _place_the_rest(files: Files, config: MkDocsConfig) -> None:
    """Pages that the navigation does not name come last, so that every page can be found."""
    named = set(re.findall(r"[\w/-]+\.md", str(config.nav)))
    rest = [one.src_uri for one in files.documentation_pages() if one.generated_by is None]
    if unplaced := sorted(set(rest) - named):
        config.nav = [*(config.nav or []), {"More": unplaced}]


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    docs = Path(config.docs_dir)
    if page.file.generated_by is not None:  # its links were rewritten when it was made
        return markdown
    return _rewritten(markdown, docs / page.file.src_uri, page.file.src_uri, docs)


def _page_of(path: Path, docs: Path, config: MkDocsConfig) -> File:
    uri, content = _uri_of(path), path.read_text() if path.is_file() else ""
    if path.is_dir():
        names = sorted(one.name for one in path.iterdir() if one.suffix in {".py", ".md"})
        body = f"# {path.relative_to(ROOT)}\n\n" + "\n".join(f"- `{name}`" for name in names)
    elif path.suffix == ".md":
        body = _rewritten(content, path, uri, docs)
    else:
        language = LANGUAGES.get(path.suffix, "text")
        body = f"# {path.relative_to(ROOT)}\n\n````` {language}\n{content}\n`````\n"
    page = File.generated(config, uri, content=body)
    page.inclusion = page.inclusion.NOT_IN_NAV
    return page


def _uri_of(path: Path) -> str:
    relative = path.relative_to(ROOT).as_posix()
    return f"source/{relative}" if path.suffix == ".md" else f"source/{relative}.md"


def _outside_links(page: Path, docs: Path) -> list[Path]:
    found = (
        _resolved(page, one["target"]) for one in LINK.finditer(page.read_text(encoding="utf-8"))
    )
    return [one for one in found if one.is_relative_to(ROOT) and not one.is_relative_to(docs)]


def _resolved(page: Path, target: str) -> Path:
    return Path(os.path.normpath(page.parent / target))


def _rewritten(markdown: str, source: Path, uri: str, docs: Path) -> str:
    """Links of a page as the site has them; ``source`` is where its text stands."""

    def rewrite(link: re.Match[str]) -> str:
        path = _resolved(source, link["target"])
        if not path.is_relative_to(ROOT):
            return link[0]
        if not path.exists():
            log.warning("%s links to %s, which is not there", uri, link["target"])
            return link[0]
        to = path.relative_to(docs).as_posix() if path.is_relative_to(docs) else _uri_of(path)
        target = os.path.relpath(to, PurePosixPath(uri).parent)
        return f"{link['text']}({target}{link['anchor'] or ''})"

    return LINK.sub(rewrite, markdown)

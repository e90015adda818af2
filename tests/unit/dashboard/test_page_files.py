"""The page's files: only those that are there, with what browsers need to know of them."""

from __future__ import annotations

from pathlib import Path

from proreus.dashboard.page_files import PageFiles


def _page(folder: Path) -> PageFiles:
    (folder / "assets" / "views").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html>")
    (folder / "assets" / "views" / "main.js").write_text("export {}")
    (folder / "assets" / "notes.xyz").write_text("no kind that we know")
    return PageFiles(folder)


def test_files_are_served_with_their_content_types(tmp_path: Path) -> None:
    page = _page(tmp_path)

    index, module = page.find(""), page.find("assets/views/main.js")

    assert index is not None
    assert module is not None
    assert ("Content-Type", "text/html; charset=utf-8") in index.answer("").headers
    assert ("Content-Type", "text/javascript; charset=utf-8") in module.answer("").headers
    assert module.answer("").body == b"export {}"


def test_nothing_outside_is_served(tmp_path: Path) -> None:
    outside = tmp_path / "secret.html"
    outside.write_text("secret")
    page = _page(tmp_path / "page")

    for name in ("../secret.html", str(outside), "assets/../../secret.html", "assets/notes.xyz"):
        assert page.find(name) is None


def test_a_file_that_the_browser_has_is_not_sent_again(tmp_path: Path) -> None:
    index = _page(tmp_path).find("index.html")
    assert index is not None

    assert index.answer(index.etag).status == 304
    assert index.answer(f'"other", {index.etag}').status == 304
    assert index.answer('"other"').status == 200
    assert index.answer(index.etag).body == b""


def test_the_package_has_a_page() -> None:
    assert PageFiles().find("") is not None

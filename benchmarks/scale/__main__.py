"""``python -m benchmarks.scale --measure``, ``--model``: see the package."""

from __future__ import annotations

import argparse

from benchmarks.scale import measured, page


def main() -> None:
    parser = argparse.ArgumentParser("python -m benchmarks.scale")
    parser.add_argument("--measure", action="store_true", help="measure slopes and runs (10 min)")
    parser.add_argument("--model", action="store_true", help="make the tables and pictures anew")
    given = parser.parse_args()
    if given.measure:
        measured.keep(measured.measure())
    if given.model:
        kept = measured.kept()
        page.PAGE.write_text(page.updated(page.PAGE.read_text(), kept))
        for name, picture in page.pictures(kept).items():
            (page.IMAGES / name).write_text(picture)
    if not (given.measure or given.model):
        parser.print_help()


if __name__ == "__main__":
    main()

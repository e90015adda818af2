"""A certificate with its private key, in memory or in two files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from proreus.lazy_dataclass import dataclass
from proreus.net.private_files import read_private, write_all_private

LASTING_S = 3 * 365 * 86400.0  # of certificates that are renewed when their program starts


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A certificate and its private key, both PEM."""

    certificate: bytes
    key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class PairFiles:
    certificate: Path
    key: Path

    def read(self) -> KeyPair:
        """Raises NotPrivate."""
        return KeyPair(read_private(self.certificate), read_private(self.key))

    def write(self, pair: KeyPair) -> None:
        write_pairs({self: pair})


def write_pairs(pairs: Mapping[PairFiles, KeyPair]) -> None:
    """Keys before their certificates: one without the other is made anew."""
    write_all_private(
        {
            path: content
            for files, pair in pairs.items()
            for path, content in ((files.key, pair.key), (files.certificate, pair.certificate))
        }
    )


class UnusableFiles(Exception):
    """A certificate or key in the folder that is none, or of another pair."""

    def __init__(self, files: PairFiles) -> None:
        super().__init__(
            f"{files.certificate} and {files.key.name} are not a certificate and its key; "
            "remove both to have new ones made"
        )

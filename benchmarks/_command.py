"""The command line of ``python -m benchmarks``, and what there is to run."""

from __future__ import annotations

import argparse
import pkgutil
from dataclasses import dataclass, field, fields
from pathlib import Path

import benchmarks
from benchmarks._peers import Peers

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "build" / "bench"
# Modules of this package that ask nothing; those that begin with an underscore do not either.
_NOT_BENCHMARKS = {"report", "well_known"}
# Those that take minutes: run by their names only.
_LONG = {"million"}
_LAST = "the last ones"


@dataclass(frozen=True, slots=True)
class Command:
    names: tuple[str, ...]
    results: Path
    repeat: int = 1
    is_strict: bool = False
    is_compared: bool = False
    compared_with: Path | None = None  # None: each benchmark's last run
    taken_from: Path | None = None
    peers: Peers = field(default_factory=Peers)


def benchmark_names() -> list[str]:
    """Every module of the package that has a question: ``run()`` answers it."""
    names = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(n for n in names if n not in _NOT_BENCHMARKS and not n.startswith("_"))


def parsed(arguments: list[str]) -> Command:
    parser = argparse.ArgumentParser("python -m benchmarks", description=__doc__)
    known = benchmark_names()
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: all but million")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    parser.add_argument(
        "--repeat", type=int, default=1, help="run each so often; the middle counts"
    )
    parser.add_argument("--strict", action="store_true", help="end with 1 if a target is missed")
    parser.add_argument(
        "--compare", nargs="?", const=_LAST, metavar="FILE", help="with FILE, or with the last run"
    )
    parser.add_argument("--from", dest="taken_from", type=Path, metavar="FILE",
                        help="run nothing: print, compare and draw what is kept here")  # fmt: skip
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder of results")
    add_peers(parser)
    given = parser.parse_args(arguments)
    if unknown := set(given.names) - set(known):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    if given.repeat < 1:
        parser.error("--repeat is at least 1")
    if given.list:
        print("\n".join(known))
        parser.exit()
    return Command(
        names=tuple(given.names or (name for name in known if name not in _LONG)),
        results=given.results,
        repeat=given.repeat,
        is_strict=given.strict,
        is_compared=given.compare is not None,
        compared_with=None if given.compare in {None, _LAST} else Path(given.compare),
        taken_from=given.taken_from,
        peers=peers_of(given),
    )


def add_peers(parser: argparse.ArgumentParser) -> None:
    kinds = {
        "--kube-apiserver": "measure this kube-apiserver too, on its own etcd",
        "--kube-controller-manager": "with --kube-apiserver and --kube-scheduler: measure this "
        "control plane too, with our kubelets",
        "--kube-scheduler": "see --kube-controller-manager",
        "--etcd": "the etcd that everything uses; measure it with a bare client too",
        "--client-go": "measure this client too: kubectl, or what takes its `get` and flags",
    }
    for flag, meaning in kinds.items():
        parser.add_argument(flag, type=_binary, metavar="PATH", help=meaning)


def peers_of(given: argparse.Namespace) -> Peers:
    return Peers(**{one.name: getattr(given, one.name) for one in fields(Peers)})


def _binary(name: str) -> Path:
    path = Path(name).absolute()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{name} is not a file")
    return path

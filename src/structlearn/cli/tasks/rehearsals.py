"""Rehearsals of the shell's tasks: commands on tiny made-up files that need the kernels of real ones."""

from __future__ import annotations

import errno
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from structlearn.core.contract import Array

_WORDS = ("the", "a", "cat", "dog", "tree", "house", "sees", "likes", "finds", "often", "never")
_HINGE: tuple[str, ...] = ("--loss", "hinge")
_SOFTMAX: tuple[str, ...] = ("--loss", "softmax")
_SPARSEMAX: tuple[str, ...] = ("--loss", "sparsemax")
_LOSSES = (_HINGE, _SOFTMAX, _SPARSEMAX)
#: where the softmax is the default
_SOFTMAX_FIRST = (_SOFTMAX, _HINGE, _SPARSEMAX)
_SEGMENTS: tuple[str, ...] = ("--model", "segments")
_LABELS = ("--target", "p,q,r")


class Rehearsal(NamedTuple):
    """A file that is trained on and predicted, with each of these flags in turn."""

    task: str
    data: str
    flags: Sequence[tuple[str, ...]] = ((),)


def _scaled_or_not(flags: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return flags for a table with and without scaling: scaled rows are float32, else float64."""
    return [*flags, *((*one, "--no-scale") for one in flags)]


#: Dense and sparse features, and the losses that each task offers; the first is what it does by default.
REHEARSALS: dict[str, tuple[Rehearsal, ...]] = {
    "classify": (
        Rehearsal("classify", "rows.csv", _scaled_or_not(_SOFTMAX_FIRST)),
        Rehearsal("classify", "people.csv", _SOFTMAX_FIRST),
        Rehearsal("classify", "rows.libsvm", _SOFTMAX_FIRST),
    ),
    "multilabel": (
        Rehearsal("multilabel", "sets.csv", _scaled_or_not([(*_LABELS, *loss) for loss in _LOSSES])),
        Rehearsal("multilabel", "sets.libsvm", _LOSSES),
        Rehearsal("multilabel", "many.libsvm", [("--max-passes", "2")]),
    ),
    "regress": (
        Rehearsal("regress", "numbers.csv", _scaled_or_not([(), ("--penalty", "l1")])),
        Rehearsal("regress", "numbers.libsvm", [(), ("--penalty", "l1")]),
    ),
    "tag": (
        Rehearsal("tag", "words.txt", _SOFTMAX_FIRST),
        Rehearsal("tag", "chains", _SOFTMAX_FIRST),
        Rehearsal("tag", "chains", [("--boundaries",)]),
    ),
    "chunk": (
        Rehearsal("chunk", "words.txt", _SOFTMAX_FIRST),
        Rehearsal("chunk", "words.txt", [(*_SEGMENTS, *loss) for loss in _SOFTMAX_FIRST]),
    ),
    "ner": (
        Rehearsal("ner", "words.txt", _SOFTMAX_FIRST),
        Rehearsal("ner", "words.txt", [(*_SEGMENTS, *loss) for loss in _SOFTMAX_FIRST]),
    ),
    "parse": (
        Rehearsal("parse", "trees.conllu", [_HINGE]),
        Rehearsal("parse", "trees.conllu", (_SOFTMAX, _SPARSEMAX)),
    ),
    "match": (Rehearsal("match", "links.npz", (_HINGE, _SPARSEMAX)),),
    "graph": (
        Rehearsal("graph", "graphs.npz", _LOSSES),
        Rehearsal("graph", "wide.npz", [("--max-passes", "2")]),
    ),
    "grid": (Rehearsal("grid", "pictures", [("--max-passes", "2")]),),
    "decide": (
        Rehearsal("decide", "ways.npz", ((), _SPARSEMAX)),
        Rehearsal("decide", "packs.npz"),
        Rehearsal("decide", "picks.npz"),
    ),
    "align": (Rehearsal("align", "text", [(), ("--gold",)]),),
}


def rehearse(rehearsal: Rehearsal, place: str | None = None) -> None:
    """Train and predict; ChildProcessError, with what was said, where a command fails.

    Files are in a folder within `place` (one for temporary files, unless given) that does not stay.
    """
    with TemporaryDirectory(dir=place) as name:
        folder = Path(name)
        _write(rehearsal.data, folder)
        for flags in rehearsal.flags:
            for command in _commands(rehearsal, flags, folder):
                _run(command)


def _commands(rehearsal: Rehearsal, flags: tuple[str, ...], folder: Path) -> Iterator[list[str | Path]]:
    data, model = folder / rehearsal.data, folder / "model.safetensors"
    if rehearsal.task == "align":
        text = ["--src", f"{data}.en", "--tgt", f"{data}.fr"]
        gold = ["--gold", f"{data}.wa", "--gold-src", f"{data}.en", "--gold-tgt", f"{data}.fr"]
        yield ["align", "train", *text, *(gold if "--gold" in flags else []), "--out", model]
        yield ["align", "apply", model, *text, "--scores"]
        return
    yield ["train", rehearsal.task, data, "--out", model, *flags]
    yield ["predict", model, data]
    if {"softmax", "sparsemax"} & set(flags) and rehearsal.task != "decide":
        yield ["predict", model, data, "--marginals"]
    if "softmax" in flags and rehearsal.task in ("tag", "chunk", "ner"):
        yield ["predict", model, data, "--spans"]
        yield ["predict", model, data, "--kbest", "2"]


def _run(command: list[str | Path]) -> None:
    """Run a command as the shell would, silently."""
    from structlearn.cli import app

    said = io.StringIO()
    with redirect_stdout(io.StringIO()), redirect_stderr(said):
        code = app([str(word) for word in command], standalone_mode=False)
    if code:
        why = said.getvalue().splitlines()[-1].rstrip(".")
        raise ChildProcessError(errno.ECHILD, f"structlearn {command[0]} {command[1]} failed: {why}")


# ---- files -----------------------------------------------------------------------------------------


def _write(name: str, folder: Path) -> None:
    """Write the file (or files) of that name."""
    from structlearn.data import PackedWriter, write_libsvm

    path, rng = folder / name, np.random.default_rng(0)
    kind, _, ending = name.partition(".")
    if kind in ("rows", "sets", "numbers", "many"):
        X, Y = rng.normal(size=(30, 4)), _targets(kind, rng)
        if ending == "csv":
            _write_table(path, X, Y)
        else:
            sets = [np.flatnonzero(row).tolist() for row in Y] if Y.shape[1] > 1 else Y[:, 0]
            write_libsvm(path, X, sets, multilabel=Y.shape[1] > 1)
    elif kind == "people":
        words, labels = rng.integers(0, 12, 60).tolist(), rng.integers(0, 3, 60).tolist()
        path.write_text("\n".join(["word,label", *(f"w{a},{b}" for a, b in zip(words, labels)), ""]))
    elif kind == "chains":
        lengths = rng.integers(2, 6, 12)
        with PackedWriter(path, "chain") as writer:
            writer.append(
                [rng.normal(size=(n, 4)) for n in lengths], [rng.integers(0, 3, n) for n in lengths]
            )
    elif kind == "links":
        _write_matchings(path, rng)
    elif kind in ("graphs", "wide"):
        _write_graphs(path, rng, wide=kind == "wide")
    elif kind == "pictures":
        _write_pictures(path, rng)
    elif kind in ("ways", "packs", "picks"):
        _write_decisions(path, kind, rng)
    else:
        _write_sentences(path, rng)


def _targets(kind: str, rng: Generator) -> Array:
    if kind == "numbers":
        return rng.normal(size=(30, 1))
    if kind == "rows":
        return rng.integers(0, 3, (30, 1))
    return rng.integers(0, 2, (30, 16 if kind == "many" else 3))


def _write_table(path: Path, X: Array, Y: Array) -> None:
    names = ",".join([*"abcd", *"pqr"[: Y.shape[1]]])
    lines = (",".join(map(str, [*x, *y])) for x, y in zip(X.tolist(), Y.tolist()))
    path.write_text("\n".join([names, *lines, ""]))


def _write_matchings(path: Path, rng: Generator) -> None:
    sizes = rng.integers(2, 5, 12)
    links = [(k, i, i) for k, size in enumerate(sizes) for i in range(size)]
    shapes = np.stack([sizes, sizes + 1], axis=1)
    np.savez(path, features=rng.normal(size=(shapes.prod(axis=1).sum(), 4)), shapes=shapes, links=links)


def _write_decisions(path: Path, kind: str, rng: Generator) -> None:
    """Write paths through a grid, knapsacks, or choices of parts that have features of their own."""
    from structlearn.data import make_knapsacks, make_shortest_paths, write_decisions
    from structlearn.structures import TopK

    if kind == "ways":
        write_decisions(path, *make_shortest_paths(30, 4, rows=3, columns=3, random_state=0))
    elif kind == "packs":
        write_decisions(path, *make_knapsacks(30, 4, n_items=6, random_state=0), sense="max")
    else:
        X = rng.normal(size=(30, 5, 4))
        write_decisions(path, X, 5 + X @ rng.normal(size=4), TopK(5, 2))


def _write_graphs(path: Path, rng: Generator, *, wide: bool) -> None:
    """Write rings, or complete graphs that are too wide to be exact."""
    from structlearn.data import write_graphs

    n = 20 if wide else 4
    every = np.stack(np.triu_indices(n, 1), axis=1)
    edges = every if wide else np.stack([np.arange(n), (np.arange(n) + 1) % n], axis=1)
    X = [(rng.normal(size=(n, 3)), edges) for _ in range(4)]
    write_graphs(path, X, [rng.permutation(np.arange(n) % 3) for _ in X])


def _write_pictures(path: Path, rng: Generator) -> None:
    from structlearn.data import write_label_image

    for name in ("images", "labels"):
        (path / name).mkdir(parents=True)
        for i in range(2):
            write_label_image(path / name / f"{i}.png", rng.integers(0, 3, (20, 20)))


def _write_sentences(path: Path, rng: Generator) -> None:
    """Write words with their tags, trees, or translations."""
    sentences = [[_WORDS[k] for k in rng.integers(0, len(_WORDS), n)] for n in rng.integers(3, 8, 25)]
    if path.suffix == ".txt":
        _write_blocks(
            path, [[f"{word} {('B-N', 'I-N', 'O')[len(word) % 3]}" for word in one] for one in sentences]
        )
    elif path.suffix == ".conllu":
        row = "{}\t{}\t_\tX\tX\t_\t{}\tdep\t_\t_".format
        _write_blocks(path, [[row(i + 1, word, i) for i, word in enumerate(one)] for one in sentences])
    else:
        lines = [" ".join(one) for one in sentences]
        Path(f"{path}.en").write_text("\n".join([*lines, ""]))
        Path(f"{path}.fr").write_text("\n".join([*lines, ""]).upper())
        gold = [" ".join(f"{i}-{i}" for i in range(len(one))) for one in sentences]
        Path(f"{path}.wa").write_text("\n".join([*gold, ""]))


def _write_blocks(path: Path, blocks: Iterable[Iterable[str]]) -> None:
    path.write_text("\n\n".join("\n".join(block) for block in blocks) + "\n\n")

"""Small valid files of every format, and a small model of every kind, made once a process."""

import atexit
import io
import shutil
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import typer

from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.links import write_naacl, write_pharaoh
from structlearn.cli import app, main
from structlearn.cli.support.errors import handling_errors
from structlearn.data import (
    Factors,
    make_matchings,
    make_shortest_paths,
    read_letters,
    read_triplets,
    write_decisions,
    write_libsvm,
    write_uai,
)

N_PAIRS, N_GOLD = 40, 12


@cache
def folder():
    """The folder of the valid files and models."""
    made = Path(tempfile.mkdtemp(prefix="torture"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    _write_rows(made)
    _write_words(made)
    _write_pairs(made)
    _write_factors(made)
    with mock.patch("time.perf_counter", return_value=0.0):  # models tell how long their training took
        for command in MODELS:
            result = invoke(command.format(b=made).split())
            if result.code:
                raise RuntimeError(f"{command}: {result.stderr}") from result.error
    return made


class Result(NamedTuple):
    """What a command did; `error` is an exception that it let through."""

    code: int
    stdout: str
    stderr: str
    error: BaseException | None


@cache
def _commands():
    return typer.main.get_command(app)


#: readers that only recipes use: commands of their own
READERS = {"read_letters": read_letters, "read_triplets": read_triplets}


def invoke(arguments, *, whole=False):
    """Run `structlearn ARGUMENTS`, or a reader, in this process; `whole` is with its handling of signals."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    code, error = 0, None
    with redirect_stdout(out), redirect_stderr(err):
        try:
            if arguments[0] in READERS:
                handling_errors()(READERS[arguments[0]])(arguments[1])
            elif whole:
                with mock.patch.object(sys, "argv", ["structlearn", *arguments]):
                    main()
            else:
                _commands().main(arguments, prog_name="structlearn")
        except SystemExit as end:
            code = end.code or 0
        except typer.Exit as end:
            code = end.exit_code
        except (Exception, KeyboardInterrupt) as wrong:
            code, error = 1, wrong
    return Result(code, *map(_written, (out, err)), error)


def _written(stream):
    stream.flush()
    return stream.buffer.getvalue().decode()


# ---- valid files -----------------------------------------------------------------------------------


def _write_rows(made):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(24, 4)), 3)
    y = np.argmax(X[:, :3], axis=1)
    write_libsvm(made / "classes.libsvm", X, y)
    write_libsvm(made / "numbers.libsvm", X, np.round(X @ [1, -2, 0.5, 0], 3))
    sets = [tuple(np.flatnonzero(row > 0.2).tolist()) for row in X[:, :3]]
    write_libsvm(made / "sets.libsvm", X, sets, multilabel=True)
    names = [["red", "green", "blue"][k] for k in y]
    _write_table(made / "classes.csv", "a,b,c,d,kind", X, names)
    holes = [["", "NA", "Rome", "Oslo"][k % 4] for k in range(len(X))]
    _write_table(made / "people.csv", "a,b,c,d,city,kind", X, holes, names)
    _write_table(made / "numbers.csv", "a,b,c,d,size", X, np.round(X @ [1, 0, 2, 0], 3))
    _write_table(made / "sets.csv", "a,b,c,d,p,q,r", X, *(X[:, :3] > 0.2).astype(int).T)
    tables, links = make_matchings(8, (2, 4), (2, 4), 3, random_state=0)
    np.savez(
        made / "pairs.npz",
        features=np.concatenate([one.reshape(-1, 3) for one in tables]),
        shapes=[one.shape[:2] for one in tables],
        links=[(i, *pair) for i, table in enumerate(links) for pair in np.argwhere(table)],
    )
    write_decisions(made / "paths.npz", *make_shortest_paths(20, 3, rows=3, columns=3, random_state=0))
    items = rng.normal(size=(6, 2))
    np.savez(made / "triplets.npz", X=items, triplets=[[0, 1, 2], [1, 0, 2], [3, 4, 5], [4, 3, 5]])
    pixels = "".join(f"{k % 2}\t" for k in range(128))
    fields = [f"{k}\t{'abc'[k % 3]}\t{-1 if k % 3 == 2 else k + 2}\t1\t1\t{k % 2}" for k in range(9)]
    (made / "letter.data").write_text("".join(f"{one}\t{pixels}\n" for one in fields))


def _write_factors(made):
    """Random fields over two and over three variables, with forbidden states, and a network of costs."""
    rng = np.random.default_rng(0)
    for name, scopes in (
        ("pairs.uai", [(0,), (1,), (0, 1), (2, 1), (0, 2)]),
        ("three.uai", [(1,), (0, 1, 2), (3, 2)]),
    ):
        sizes = [2, 3, 2, 2]
        tables = [np.log(rng.integers(4, size=[sizes[v] for v in scope]) + 0.5) for scope in scopes]
        tables[-1].flat[0] = -np.inf
        write_uai(made / name, Factors(sizes, scopes, tables))
    costs = "2 0 1 3 2\n0 1 10\n1 1 4\n1 2 0 1\n0 2\n"
    (made / "costs.wcsp").write_text(f"small 3 2 2 10\n2 2 2\n{costs}")


def _write_table(path, header, X, *more):
    lines = [",".join(map(str, [*row, *rest])) for row, *rest in zip(X.tolist(), *more)]
    path.write_text("\n".join([header, *lines]) + "\n")


_PATTERNS = r"""# words and tags
u:w=%x[-1,0]/%X[0,0]
u:pre=%m[0,0,"^..?$"]
u:cap=%t[1,0,"^\u"]
*:end=%x[@-1,1]
b:tag=%x[0,1]
b
"""


def _write_words(made):
    phrases = (
        (("the", "D", "B-NP"), ("dog", "N", "I-NP")),
        (("runs", "V", "B-VP"),),
        (("in", "P", "B-PP"), ("Rome", "N", "B-NP")),
        ((",", ",", "O"),),
    )
    rng = np.random.default_rng(0)
    sentences = [[token for k in rng.integers(4, size=3) for token in phrases[k]] for _ in range(10)]
    (made / "words.txt").write_text(_columns(sentences, " ".join))
    (made / "cells.txt").write_text(_columns(sentences, lambda t: f"{len(t[0])} cap={t[0][0]} {t[1]}"))
    lines = []
    for one in sentences:
        lines += ["# text = x"]
        lines += [f"1-2\t{one[0][0]}\t_\t_\t_\t_\t_\t_\t_\t_"] if len(one) > 1 else []
        lines += [
            f"{k}\t{w}\t_\t{t}\t{t}\t_\t{k - 1}\t{'root' if k == 1 else 'dep'}\t_\t_"
            for k, (w, t, _) in enumerate(one, 1)
        ]
        lines += [f"{len(one)}.1\tx\t_\t_\t_\t_\t_\t_\t_\t_", ""]
    (made / "words.conllu").write_text("\n".join(lines) + "\n")
    (made / "x.template").write_text(_PATTERNS)


def _columns(sentences, write):
    return "\n\n".join("\n".join(map(write, one)) for one in sentences) + "\n"


def _write_pairs(made):
    corpus = load_corpus()[:N_PAIRS]
    for name, part in (("text", corpus), ("gold", corpus[:N_GOLD])):
        (made / f"{name}.en").write_text("".join(f"{' '.join(one.source)}\n" for one in part))
        (made / f"{name}.fr").write_text("".join(f"{' '.join(one.target)}\n" for one in part))
    write_naacl(made / "gold.wa", [one.links for one in corpus[:N_GOLD]])
    write_pharaoh(made / "gold.pharaoh", [one.links for one in corpus[:N_GOLD]], possible=True)
    rng = np.random.default_rng(0)
    for side in ("source", "target"):
        words = sorted({word for one in corpus for word in getattr(one, side)})
        rows = [f"{word} " + " ".join(f"{x:.3f}" for x in rng.normal(size=3)) for word in words]
        (made / f"{side}.vec").write_text("\n".join([f"{len(words)} 3", *rows]) + "\n")
    pairs = {(e, f) for one in corpus for e, f in zip(one.source, one.target)}
    (made / "words.dict").write_text("".join(f"{e}\t{f}\n" for e, f in sorted(pairs)))


#: commands that make the models, packed folders and checkpoints
MODELS = (
    "train classify {b}/classes.libsvm --out {b}/classify.st",
    "train classify {b}/classes.csv --out {b}/table.st --loss softmax",
    "train classify {b}/people.csv --out {b}/people.st",
    "train multilabel {b}/sets.libsvm --out {b}/multilabel.st",
    "train regress {b}/numbers.libsvm --out {b}/regress.st",
    "train regress {b}/numbers.csv --out {b}/size.st",
    "train tag {b}/words.txt --out {b}/tag.st --max-passes 3",
    "train tag {b}/cells.txt --out {b}/cells.st --max-passes 3",
    "train chunk {b}/words.txt --out {b}/chunk.st --max-passes 3 --hash-bits 8",
    "train ner {b}/words.txt --out {b}/ner.st --max-passes 3 --transitions word",
    "train tag {b}/words.conllu --out {b}/upos.st --max-passes 3",
    "train parse {b}/words.conllu --out {b}/parse.st --max-passes 2",
    "train match {b}/pairs.npz --out {b}/match.st --max-passes 5",
    "train decide {b}/paths.npz --out {b}/decide.st --max-passes 5",
    "align train --src {b}/text.en --tgt {b}/text.fr --out {b}/align.st",
    "train tag {b}/words.txt --out {b}/patterns.st --max-passes 3 --templates {b}/x.template",
    "export {b}/patterns.st --format wapiti --out {b}/model.wapiti",
    "train tag {b}/words.txt --out {b}/named.st --max-passes 3 --templates word",
    "export {b}/named.st --format crfsuite --out {b}/model.crfsuite",
    "data pack classify {b}/classes.libsvm --out {b}/classes",
    "data pack classify {b}/classes.csv --out {b}/table",
    "data pack multilabel {b}/sets.libsvm --out {b}/sets",
    "data pack regress {b}/numbers.libsvm --out {b}/numbers",
    "data pack tag {b}/words.txt --out {b}/chains",
    "data pack match {b}/pairs.npz --out {b}/matchings",
    "train classify {b}/classes.libsvm --out {b}/c.st --checkpoint {b}/kept-classify --max-passes 2",
    "train tag {b}/words.txt --out {b}/c.st --checkpoint {b}/kept-tag --max-passes 2",
    "train match {b}/pairs.npz --out {b}/c.st --checkpoint {b}/kept-match --max-passes 2",
    "train classify {b}/people.csv --out {b}/people.st",
    "train multilabel {b}/sets.libsvm --out {b}/c.st --checkpoint {b}/kept-multilabel --max-passes 2",
    "train classify {b}/classes.libsvm --out {b}/c.st --checkpoint {b}/kept-lbfgs --max-passes 2 "
    "--loss softmax --solver lbfgs",
    "train classify {b}/classes.libsvm --out {b}/c.st --checkpoint {b}/kept-cutting --max-passes 2 "
    "--solver cutting-plane",
)

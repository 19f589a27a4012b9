"""What the fuzzer damages, and which commands then read it."""

import shutil
from functools import partial
from typing import NamedTuple

import numpy as np

from structlearn.solvers.checkpoint import NAME as CHECKPOINT
from torture import mutations
from torture.bases import folder

QUICK = "--max-passes 1"


class Case(NamedTuple):
    """What is damaged, and the commands that then read it.

    place : callable (rng, work): writes the damaged file or folder into the folder `work`; its path
    commands : `{f}` is what was damaged, `{w}` the work folder, `{b}` that of the valid files
    """

    label: str
    name: str
    place: object
    commands: tuple


def _text(name, rng, work):
    """A text file, now and then as an archive."""
    data = (folder() / name).read_bytes()
    if rng.random() < 0.12:
        path = work / f"{name}.gz"
        path.write_bytes(mutations.archived(rng, data))
    else:
        path = work / name
        path.write_bytes(mutations.damaged(rng, data))
    return path


def _npz(name, rng, work):
    with np.load(folder() / name) as file:
        arrays = {key: file[key] for key in file.files}
    path = work / name
    path.write_bytes(mutations.npz(rng, arrays))
    return path


def _model(name, rng, work):
    path = work / name
    path.write_bytes(mutations.tensors(rng, (folder() / name).read_bytes()))
    return path


def _packed(name, rng, work):
    shutil.copytree(folder() / name, work / name)
    mutations.packed(rng, work / name)
    return work / name


def _checkpoint(name, rng, work):
    (work / name).mkdir()
    data = (folder() / name / CHECKPOINT).read_bytes()
    (work / name / CHECKPOINT).write_bytes(mutations.tensors(rng, data))
    return work / name


def _flat(task, name, model, *more):
    commands = (
        f"train {task} {{f}} --out {{w}}/out {QUICK}",
        f"predict {{b}}/{model} {{f}}",
        f"evaluate {{b}}/{model} {{f}}",
        f"data pack {task} {{f}} --out {{w}}/out",
        *more,
    )
    return Case(f"{task} {name}", name, partial(_text, name), commands)


def _aligned(name, *commands):
    return Case(f"align {name}", name, partial(_text, name), commands)


def _foreign(name, *commands):
    return Case(f"of another tool {name}", name, partial(_text, name), commands)


def _trained(name, data, *more):
    commands = ("info {f}", f"predict {{f}} {{b}}/{data}", f"evaluate {{f}} {{b}}/{data}", *more)
    return Case(f"model {name}", name, partial(_model, name), commands)


def _folder(name, task, model):
    commands = (f"train {task} {{f}} --out {{w}}/out {QUICK}", f"predict {{b}}/{model} {{f}}")
    return Case(f"packed {name}", name, partial(_packed, name), commands)


def _resumed(name, task, data, options=""):
    kept = "--checkpoint {f} --resume --max-passes 3 --out {w}/out"
    command = f"train {task} {{b}}/{data} {kept} {options}"
    return Case(f"checkpoint {name}", name, partial(_checkpoint, name), (command,))


SIDES = "--src {b}/text.en --tgt {b}/text.fr"
VECTORS = "--vectors-src {b}/source.vec --vectors-tgt {b}/target.vec"
GOLD = "--gold-src {b}/gold.en --gold-tgt {b}/gold.fr --regularization 0.1 --missed 1"
CASES = (
    _flat("classify", "classes.libsvm", "classify.st", "data split classify {f} --parts 2 --out {w}/out"),
    _flat("classify", "classes.csv", "table.st", "predict {b}/table.st {f} --marginals --out {w}/out"),
    _flat("classify", "people.csv", "people.st", "train regress {f} --target a --out {w}/out"),
    _flat("multilabel", "sets.libsvm", "multilabel.st"),
    Case(
        "multilabel sets.csv",
        "sets.csv",
        partial(_text, "sets.csv"),
        (f"train multilabel {{f}} --target p,q,r --out {{w}}/out {QUICK}",),
    ),
    _flat("regress", "numbers.libsvm", "regress.st", "train regress {f} --penalty l1 --out {w}/out"),
    _flat("regress", "numbers.csv", "size.st"),
    _flat("tag", "words.txt", "tag.st", "show {b}/tag.st {f} --out {w}/out"),
    _flat("tag", "cells.txt", "cells.st"),
    _flat("chunk", "words.txt", "chunk.st", "predict {b}/chunk.st {f} --marginals --out {w}/out"),
    _flat("ner", "words.txt", "ner.st", "evaluate {b}/ner.st {f} --count-unknown"),
    _flat("tag", "words.conllu", "upos.st", "show {b}/upos.st {f} --out {w}/out"),
    _flat("parse", "words.conllu", "parse.st", "show {b}/parse.st {f} --out {w}/out"),
    _flat("match", "pairs.npz", "match.st")._replace(place=partial(_npz, "pairs.npz")),
    _flat("match", "pairs.npz", "match.st")._replace(place=partial(_npz, "pairs.npz")),
    _flat("decide", "paths.npz", "decide.st", "show {b}/decide.st {f} --out {w}/out")._replace(
        place=partial(_npz, "paths.npz")
    ),
    Case("read triplets", "triplets.npz", partial(_npz, "triplets.npz"), ("read_triplets {f}",)),
    Case("read letters", "letter.data", partial(_text, "letter.data"), ("read_letters {f}",)),
    _aligned(
        "text.en",
        "align train --src {f} --tgt {b}/text.fr --out {w}/out",
        "align apply {b}/align.st --src {f} --tgt {b}/text.fr",
        "align show {b}/align.st --src {f} --tgt {b}/text.fr --out {w}/out",
        "align phrases {b}/align.st --src {f} --tgt {b}/text.fr --out {w}/out",
        "align project {b}/align.st --labels {f} --labels-format inline --tgt {b}/text.fr --out {w}/out",
        "align clean --src {f} --tgt {b}/text.fr --out {w}/out --tokenize simple --src-language en",
        "align clean --src {b}/text.en --tgt {f} --out {w}/out --lowercase --strip-accents",
    ),
    _aligned(
        "gold.wa",
        "align evaluate --hyp {b}/gold.pharaoh --gold {f}",
        "align evaluate --hyp {f} --gold {b}/gold.wa",
        f"align train {SIDES} --gold {{f}} {GOLD} --out {{w}}/out",
        "align show {b}/align.st --src {b}/gold.en --tgt {b}/gold.fr --gold {f} --out {w}/out",
    ),
    _aligned(
        "gold.pharaoh",
        "align evaluate --hyp {f} --gold {b}/gold.wa",
        "align evaluate --hyp {f} --gold {b}/gold.pharaoh",
        f"align train {SIDES} --gold {{f}} {GOLD} --out {{w}}/out",
        f"align train {SIDES} --gold {{b}}/gold.wa {GOLD} --votes {{f}} --out {{w}}/out",
        "align phrases --links {f} --src {b}/gold.en --tgt {b}/gold.fr --out {w}/out",
    ),
    _aligned(
        "source.vec",
        f"align train {SIDES} --vectors-src {{f}} --vectors-tgt {{b}}/target.vec --one-space --out {{w}}/out",
        f"align train {SIDES} --vectors-src {{b}}/target.vec --vectors-tgt {{f}} --out {{w}}/out",
    ),
    _aligned("words.dict", f"align train {SIDES} {VECTORS} --dictionary {{f}} --out {{w}}/out"),
    _trained("classify.st", "classes.libsvm"),
    _trained("table.st", "classes.csv", "predict {f} {b}/classes.csv --marginals"),
    _trained("people.st", "people.csv", "weights {f}"),
    _trained("multilabel.st", "sets.libsvm"),
    _trained("regress.st", "numbers.libsvm"),
    _trained("tag.st", "words.txt", "show {f} {b}/words.txt --out {w}/out"),
    _trained("cells.st", "cells.txt"),
    _trained("chunk.st", "words.txt", "predict {f} {b}/words.txt --marginals"),
    _trained("ner.st", "words.txt"),
    _trained("parse.st", "words.conllu", "show {f} {b}/words.conllu --out {w}/out"),
    _trained("match.st", "pairs.npz"),
    _trained("decide.st", "paths.npz", "show {f} {b}/paths.npz --out {w}/out"),
    Case(
        "model align.st",
        "align.st",
        partial(_model, "align.st"),
        (
            "info {f}",
            "align apply {f} --src {b}/gold.en --tgt {b}/gold.fr",
            "align apply {f} --src {b}/gold.en --tgt {b}/gold.fr --scores",
            "align show {f} --src {b}/gold.en --tgt {b}/gold.fr --gold {b}/gold.wa --out {w}/out",
        ),
    ),
    _folder("classes", "classify", "classify.st"),
    _folder("table", "classify", "table.st"),
    _folder("sets", "multilabel", "multilabel.st"),
    _folder("numbers", "regress", "regress.st"),
    _folder("chains", "tag", "tag.st"),
    _folder("matchings", "match", "match.st"),
    _resumed("kept-classify", "classify", "classes.libsvm"),
    _resumed("kept-tag", "tag", "words.txt"),
    _resumed("kept-match", "match", "pairs.npz"),
    _resumed("kept-multilabel", "multilabel", "sets.libsvm"),
    _resumed("kept-lbfgs", "classify", "classes.libsvm", "--loss softmax --solver lbfgs"),
    _resumed("kept-cutting", "classify", "classes.libsvm", "--solver cutting-plane"),
    _foreign("x.template", f"train tag {{b}}/words.txt --templates {{f}} --out {{w}}/out {QUICK}"),
    _foreign("model.wapiti", "import {f} --out {w}/out", "import {f} --format wapiti --out {w}/out"),
    _foreign("model.crfsuite", "import {f} --out {w}/out", "import {f} --format crfsuite --out {w}/out"),
    _trained("patterns.st", "words.txt", "export {f} --format wapiti --out {w}/out"),
    *(
        Case(
            f"factors {name}",
            name,
            partial(_text, name),
            ("solve {f} --out {w}/out --seconds 0.1", "solve {f}"),
        )
        for name in ("pairs.uai", "three.uai", "costs.wcsp")
    ),
)

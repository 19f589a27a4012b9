"""Small files under the names that pages of the docs give to a reader's own."""

import shutil
from pathlib import Path

import numpy as np
from PIL import Image
from typer.testing import CliRunner

from structlearn.cli import app
from structlearn.data import (
    make_knapsacks,
    make_shortest_paths,
    write_decisions,
    write_graphs,
    write_label_image,
    write_libsvm,
)

TAGGED = "the D\ncat N\nruns V\n. .\n\na D\nbig A\ndog N\nsees V\nthe D\ncat N\n. .\n\n" * 6
CHUNKED = (
    "the D B-NP\ncat N I-NP\nruns V B-VP\n. . O\n\na D B-NP\nbig A I-NP\ndog N I-NP\nsees V B-VP\n"
    "the D B-NP\ncat N I-NP\n. . O\n\n"
) * 6
NAMED = "Ann B-PERSON\nLee I-PERSON\nsaw O\nRome B-CITY\n. O\n\nRome B-CITY\nis O\n. O\n\n" * 6
CONLLU = (
    "1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n2\tcat\tcat\tNOUN\tNN\t_\t3\tnsubj\t_\t_\n"
    "3\truns\trun\tVERB\tVB\t_\t0\troot\t_\t_\n\n"
    "1\tdogs\tdog\tNOUN\tNN\t_\t2\tnsubj\t_\t_\n2\tsee\tsee\tVERB\tVB\t_\t0\troot\t_\t_\n"
    "3\tcats\tcat\tNOUN\tNN\t_\t2\tobj\t_\t_\n\n"
) * 4
CRFSUITE = "D\tw=the\tlow\nN\tw=cat\tlow\nV\tw=runs\tlow\n\n" * 8
ENGLISH = ["the house is small", "the book is old", "a small book", "the old house", "a house", "the book"]
FRENCH = [
    "la maison est petite",
    "le livre est vieux",
    "un petit livre",
    "la vieille maison",
    "une maison",
    "le livre",
]
GOLD = "".join(
    f"{i} {k} {k} S\n" for i, line in enumerate(ENGLISH, 1) for k in range(1, len(line.split()) + 1)
)

COLUMNS = {
    TAGGED: ("words.conll", "words-and-tags.txt", "more.conll", "all.txt", "data.txt"),
    CHUNKED: ("train.txt", "test.txt", "new.txt", "held-out.txt", "other.txt", "train.conll"),
    NAMED: ("names.conll",),
    CONLLU: ("en-train.conllu", "text.conllu", "train.conllu", "dev.conllu", "new.conllu"),
    CRFSUITE: ("train.crfsuite", "test.crfsuite", "new.crfsuite"),
}


def write_stand_ins(folder: Path) -> None:
    """All of them."""
    for text, names in COLUMNS.items():
        for name in names:
            (folder / name).write_text(text)
    for stem in ("text", "raw", "gold", "new", "test"):
        (folder / f"{stem}.en").write_text("".join(f"{line}\n" for line in ENGLISH))
        (folder / f"{stem}.fr").write_text("".join(f"{line}\n" for line in FRENCH))
    for name in ("gold.wa", "test.wa"):
        (folder / name).write_text(GOLD)
    tagged = ("".join(f"{word} O\n" for word in line.split()) for line in ENGLISH)
    (folder / "text.en.conll").write_text("\n".join(tagged) + "\n")
    sides = (
        f'<tuv xml:lang="en"><seg>{a}</seg></tuv><tuv xml:lang="fr"><seg>{b}</seg></tuv>'
        for a, b in zip(ENGLISH, FRENCH)
    )
    units = "".join(f"<tu>{one}</tu>" for one in sides)
    (folder / "text.tmx").write_text(f'<tmx version="1.4"><header/><body>{units}</body></tmx>')
    (folder / "mine.pharaoh").write_text("".join("0-0\n" for _ in ENGLISH))
    (folder / "text.txt").write_text("The cat runs. A big dog sees the cat.\n")
    (folder / "people.txt").write_text("Ann Lee\n")
    (folder / "cities.txt").write_text("Rome\n")
    write_numbers(folder)
    write_people(folder)
    write_orders(folder)
    write_friedman(folder)
    write_labelled(folder)
    train = ["train", "tag", str(folder / "words.conll"), "--out", str(folder / "tagger.safetensors")]
    assert CliRunner().invoke(app, train).exit_code == 0
    for name in ("model.safetensors", "ner.safetensors"):
        shutil.copy(folder / "tagger.safetensors", folder / name)


def write_people(folder: Path) -> None:
    """A table with text and holes."""
    rng = np.random.default_rng(0)
    lines = ["name,age,city,zip,income,bought"]
    for k in range(120):
        age, city = int(rng.integers(18, 80)), str(rng.choice(["Paris", "Rome", "Oslo"]))
        bought = "yes" if city == "Paris" or age > 60 else "no"
        income, place = round(rng.normal(5e4, 1e4), 2), rng.choice([1010, 2020, 3030])
        lines.append(
            f"Person {k},{age if k % 9 else ''},{city if k % 11 else 'NA'},{place},{income},{bought}"
        )
    for name in ("people.csv", "new-people.csv"):
        (folder / name).write_text("\n".join(lines) + "\n")


def write_orders(folder: Path) -> None:
    """A messy table: row numbers, names, gaps, money, percent, dates, yes and no, free text."""
    rng = np.random.default_rng(0)
    words = ["late", "broken", "refund", "great", "kind", "slow", "lovely", "again", "parcel", "box"]
    lines = [",name,age,city,paid,discount,ordered,member,comment,returned,gift"]
    for k in range(150):
        own = rng.choice(words, 6)
        city, member = rng.choice(["Rome", "Oslo", ""]), rng.choice(["yes", "no"])
        age = ["", "unknown"][k % 2] if k % 20 < 2 else rng.integers(18, 80)
        when = f"{k % 28 + 1}/{k % 12 + 1}/{2021 + k % 3}"
        end = f"{'yes' if 'late' in own else 'no'},{'yes' if k % 4 else 'no'}"
        start = f'{k},Ann {k},{age},{city},"${rng.lognormal(6, 1):,.2f}",{k % 40}%'
        lines.append(f"{start},{when},{member},{' '.join(own)}.,{end}")
    for name in ("orders.csv", "held-out-orders.csv", "other-orders.csv", "new-orders.csv"):
        (folder / name).write_text("\n".join(lines) + "\n")


def write_friedman(folder: Path) -> None:
    """Numbers, the last of which is a curved function of the others."""
    X = np.random.default_rng(0).uniform(size=(120, 4)).round(3)
    y = (np.sin(6 * X[:, 0]) + X[:, 1] ** 2).round(3)
    rows = (",".join(map(str, [*one, value])) for one, value in zip(X.tolist(), y.tolist()))
    (folder / "friedman.csv").write_text("\n".join(["a,b,c,d,y", *rows]) + "\n")


def write_labelled(folder: Path) -> None:
    """Graphs in a file, and images with label images in a folder."""
    rng = np.random.default_rng(0)
    y = [rng.permutation([0, 0, 1, 1]) for _ in range(8)]
    ring = np.array([(0, 1), (1, 2), (2, 3), (3, 0)])
    write_graphs(folder / "graphs.npz", [(np.eye(2)[one] + rng.normal(size=(4, 2)), ring) for one in y], y)
    labels = np.arange(12).reshape(3, 4) // 6
    for name, values in (("images", 200 * labels), ("labels", labels)):
        (folder / "pictures" / name).mkdir(parents=True)
        for i in range(3):
            write_label_image(folder / "pictures" / name / f"{i}.png", values)


def write_numbers(folder: Path) -> None:
    """Files of two classes and of numbers."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X @ [1.0, -2.0, 0.5] > 0).astype(int)
    for name in ("train.libsvm", "test.libsvm"):
        write_libsvm(folder / name, X, y)
    lines = [
        "a,b,c,class",
        *(f"{a:.3f},{b:.3f},{c:.3f},{'yes' if k else 'no'}" for (a, b, c), k in zip(X, y)),
    ]
    for name in ("train.csv", "new.csv", "test.csv"):
        (folder / name).write_text("\n".join(lines) + "\n")
    sets = (f"{a:.3f},{b:.3f},{int(a > 0)},{int(b > 0)}" for a, b, _ in X)
    (folder / "labels.csv").write_text("\n".join(["a,b,red,green", *sets]) + "\n")
    (folder / "prices.csv").write_text(
        "\n".join(["a,b,price", *(f"{a:.3f},{b:.3f},{a - b:.3f}" for a, b, _ in X)]) + "\n"
    )
    write_arrays(folder, rng)


def write_arrays(folder: Path, rng: np.random.Generator) -> None:
    """Two matchings, two graphs, and a folder of two images."""
    links = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]])
    np.savez(
        folder / "pairs.npz", features=rng.normal(size=(8, 3)), shapes=np.array([[2, 2], [2, 2]]), links=links
    )
    graphs = {
        "nodes": rng.normal(size=(6, 2)),
        "edges": np.array([[0, 1], [1, 2], [0, 1], [1, 2]]),
        "sizes": np.array([[3, 2], [3, 2]]),
        "labels": np.array([0, 1, 0, 1, 1, 0]),
    }
    np.savez(folder / "graphs.npz", **graphs)
    write_decisions(folder / "paths.npz", *make_shortest_paths(20, 3, rows=3, columns=3, random_state=0))
    write_decisions(folder / "packs.npz", *make_knapsacks(20, 3, n_items=5, random_state=0))
    for name in ("images", "labels"):
        (folder / "folder" / name).mkdir(parents=True)
        for k in range(2):
            pixels = rng.integers(0, 255 if name == "images" else 2, size=(5, 5), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / "folder" / name / f"{k}.png")

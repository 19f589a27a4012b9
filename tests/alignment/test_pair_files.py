"""Both sides in one file: tab-separated, JSON lines, TMX; in and out."""

import gzip
import json

import pytest

from structlearn.alignment.files.pair_files import PAIR_FORMATS, WrittenPair, format_by_name, read_pair_file
from structlearn.alignment.links import Links, parse_scored
from structlearn.data import DataError

PAIRS = [
    WrittenPair(["a", "<b>", "&"], ["ç", "]]>"], [(0, 0), (2, 1)], [0.5, 1.0]),
    WrittenPair([], ["x"], [], []),
    WrittenPair(["d"], ["e"], [(0, 0)], [0.25]),
]


@pytest.mark.parametrize("name", ["tsv", "jsonl", "tmx"])
@pytest.mark.parametrize("languages", [(None, None), ("en", "fr")])
def test_round_trips(name, languages, write):
    path = write("".join(PAIR_FORMATS[name].write(PAIRS, languages)), f"x.{name}")
    found = list(read_pair_file(path, languages=languages))
    assert [(one.source, one.target) for one in found] == [(one.source, one.target) for one in PAIRS]
    assert [one.links for one in found] == [Links.of(one.links) for one in PAIRS]


def test_pharaoh_and_naacl():
    assert "".join(PAIR_FORMATS["pharaoh"].write(PAIRS, (None, None))) == "0-0:0.500 2-1:1.000\n\n0-0:0.250\n"
    assert "".join(PAIR_FORMATS["naacl"].write(PAIRS, (None, None))) == "0001 1 1 S\n0001 3 2 S\n0003 1 1 S\n"
    assert parse_scored("0-0:0.5 2?1 3p0:1") == ([(0, 0), (2, 1), (3, 0)], [0.5, 1.0, 1.0])
    for wrong in ("0-0:2", "0-0:x", "0-"):
        with pytest.raises(ValueError, match="is not a "):
            parse_scored(wrong)


def test_formats_by_name():
    names = ("x.tsv", "x.TMX.gz", "x.jsonl", "x.wa", "x.en")
    assert [format_by_name(one, "pharaoh").name for one in names] == [
        "tsv",
        "tmx",
        "jsonl",
        "naacl",
        "pharaoh",
    ]
    with pytest.raises(ValueError, match="holds no text"):
        read_pair_file("x.wa")
    with pytest.raises(ValueError, match="Unknown format 'xml'"):
        read_pair_file("x.tmx", "xml")


def tmx(body, before=""):
    return f'<?xml version="1.0"?>{before}<tmx version="1.4"><header srclang="en"/><body>{body}</body></tmx>'


UNIT = (
    '<tu><tuv xml:lang="EN-GB"><seg>one <bpt i="1">&lt;b&gt;</bpt><hi>two</hi></seg></tuv>'
    '<tuv lang="de"><seg>eins zwei</seg></tuv><tuv xml:lang="fr"><seg>un deux</seg></tuv></tu>'
)


def test_tmx_of_others(write):
    path = write(tmx(UNIT + '<tu><tuv xml:lang="en"><seg>x</seg></tuv></tu>'), "x.tmx")
    first, second = read_pair_file(path, languages=("en", "fr"))
    assert (first.source, first.target, first.links) == (["one", "two"], ["un", "deux"], None)
    assert (second.source, second.target) == (["x"], [])
    assert next(read_pair_file(path)).target == ["eins", "zwei"]
    assert next(read_pair_file(path, languages=("fr", None))).target == ["one", "two"]
    packed = write(gzip.compress(tmx(UNIT).encode("utf-16")), "y.tmx.gz")
    assert next(read_pair_file(packed)).source == ["one", "two"]
    lone = write(tmx('<tu><tuv xml:lang="en"><seg>x</seg></tuv></tu>'), "z.tmx")
    with pytest.raises(DataError, match=r"z\.tmx, line 1: two languages are wanted; the unit has en"):
        next(read_pair_file(lone))


BOMB = "<!DOCTYPE tmx [" + "".join(
    f'<!ENTITY l{k + 1} "{f"&l{k};" * 10}">' if k else '<!ENTITY l1 "ha">' for k in range(9)
) + "]>"  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (tmx("<tu><tuv><seg>&l9;</seg></tuv></tu>", BOMB), "line 1: it declares entities"),
        (tmx(UNIT, '<!DOCTYPE tmx [<!ENTITY x SYSTEM "file:///etc/passwd">]>'), "it declares entities"),
        (tmx("<tu>\n<seg>\n</tu>"), "line 3: this is no XML"),
        (tmx(UNIT)[:-20], "this is no XML"),
        (tmx(UNIT).encode().replace(b"zwei", b"\xff\xfe"), "this is no XML"),
        ("<html/>", "the first element is \"html\", not tmx"),
        ("", "line 1: this is no XML"),
        (tmx(f"<tu><tuv xml:lang='en'><seg>{'x ' * 600_000}</seg></tuv></tu>"), "more than 1048576 char"),
    ],
)  # fmt: skip
def test_tmx_that_is_refused(write, text, message):
    with pytest.raises(DataError, match=message):
        list(read_pair_file(write(text, "x.tmx")))


def test_a_doctype_alone_is_fine(write):
    path = write(tmx(UNIT, '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'), "x.tmx")
    assert len(list(read_pair_file(path))) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            '{"source": "a", "goal": "b"}',
            "line 2: the keys source and target are wanted; there are: source, goal",
        ),
        ("[1]", "line 2: this is no JSON object"),
        ('{"source": "a", "target": 3}', 'line 2: "target" is text or a list of words, not "3"'),
        ('{"source": "a", "target": "b", "links": [[0]]}', 'line 2: "links" are such as'),
        (
            '{"source": "a", "target": "b", "links": [[0, 7]]}',
            "line 2: the link from source word 1 to target word 8",
        ),
        ('{"source": "a", "target": "b", "links": "0-x"}', 'line 2: "0-x" is not a link'),
        ("{" * 3000, "line 2: this is no JSON object"),
    ],
)
def test_json_lines_that_are_refused(write, line, message):
    good = json.dumps({"source": ["a b", "c"], "target": "d  e", "links": [[1, 0]]})
    pairs = read_pair_file(write(f"{good}\n{line}\n", "x.jsonl"))
    assert next(pairs)[1:] == (["a b", "c"], ["d", "e"], Links.of([(1, 0)]))
    with pytest.raises(DataError, match=message.replace("[", r"\[")):
        next(pairs)

"""Text that `align` cannot use: a sentence that names the line, and no half file."""

import gzip

import pytest
from typer.testing import CliRunner

from structlearn import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.cli import app

CORPUS = load_corpus()
LINES = [(" ".join(one.source), " ".join(one.target)) for one in CORPUS]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.st"
    Aligner().fit([(one.source, one.target) for one in CORPUS]).save(path)
    return path


def written(folder, source=None, target=None, name="text"):
    """Write both sides, each as bytes if it is given."""
    sides = [
        "".join(f"{pair[k]}\n" for pair in LINES).encode() if one is None else one
        for k, one in enumerate((source, target))
    ]
    paths = [folder / f"{name}.{language}" for language in ("en", "fr")]
    for path, content in zip(paths, sides):
        path.write_bytes(content)
    return ["--src", paths[0], "--tgt", paths[1]]


def call(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def said(result):
    return " ".join(result.stderr.split())


@pytest.fixture(params=["apply", "run"])
def refused(request, model, tmp_path):
    """Align a text that is no good; return what is said."""

    def ask(text):
        before = sorted(tmp_path.rglob("*"))
        given = [model] if request.param == "apply" else []
        result = call("align", request.param, *given, *text, "--out", tmp_path / "links")
        assert result.exit_code in (1, 2), result.output
        assert sorted(tmp_path.rglob("*")) == before
        return said(result)

    return ask


def test_unequal_sides_are_counted(refused, tmp_path):
    short = "".join(f"{target}\n" for _, target in LINES[:-7]).encode()
    told = refused(written(tmp_path, target=short))
    n = len(LINES)
    assert f"line {n - 6}: the file ends here" in told
    assert f"{n - 7} lines and {n} lines" in told


def test_bytes_that_are_no_text_far_into_a_file(refused, tmp_path):
    many = "".join(f"{source}\n" for source, _ in LINES).encode() * 20
    other = "".join(f"{target}\n" for _, target in LINES).encode() * 20
    number = many.count(b"\n") - 3
    lines = many.splitlines(keepends=True)
    lines[number - 1] = b"caf\xe9\n"
    told = refused(written(tmp_path, b"".join(lines), other))
    assert f"line {number}" in told
    assert "UTF-8" in told


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_truncated_archives(refused, tmp_path, ending):
    content = "".join(f"{source}\n" for source, _ in LINES).encode() * 50
    if ending == ".zst":
        packed = pytest.importorskip("zstandard").compress(content)
    else:
        packed = gzip.compress(content)
    path = tmp_path / f"cut.en{ending}"
    path.write_bytes(packed[: 2 * len(packed) // 3])
    target = tmp_path / "cut.fr"
    target.write_bytes("".join(f"{target}\n" for _, target in LINES).encode() * 50)
    told = refused(["--src", path, "--tgt", target])
    assert f"{path}, line" in told
    assert "cannot be read further" in told


def test_a_line_of_a_million_words_is_passed_over(model, tmp_path):
    source, target = ("".join(f"{pair[k]}\n" for pair in LINES).encode() for k in (0, 1))
    text = written(tmp_path, source + b"a " * 10**6 + b"\n", target + b"b\n")
    result = call("align", "apply", model, *text, "--out", tmp_path / "links")
    assert result.exit_code == 0, result.output
    links = (tmp_path / "links").read_text().splitlines()
    assert len(links) == len(LINES) + 1
    assert links[-1] == ""
    assert f"the first is in line {len(LINES) + 1}" in said(result)


@pytest.mark.filterwarnings("always:The two sides seem")
@pytest.mark.parametrize("command", ["apply", "run", "clean"])
def test_exchanged_sides_are_told(model, tmp_path, command):
    text = written(tmp_path)
    given = [model] if command == "apply" else ["--priors" if command == "run" else "--model", model]
    more = ["--score"] if command == "clean" else []
    exchanged = ["--src", text[3], "--tgt", text[1]]
    result = call("align", command, *given, *exchanged, *more, "--out", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert "The two sides seem to be exchanged" in said(result)


@pytest.mark.parametrize("command", ["run", "train", "clean"])
def test_empty_files_are_refused(tmp_path, command):
    text = written(tmp_path, b"", b"")
    more = ["--score"] if command == "clean" else []
    result = call("align", command, *text, *more, "--out", tmp_path / "out")
    assert result.exit_code == 2
    assert "no pair with words on both sides" in said(result)
    assert not list(tmp_path.glob("out*"))


def test_control_characters_do_not_reach_the_terminal(model, tmp_path):
    lines = [f"{source} \x1b[31m\x07" if k == 5 else source for k, (source, _) in enumerate(LINES)]
    text = written(tmp_path, "".join(f"{line}\n" for line in lines).encode())
    result = call("align", "apply", model, *text, "--out", tmp_path / "links")
    assert "\x1b" not in result.output
    assert "\x07" not in result.output
    if result.exit_code:
        assert not (tmp_path / "links").exists()
    else:
        assert len((tmp_path / "links").read_text().splitlines()) == len(LINES)


def test_run_goes_on_to_the_same_links(tmp_path):
    text = written(tmp_path)
    kept = ["--checkpoint", tmp_path / "kept", "--memory", "400MB"]
    whole = call("align", "run", *text, "--memory", "400MB", "--scores", "--out", tmp_path / "whole")
    assert whole.exit_code == 0, whole.output
    first = call("align", "run", *text, *kept, "--scores", "--out", tmp_path / "first")
    assert first.exit_code == 0, first.output
    (tmp_path / "first").unlink()
    again = call("align", "run", *text, *kept, "--resume", "--scores", "--out", tmp_path / "again")
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again").read_bytes() == (tmp_path / "whole").read_bytes()

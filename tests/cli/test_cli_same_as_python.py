"""The shell trains a tagger as Python does: the same options give the same file, byte for byte."""

from types import SimpleNamespace

import pytest

from structlearn import Tagger
from structlearn.data import read_tokens, split_rows
from structlearn.estimators import ChainClassifier
from structlearn.solvers import clock
from structlearn.solvers.clock import counting_seconds
from structlearn.tagging.features.context import SHARES
from structlearn.tagging.plan import make_plan

NAMES = ["Ann", "Bob", "Zoe", "Lee", "Kim"]


def written(n):
    """Sentences in which names come again, so that context is learned."""
    for i in range(n):
        name, other = NAMES[i % 5], NAMES[(i + 2) % 5]
        yield [(name, "NP", "B-PER"), ("sees", "V", "O"), (other, "NP", "B-PER"), ("Ray", "NP", "I-PER")][
            : 3 + i % 2
        ]


@pytest.fixture
def clocks(monkeypatch):
    """Clocks that stand still, unless they are set: seconds are part of model files."""
    now = [0.0]
    monkeypatch.setattr(clock, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    return now


@pytest.fixture
def files(tmp_path):
    """The sentences, a file of words and labels, and one with tags between them."""
    sentences = list(written(80))
    for name, columns in (("two", (0, 2)), ("three", (0, 1, 2))):
        rows = ("\n".join(" ".join(token[j] for j in columns) for token in one) for one in sentences)
        (tmp_path / name).write_text("\n\n".join(rows) + "\n")
    return sentences, tmp_path / "two", tmp_path / "three"


@pytest.mark.parametrize(
    ("task", "flags", "parameters"),
    [
        ("tag", [], {}),
        ("ner", [], {"constraints": "bio"}),
        (
            "ner",
            ["--span-lexicon", "--context", "3"],
            {"constraints": "bio", "span_lexicon": True, "context": 3},
        ),
        ("chunk", ["--model", "segments"], {"model": "segments"}),
        (
            "chunk",
            ["--penalty", "elasticnet", "--min-count", "2", "--solver", "proximal", "--boundaries"],
            {
                "constraints": "bio",
                "penalty": "elasticnet",
                "min_count": 2,
                "chain_options": {"solver": "proximal", "start": True, "end": True},
            },
        ),
        (
            "chunk",
            ["--loss", "hinge", "--seed", "3"],
            {"constraints": "bio", "loss": "hinge", "random_state": 3},
        ),
    ],
)
@pytest.mark.usefixtures("clocks")
def test_files_are_the_same_to_the_byte(run, files, tmp_path, task, flags, parameters):
    sentences, path, _ = files
    run("train", task, path, "--out", tmp_path / "shell", *flags)
    X, y = (
        [[token[0] for token in one] for one in sentences],
        [[token[2] for token in one] for one in sentences],
    )
    Tagger(**{"task": task, "random_state": 0, **parameters}).fit(X, y).save(tmp_path / "python")
    assert (tmp_path / "shell").read_bytes() == (tmp_path / "python").read_bytes()


@pytest.mark.usefixtures("clocks")
def test_with_the_plan_of_a_file_with_more_columns(run, files, tmp_path):
    _, _, path = files
    run("train", "chunk", path, "--out", tmp_path / "shell")
    tokens = read_tokens(path)
    plan = make_plan(tokens.layout.names, task="chunk")
    y = split_rows(tokens.filled_cells(plan.label), tokens.lengths)
    tagger = Tagger(task="chunk", columns=plan.columns, constraints="bio", random_state=0)
    bundle = tagger.fit(plan.apply(tokens), y).bundle(plan)

    from structlearn.estimators.files.persistence import save_bundle

    save_bundle(bundle, tmp_path / "python")
    assert (tmp_path / "shell").read_bytes() == (tmp_path / "python").read_bytes()


# ---- seconds ----------------------------------------------------------------------------------------------


def test_seconds_before_training_count(clocks):
    X, y = [[[1.0], [0.0]], [[0.0], [1.0]]], [[0, 1], [1, 1]]
    with counting_seconds():
        clocks[0] = 9.0
        with counting_seconds():  # the outermost block counts
            model = ChainClassifier(max_seconds=5, random_state=0).fit(X, y)
        enough = ChainClassifier(max_seconds=10, random_state=0).fit(X, y)
    assert model.certificate_.status.startswith("Stopped after max_seconds=5 ")
    assert model.certificate_.passes == 0
    assert enough.certificate_.converged
    assert ChainClassifier(max_seconds=5, random_state=0).fit(X, y).certificate_.converged


def test_first_passes_and_features_count(clocks, files, monkeypatch):
    sentences, _, _ = files
    limits, usual = [], ChainClassifier.fit

    def fit(self, *args, **options):
        limits.append(self.max_seconds)
        clocks[0] += 2.0
        return usual(self, *args, **options)

    monkeypatch.setattr(ChainClassifier, "fit", fit)
    X, y = (
        [[token[0] for token in one] for one in sentences],
        [[token[2] for token in one] for one in sentences],
    )
    tagger = Tagger(task="ner", random_state=0, chain_options={"max_seconds": 7}).fit(X, y)
    assert limits == [*(share * 7 for share in SHARES), 7]  # three first passes, then the chain itself
    assert tagger.certificate_.status.startswith("Stopped after max_seconds=7 ")


def test_reading_counts_in_the_shell(run, files, tmp_path, clocks, monkeypatch):
    from structlearn.cli.tasks import tag

    _, path, _ = files

    def read(*args, **options):
        clocks[0] += 9.0
        return read_tokens(*args, **options)

    monkeypatch.setattr(tag, "read_tokens", read)
    told = run("train", "tag", path, "--out", tmp_path / "model", "--max-seconds", "5").stdout
    assert "Stopped after --max-seconds 5 " in told
    assert "passes: 0" in told

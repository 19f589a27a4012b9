"""An earlier model as a prior for more text, and statistics that are kept and gone on from."""

from math import sqrt

import numpy as np
import pytest

from structlearn import MulticlassClassifier
from structlearn.alignment.aligner import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.metrics import alignment_scores
from structlearn.alignment.statistics.continuing import EarlierText
from structlearn.alignment.statistics.cooccurrence import build_lexicon
from structlearn.alignment.statistics.lexicon import find_entry
from structlearn.alignment.statistics.memory_plan import MemoryPlan
from structlearn.alignment.statistics.statistics import AlignmentStatistics
from structlearn.alignment.text.bitext import Bitext
from structlearn.alignment.text.form import OtherForm
from structlearn.alignment.text.on_disk import TextOnDisk
from structlearn.solvers import Checkpoint
from structlearn.solvers.checkpoint import Keeper

CORPUS = load_corpus()
PAIRS = [(list(one.source), list(one.target)) for one in CORPUS]
FIRST, SECOND = PAIRS[::2], PAIRS[1::2]


def vocabularies(statistics):
    return statistics.source_words, statistics.target_words


@pytest.fixture(scope="module")
def first():
    return AlignmentStatistics.train(Bitext.from_pairs(FIRST)).prune(1e-5)


def named(bitext, lexicon):
    source, target = bitext.source_words.words, bitext.target_words.words
    entries = zip(lexicon.source(), lexicon.target, lexicon.together)
    return {(source[e], target[f]): int(n) for e, f, n in entries}


def test_words_keep_their_numbers_and_counts_go_on(first):
    more = Bitext.from_pairs(SECOND, vocabularies(first))
    whole = Bitext.from_pairs(PAIRS)
    for old, new, all_ in zip(vocabularies(first), vocabularies(more), vocabularies(whole)):
        assert new.words[: len(old)] == old.words
        assert dict(zip(new.words, new.counts)) == dict(zip(all_.words, all_.counts))


@pytest.mark.parametrize("plan", [None, MemoryPlan(10**6, 10**6, 1000)])
def test_sentence_pairs_are_counted_on(plan):
    """Without pruning the two parts give the table of the whole."""
    before = AlignmentStatistics.train(Bitext.from_pairs(FIRST))
    known = vocabularies(before)
    more = Bitext.from_pairs(SECOND, known) if plan is None else TextOnDisk(SECOND, plan, known)
    whole = Bitext.from_pairs(PAIRS)
    found, right = build_lexicon(more, earlier=before.lexicon), build_lexicon(whole)
    assert named(more, found) == named(whole, right)
    pairs = [
        dict(zip(text.source_words.words, one.source_pairs)) for text, one in ((more, found), (whole, right))
    ]
    assert pairs[0] == pairs[1]


def test_earlier_links_are_what_the_model_expects(first):
    more = Bitext.from_pairs(SECOND, vocabularies(first))
    lexicon = build_lexicon(more, earlier=first.lexicon)
    earlier = EarlierText.of(first, lexicon)
    old = first.lexicon
    for k, (e, f) in enumerate(zip(old.source(), old.target)):
        counts = first.source_words.counts[e], first.target_words.counts[f]
        both = first.forward.translation[k] * counts[0], first.reverse.translation[k] * counts[1]
        place = find_entry(lexicon, e, f)
        assert earlier.links[place] == pytest.approx(sqrt(both[0] * both[1]), rel=1e-5)
        assert earlier.cells[place] == old.together[k]
    assert np.count_nonzero(earlier.cells) == old.target.size


def test_continued_statistics_are_nearly_those_of_all_the_text():
    gold = [one.links for one in CORPUS]

    def error(aligner):
        return alignment_scores(gold, aligner.predict(PAIRS)).aer

    begun = Aligner().fit([], None, FIRST)
    continued = Aligner().fit([], None, SECOND, earlier=begun)
    alone, whole = Aligner().fit([], None, SECOND), Aligner().fit([], None, PAIRS)
    assert error(continued) < error(alone) - 0.015
    assert error(continued) < error(whole) + 0.03


def test_text_that_lacks_accents_does_not_continue_text_that_has_them(first):
    text = [(["the", "summer"], ["un", "été"])] * 2000
    begun = Aligner().fit([], None, text)
    assert not begun.forms_[1].strip_accents
    with pytest.raises(OtherForm, match="target text has no accents, but that of the continued model has"):
        Aligner().fit([], None, [(["the", "summer"], ["un", "ete"])] * 2000, earlier=begun)
    with pytest.raises(OtherForm, match="continued model was trained with lowercase=True; give the same"):
        Aligner(lowercase=False).fit([], None, text, earlier=begun)
    with pytest.raises(ValueError, match="an earlier model is continued; give one of them"):
        Aligner().fit([], None, text, earlier=begun, statistics=first)


def test_a_continued_model_can_be_stored_and_continued(tmp_path):
    begun = Aligner(memory="500MB", checkpoint=tmp_path / "kept").fit([], None, FIRST)
    begun.save(tmp_path / "model.st")
    loaded = Aligner.load(tmp_path / "model.st")
    assert loaded.memory == "500MB"
    assert loaded.checkpoint is None
    continued = Aligner(memory="500MB").fit([], None, SECOND, earlier=loaded)
    again = Aligner().fit([], None, SECOND, earlier=continued)
    assert again.statistics_.source_words.counts.sum() == sum(len(e) for e, _ in FIRST + SECOND + SECOND)


# ---- checkpoints -----------------------------------------------------------------------------------


class Killed(Exception):
    pass


@pytest.fixture
def killed_after(monkeypatch):
    """Kill training when it has kept so many iterations."""

    def prepare(n):
        keep, kept = Keeper.keep, []

        def stop(self, value):
            keep(self, value)
            kept.append(value)
            if len(kept) == n:
                raise Killed

        monkeypatch.setattr(Keeper, "is_due", lambda self: True)  # however long writing takes
        monkeypatch.setattr(Keeper, "keep", stop)
        return lambda: monkeypatch.setattr(Keeper, "keep", keep)

    return prepare


@pytest.mark.parametrize("plan", [None, MemoryPlan(2000, 200, 1000)])
@pytest.mark.parametrize("n", [1, 6, 10])
def test_statistics_go_on_bit_for_bit(tmp_path, killed_after, plan, n):
    def text():
        return Bitext.from_pairs(PAIRS) if plan is None else TextOnDisk(PAIRS, plan)

    whole = AlignmentStatistics.train(text())
    restored = killed_after(n)
    with pytest.raises(Killed):
        AlignmentStatistics.train(text(), checkpoint=Checkpoint(tmp_path, 0.0))
    restored()
    found = AlignmentStatistics.train(text(), checkpoint=Checkpoint(tmp_path, 0.0, resume=True), n_jobs=2)
    for name, value in whole.to_arrays().items():
        assert value.tobytes() == found.to_arrays()[name].tobytes(), name
    assert [one[:4] for one in whole.history] == [one[:4] for one in found.history]


def test_other_text_and_settings_are_refused(tmp_path, first):
    again = Checkpoint(tmp_path, 0.0, resume=True)
    AlignmentStatistics.train(Bitext.from_pairs(SECOND), checkpoint=again)
    for text, more in (
        (Bitext.from_pairs(PAIRS), {}),
        (TextOnDisk(SECOND, MemoryPlan(10**6, 10**6, 10**6)), {}),
        (Bitext.from_pairs(SECOND, vocabularies(first)), {"earlier": first}),
    ):
        with pytest.raises(ValueError, match="is of other data or other parameters"):
            AlignmentStatistics.train(text, checkpoint=again, **more)


def test_another_kind_of_model_is_not_continued(tmp_path):
    MulticlassClassifier().fit(np.eye(4), [0, 1, 0, 1]).save(tmp_path / "model.st")
    with pytest.raises(ValueError, match="holds a MulticlassClassifier, not an Aligner"):
        Aligner.load(tmp_path / "model.st")

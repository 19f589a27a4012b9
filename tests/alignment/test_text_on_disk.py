"""Text on disk: the same pairs, the same statistics, in tables that keep to their size."""

import errno
import gzip
import math
import os
import tempfile
from collections import Counter, namedtuple
from functools import partial
from itertools import chain

import numpy as np
import pytest

from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.statistics import cooccurrence, training
from structlearn.alignment.statistics.cooccurrence import A_DOUBLING, build_lexicon
from structlearn.alignment.statistics.memory_plan import MemoryPlan
from structlearn.alignment.statistics.statistics import AlignmentStatistics
from structlearn.alignment.statistics.training import EMSettings, stages
from structlearn.alignment.text import on_disk as text_on_disk
from structlearn.alignment.text.bitext import Bitext
from structlearn.alignment.text.on_disk import TextOnDisk, check_room, working_bytes

PAIRS = [(list(one.source), list(one.target)) for one in load_corpus()]
PLENTY = MemoryPlan(10**6, 10**6, 1000)


def words_of(bitext):
    for s in range(len(bitext)):
        yield tuple(
            [words.words[token] for token in corpus.words(s, s + 1)]
            for corpus, words in ((bitext.source, bitext.source_words), (bitext.target, bitext.target_words))
        )


def named(text, lexicon):
    source, target = text.source_words.words, text.target_words.words
    entries = zip(lexicon.source(), lexicon.target, lexicon.together)
    return {(source[e], target[f]): int(n) for e, f, n in entries}


def links_of(statistics, pairs=PAIRS):
    found = [np.argwhere(statistics.tables(*pair).agreement() > 0.5).tolist() for pair in pairs]
    return {(s, i, j) for s, links in enumerate(found) for i, j in links}


def test_windows_are_the_text_again_and_again():
    text = TextOnDisk(iter(PAIRS), PLENTY)
    assert text.n_windows > 5
    assert text.n_cells == sum(len(e) * len(f) for e, f in PAIRS)
    for _ in range(2):
        assert list(chain.from_iterable(map(words_of, text.windows()))) == PAIRS
    whole = Bitext.from_pairs(PAIRS)
    assert text.source_words.words == whole.source_words.words
    np.testing.assert_array_equal(text.target_words.counts, whole.target_words.counts)


def test_windows_count_as_the_whole_does():
    text, whole = TextOnDisk(PAIRS, PLENTY), Bitext.from_pairs(PAIRS)
    for one, other in zip(build_lexicon(text), build_lexicon(whole)):
        np.testing.assert_array_equal(one, other)


def test_a_small_table_keeps_the_pairs_that_say_most():
    """One window, so that nothing is forgotten before it is counted."""
    text = TextOnDisk(PAIRS, MemoryPlan(1500, 10**6, 10**9))
    kept = named(text, build_lexicon(text))
    both = Counter((e, f) for source, target in PAIRS for e in set(source) for f in set(target))
    either = [Counter(word for pair in PAIRS for word in set(pair[k])) for k in (0, 1)]

    def score(pair):
        n, (e, f) = both[pair], pair
        said = n * math.log(1 + n * len(PAIRS) / (either[0][e] * either[1][f]))
        return int(A_DOUBLING * math.log2(1 + said))

    assert 1000 < len(kept) <= 1500 < len(both)
    assert kept == {pair: both[pair] for pair in kept}
    assert min(map(score, kept)) > max(score(pair) for pair in both if pair not in kept)


@pytest.mark.parametrize(
    "make", [Bitext.from_pairs, partial(TextOnDisk, plan=PLENTY)], ids=["memory", "disk"]
)
def test_no_table_has_more_pairs_than_have_numbers(make, monkeypatch):
    """Whatever the room: places in the table are int32."""
    text = make(PAIRS)
    both = build_lexicon(text).target.size
    monkeypatch.setattr(cooccurrence, "MOST_ENTRIES", 2000)
    assert 1000 < build_lexicon(text).target.size <= 2000 < both


def test_forgotten_pairs_are_few_and_rare():
    text = TextOnDisk(PAIRS, MemoryPlan(3000, 10**6, 1000))
    kept = named(text, build_lexicon(text))
    both = Counter((e, f) for source, target in PAIRS for e in set(source) for f in set(target))
    assert len(kept) <= 3000
    assert all(n <= both[pair] for pair, n in kept.items())
    often = [pair for pair, n in both.items() if n >= 10]
    assert sum(kept.get(pair, 0) for pair in often) > 0.9 * sum(both[pair] for pair in often)


@pytest.fixture(scope="module")
def streamed():
    return AlignmentStatistics.train(TextOnDisk(PAIRS, PLENTY))


def test_statistics_are_those_of_the_text_in_memory(streamed):
    whole = AlignmentStatistics.train(Bitext.from_pairs(PAIRS))
    np.testing.assert_array_equal(streamed.lexicon.target, whole.lexicon.target)
    np.testing.assert_allclose(streamed.forward.translation, whole.forward.translation, rtol=1e-3)
    np.testing.assert_allclose(streamed.reverse.null, whole.reverse.null, rtol=1e-3)
    assert [one.forward for one in streamed.history] == pytest.approx(
        [one.forward for one in whole.history], rel=1e-5
    )


def test_threads_change_nothing(streamed):
    other = AlignmentStatistics.train(TextOnDisk(PAIRS, PLENTY), n_jobs=3)
    for name, value in streamed.to_arrays().items():
        assert value.tobytes() == other.to_arrays()[name].tobytes(), name


def test_little_room_still_aligns():
    """A third of the pairs of words and a third of the words: nearly the links of all of them."""
    whole = AlignmentStatistics.train(Bitext.from_pairs(PAIRS))
    small = AlignmentStatistics.train(TextOnDisk(PAIRS, MemoryPlan(2500, 150, 2000)))
    assert small.lexicon.target.size <= 2500
    assert any(word.endswith(" ") for word in small.source_words.words)
    one, other = links_of(whole), links_of(small)
    assert 2 * len(one & other) / (len(one) + len(other)) > 0.7


def test_a_part_of_a_text_speaks_for_the_rest(monkeypatch):
    """Sixteen windows that are all alike: to read some of them in the first iterations changes nothing."""
    n_cells = sum(len(e) * len(f) for e, f in PAIRS)
    text = TextOnDisk(PAIRS * 16, MemoryPlan(10**6, 10**6, n_cells))
    assert text.n_windows == 16
    assert {stage.step for stage in stages(EMSettings(), text)} == {1}
    whole = AlignmentStatistics.train(text)
    monkeypatch.setattr(training, "LEAST_CELLS", 4 * n_cells)
    assert [stage.step for stage in stages(EMSettings(), text)] == [4, 4, 4, 2, 1] * 2
    assert [len(list(text.windows(step))) for step in (1, 2, 3, 16)] == [16, 8, 5, 1]
    parts = AlignmentStatistics.train(text)
    np.testing.assert_allclose(parts.forward.translation, whole.forward.translation, rtol=1e-3)
    np.testing.assert_allclose(parts.reverse.jumps.weights, whole.reverse.jumps.weights, rtol=1e-2)
    for one, other in zip(parts.history, whole.history):
        assert one.reverse == pytest.approx(other.reverse, rel=1e-5)


# ---- room ------------------------------------------------------------------------------------------


def test_plans_keep_to_their_limit():
    small, large = MemoryPlan.of("500MB"), MemoryPlan.of("2GB")
    assert large.entries > 4 * small.entries
    assert large.words > small.words
    with pytest.raises(ValueError, match="memory='100MB' is too little; use at least"):
        MemoryPlan.of("100MB")


def test_the_files_are_no_larger_than_was_said(tmp_path):
    lines = ["a b c\n", "a\n", "a\n", "longer words here\n"] * 50
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress("".join(lines).encode()))
    text = TextOnDisk([(line.split(), line.split()) for line in lines], PLENTY)
    files = *text._source._files, *text._target._files
    taken = sum(os.fstat(file.fileno()).st_size for file in files)
    assert taken <= working_bytes([path, path])
    assert working_bytes(["-", path]) == working_bytes([path])


def test_a_disk_that_is_too_small_is_a_sentence(monkeypatch):
    usage = namedtuple("usage", "free")(free=1000)
    monkeypatch.setattr(text_on_disk.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(OSError, match=r"working files may take .* set TMPDIR to a folder with more room"):
        check_room(2000)
    check_room(1000)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no full disk to try")
@pytest.mark.parametrize("pairs", [PAIRS[:2], PAIRS], ids=["with what is last", "before"])
def test_a_disk_that_fills_up_is_a_sentence(monkeypatch, pairs):
    monkeypatch.setattr(tempfile, "TemporaryFile", partial(open, "/dev/full", "wb"))
    with pytest.raises(OSError, match="working files do not fit; set TMPDIR") as caught:
        TextOnDisk(pairs, PLENTY)
    assert caught.value.errno == errno.ENOSPC


def test_cells_are_found_once_if_the_disk_has_room(monkeypatch):
    """With room for all cells, for some windows and for none: the same statistics."""
    text, sums, located = TextOnDisk(PAIRS, PLENTY), [], []
    locate = training.locate

    def counted(*arguments):
        located[-1] += 1
        return locate(*arguments)

    monkeypatch.setattr(training, "locate", counted)
    writes = text_on_disk.KeptCells.keep
    for windows in (text.n_windows, 3, 0):

        def keep(self, window, values, windows=windows):
            if window < windows:
                writes(self, window, values)

        monkeypatch.setattr(text_on_disk.KeptCells, "keep", keep)
        located.append(0)
        found = AlignmentStatistics.train(text, EMSettings(model1=2, hmm=2))
        sums.append(found.forward.translation)
    assert located[0] == text.n_windows < located[1] < located[2]
    np.testing.assert_array_equal(sums[0], sums[1])
    np.testing.assert_array_equal(sums[0], sums[2])


def test_cells_are_not_kept_on_a_disk_that_is_full(monkeypatch):
    values = np.arange(10, dtype=np.int32)
    room = namedtuple("Usage", "free")
    monkeypatch.setattr(text_on_disk.shutil, "disk_usage", lambda folder: room(10**9))
    kept = text_on_disk.KeptCells(20)
    kept.keep(0, values)
    np.testing.assert_array_equal(kept.read(0), values)

    class Full:
        def seek(self, place): ...

        def write(self, data):
            raise OSError(errno.ENOSPC, "full")

    file, kept._file = kept._file, Full()
    kept.keep(1, values)
    kept._file = file
    kept.keep(1, values)
    assert kept.read(1) is None
    np.testing.assert_array_equal(kept.read(0), values)

    monkeypatch.setattr(text_on_disk.shutil, "disk_usage", lambda folder: room(100))
    kept = text_on_disk.KeptCells(20)
    kept.keep(0, values)
    assert kept.read(0) is None

"""Scorings are linear maps: adjoint identities, and the compiled operations against the maps as a whole."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter

import numpy as np
import pytest
from scipy import sparse

from structlearn import MulticlassClassifier
from structlearn.core.contract import add_pullback, gram, score, score_subset, scoring_workspace, squared_norm
from structlearn.problem.oracle import maximize_chunk
from structlearn.scoring import (
    JointScoring,
    PartScoring,
    RowScoring,
    SeenPairs,
    SeenRowScoring,
    SelectedScoring,
    SumScoring,
)
from structlearn.scoring.defaults import score_all
from structlearn.scoring.erased import erase_scoring
from structlearn.scoring.parts.sums import Items
from structlearn.scoring.rows.rows import LONGEST_GRAM, SPARSE_ENOUGH, DenseRows, SparseRows

LENGTHS = np.array([1, 4, 2])
N_LABELS, D = 3, 9


def features(n_rows, d=D, density=1.0):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_rows, d)) * (rng.random((n_rows, d)) < density)


def rows(form=np.asarray, dtype=np.float64, *, lengths=LENGTHS, density=0.6, n_labels=N_LABELS, **options):
    X = form(features(lengths.sum(), density=density).astype(dtype))
    return RowScoring(X, lengths, n_labels, **{"n_shared": 4, "intercept": True, **options})


def seen(form=np.asarray, dtype=np.float64, *, lengths=LENGTHS, n_labels=8, density=0.6, **options):
    """Weights for about a third of the pairs, and for all of one feature."""
    X = form(features(lengths.sum(), density=density).astype(dtype))
    seen = np.random.default_rng(2).random((D, n_labels)) < 0.3
    seen[4] = True
    table = sparse.csr_matrix(seen)
    pairs = SeenPairs(table.indptr.astype(np.int64), table.indices.astype(np.uint32))
    return SeenRowScoring(X, lengths, n_labels, pairs, **{"n_shared": 4, "intercept": True, **options})


def selected(whole):
    """A random third of the labels of each row, and one more."""
    n_rows, n_labels = whole.first[-1], whole.n_labels
    rng = np.random.default_rng(3)
    chosen = rng.random((n_rows, n_labels)) < 0.3
    chosen[np.arange(n_rows), rng.integers(0, n_labels, n_rows)] = True
    return SelectedScoring(whole, np.cumsum([0, *chosen.sum(axis=1)]), np.nonzero(chosen)[1])


def parts(dtype=np.float64, *, intercept=False):
    shapes = np.array([(2, 3), (1, 2), (4, 1)])
    return PartScoring(features(12).astype(dtype), shapes, intercept=intercept)


def graphs(dtype=np.float64, *, intercept=True, n_nodes=1, n_edges=1):
    """Fewer features of edges than edges: no Gram matrix."""
    sizes = np.array([3, 1, 4]), np.array([2, 0, 5])
    shapes = np.stack([sizes[0] + sizes[1], np.arange(3)], axis=1)
    X, F = features(8).astype(dtype), features(7, 2).astype(dtype)
    nodes, edges = RowScoring(X, sizes[0], n_nodes, intercept=intercept), RowScoring(F, sizes[1], n_edges)
    return JointScoring(nodes, edges, shapes=shapes)


def sums(dtype=np.float64):
    rows = Items(features(4).astype(dtype), np.array([3, 0, 1, 1, 2]), np.array([0, 2, 3, 5]))
    columns = Items(features(5, 2).astype(dtype), np.array([4, 4, 0, 1]), np.array([0, 1, 3, 4]))
    return SumScoring(rows, columns)


SCORINGS = {
    "dense": rows(),
    "dense, no intercept": rows(intercept=False),
    "dense, nothing shared": rows(n_shared=0),
    "dense float32": rows(dtype=np.float32),
    "dense with few non-zeros": rows(density=0.1),
    "CSR": rows(sparse.csr_matrix),
    "CSR, neither intercept nor shared": rows(sparse.csr_matrix, intercept=False, n_shared=0),
    "CSR float32": rows(sparse.csr_matrix, np.float32),
    "CSR array": rows(sparse.csr_array),
    "long, dense": rows(lengths=np.array([LONGEST_GRAM + 1, 2])),
    "long, dense, no intercept": rows(lengths=np.array([2, LONGEST_GRAM + 1]), intercept=False),
    "long, CSR": rows(sparse.csr_matrix, lengths=np.array([LONGEST_GRAM + 1, 2])),
    "long, CSR, no intercept": rows(
        sparse.csr_matrix, lengths=np.array([LONGEST_GRAM + 1, 2]), intercept=False, n_shared=0
    ),
    "many labels, dense": rows(n_labels=20),
    "many labels, CSR": rows(sparse.csr_matrix, n_labels=20),
    "seen pairs, dense": seen(density=1.0),
    "seen pairs, CSR": seen(sparse.csr_matrix),
    "seen pairs, neither intercept nor shared": seen(sparse.csr_matrix, intercept=False, n_shared=0),
    "seen pairs, float32": seen(sparse.csr_matrix, np.float32),
    "seen pairs, long": seen(sparse.csr_matrix, lengths=np.array([LONGEST_GRAM + 1, 2])),
    "seen pairs of many labels": seen(sparse.csr_matrix, n_labels=300),
    "some labels, dense": selected(rows()),
    "some labels, CSR": selected(rows(sparse.csr_matrix, n_labels=20)),
    "some labels, long": selected(rows(sparse.csr_matrix, lengths=np.array([LONGEST_GRAM + 1, 2]))),
    "some labels of seen pairs": selected(seen(sparse.csr_matrix)),
    "some labels of seen pairs, nothing shared": selected(seen(intercept=False, n_shared=0)),
    "parts": parts(),
    "parts with intercept": parts(intercept=True),
    "parts float32": parts(np.float32),
    "sums": sums(),
    "sums float32": sums(np.float32),
    "graphs": graphs(),
    "graphs, no intercept": graphs(intercept=False),
    "graphs float32": graphs(np.float32),
    "graphs of several states": graphs(n_nodes=3, n_edges=9),
}
each_scoring = pytest.mark.parametrize("scoring", SCORINGS.values(), ids=SCORINGS)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def local_parts(scoring, i):
    return slice(scoring.start[i], scoring.start[i + 1])


def pulled(scoring, delta, first, last):
    out = np.zeros(scoring.n_weights)
    scoring.pullback(delta, first, last, out)
    return out


@each_scoring
def test_pullback_is_the_adjoint_of_scores(scoring, rng):
    for first, last in [(0, scoring.n_examples), (1, 2)]:
        w = rng.normal(size=scoring.n_weights)
        delta = rng.normal(size=scoring.start[last] - scoring.start[first])
        there, back = scoring.scores(w, first, last) @ delta, w @ pulled(scoring, delta, first, last)
        assert there == pytest.approx(back, rel=1e-12)


@each_scoring
def test_pullback_adds_to_what_is_there(scoring, rng):
    delta = rng.normal(size=scoring.start[-1])
    out = np.ones(scoring.n_weights)
    scoring.pullback(delta, 0, scoring.n_examples, out)
    np.testing.assert_allclose(out - 1, pulled(scoring, delta, 0, scoring.n_examples), atol=1e-12)


@each_scoring
def test_compiled_score_is_a_row_of_scores(scoring, rng):
    w = rng.normal(size=scoring.n_weights)
    expected = scoring.scores(w, 0, scoring.n_examples)
    record, _alive = erase_scoring(scoring.record, frozenset({"score"}))
    for i in range(scoring.n_examples):
        theta = np.full(np.diff(scoring.start)[i], np.nan)
        score(record, i, w, 0, theta)
        np.testing.assert_allclose(theta, expected[local_parts(scoring, i)], rtol=1e-12, atol=1e-12)


def whole_pullback(scoring, i, delta):
    """Phi_i^T delta over local and shared parts."""
    n_local = np.diff(scoring.start)[i]
    out = pulled(scoring, delta[:n_local], i, i + 1)
    scoring.shared(out)[:] += delta[n_local:]
    return out


def spread(scoring, i, delta):
    """Parts of all labels, zero where a label is not among the selected ones of its row."""
    whole, table = scoring.whole, []
    for row in range(*whole.first[i : i + 2]):
        own = slice(*scoring.row_first[row : row + 2] - scoring.start[i])
        table.append(np.zeros(whole.n_labels))
        table[-1][scoring.label[scoring.start[i] :][own]] = delta[own]
    return np.concatenate([*table, delta[np.diff(scoring.start)[i] :]])


def norm_of(scoring, i, delta):
    """||Phi_i^T delta||^2; of all pairs where some have weights and the products of rows are stored."""
    if isinstance(scoring, SelectedScoring):
        return norm_of(scoring.whole, i, spread(scoring, i, delta))
    if isinstance(scoring, SeenRowScoring) and np.diff(scoring.record.gram_first)[i]:
        options = {"n_shared": scoring.n_shared, "intercept": scoring.intercept}
        scoring = RowScoring(scoring.X, np.diff(scoring.first), scoring.n_labels, **options)
    direction = whole_pullback(scoring, i, delta)
    return direction @ direction


@each_scoring
@pytest.mark.parametrize("share", [1.0, 0.1], ids=["full", "nearly zero"])
def test_compiled_norm_and_move_are_those_of_the_pullback(scoring, rng, share):
    record, _alive = erase_scoring(scoring.record, frozenset({"squared_norm", "add_pullback"}))
    for i in [*range(scoring.n_examples), 0]:  # scratch memory is used again
        size = np.diff(scoring.start)[i] + scoring.n_shared
        delta = rng.normal(size=size) * (rng.random(size) < share)
        direction = whole_pullback(scoring, i, delta)
        norm = squared_norm(record, i, delta, 0)
        assert norm == pytest.approx(norm_of(scoring, i, delta), rel=1e-10)
        assert norm >= direction @ direction * (1 - 1e-10)
        w = rng.normal(size=scoring.n_weights)
        moved = w.copy()
        add_pullback(record, i, delta, -0.7, moved, 0)
        np.testing.assert_allclose(moved, w - 0.7 * direction, rtol=1e-10, atol=1e-11)


@each_scoring
@pytest.mark.parametrize("share", [1.0, 0.1], ids=["full", "nearly zero"])
def test_some_scores_and_products_are_those_of_the_maps(scoring, rng, share):
    record, _alive = erase_scoring(scoring.record, frozenset({"score_subset", "gram"}))
    for i in [*range(scoring.n_examples), 0]:
        n_local = np.diff(scoring.start)[i]
        size = n_local + scoring.n_shared
        wanted = rng.random(n_local) < share
        w, delta = rng.normal(size=scoring.n_weights), rng.normal(size=size) * (rng.random(size) < share)
        some, out = np.full(n_local, np.nan), np.full(size, np.nan)
        score_subset(record, i, w, wanted, 0, some)
        np.testing.assert_allclose(some[wanted], scoring.scores(w, i, i + 1)[wanted], rtol=1e-10, atol=1e-11)
        gram(record, i, delta, wanted, 0, out)
        pulled_back = whole_pullback(scoring, i, delta)
        expected = np.concatenate([scoring.scores(pulled_back, i, i + 1), scoring.shared(pulled_back)])
        needed = np.concatenate([wanted, np.ones(scoring.n_shared, dtype=bool)])
        np.testing.assert_allclose(out[needed], expected[needed], rtol=1e-10, atol=1e-10)


def test_all_parts_are_scored_where_a_scoring_does_not_score_some():
    scoring = parts()
    w, theta = np.ones(scoring.n_weights), np.zeros(6)
    score_all(scoring.record, 0, w, np.zeros(6, dtype=bool), scoring_workspace(scoring.record), theta)
    np.testing.assert_allclose(theta, scoring.scores(w, 0, 1))


def test_scores_are_features_times_weights():
    scoring = rows()
    w = np.random.default_rng(0).normal(size=scoring.n_weights)
    W = w[: (D + 1) * N_LABELS].reshape(D + 1, N_LABELS)
    expected = np.column_stack([scoring.X, np.ones(len(scoring.X))]) @ W
    np.testing.assert_allclose(scoring.scores(w, 0, 3), expected.ravel())
    np.testing.assert_array_equal(scoring.shared(w), w[-4:])


def test_scores_of_seen_pairs_are_features_times_a_table_of_zeros_elsewhere():
    scoring = seen(sparse.csr_matrix)
    w = np.random.default_rng(0).normal(size=scoring.n_weights)
    n_pairs = scoring.pairs.label.size
    table = np.zeros((D, 8))
    table[np.repeat(np.arange(D), np.diff(scoring.pairs.first)), scoring.pairs.label] = w[:n_pairs]
    expected = scoring.X @ table + w[n_pairs : n_pairs + 8]
    np.testing.assert_allclose(scoring.scores(w, 0, 3), expected.ravel(), atol=1e-12)
    np.testing.assert_array_equal(scoring.pairs.table(w, 8).toarray(), table)
    squares = (scoring.X.toarray() ** 2) @ (table != 0) + 1
    np.testing.assert_allclose(scoring.part_norms(0, 3), np.sqrt(squares).ravel())


def test_seen_pairs_are_those_of_rows_and_labels():
    X, codes = features(12, density=0.3), np.arange(12) % 5
    pairs = SeenPairs.of(sparse.csr_matrix(X), codes, 6)
    expected = {(j, codes[t]) for t, j in zip(*np.nonzero(X))}
    owner = np.repeat(np.arange(D), np.diff(pairs.first))
    assert set(zip(owner.tolist(), pairs.label.tolist())) == expected
    pairs.check(D, 6)


@pytest.mark.parametrize(
    ("first", "label", "message"),
    [
        ([0, 1], [0, 1], "out of range"),
        ([0, 2, 1, 2], [0, 1], "out of range"),
        ([0, 1, 2, 2], [0, 7], "out of range"),
        ([0, 2, 2, 2], [1, 0], "not in order"),
        ([0, 2, 2, 2], [1, 1], "not in order"),
    ],
)
def test_pairs_that_cannot_be_are_refused(first, label, message):
    with pytest.raises(ValueError, match=message):
        SeenPairs(np.array(first), np.array(label, dtype=np.uint32)).check(3, 6)


def test_part_scores_are_features_times_weights():
    scoring = parts(intercept=True)
    w = np.random.default_rng(0).normal(size=D + 1)
    np.testing.assert_allclose(scoring.scores(w, 0, 3), scoring.F @ w[:D] + w[D])


@pytest.mark.parametrize(
    ("scoring", "field"),
    [
        (rows(dtype=np.float32, density=1.0), "rows.X"),
        (rows(sparse.csr_matrix, np.float32), "rows.data"),
        (rows(dtype=np.float32, density=0.1), "rows.data"),
        (parts(np.float32), "F"),
    ],
    ids=["dense", "CSR", "dense with few non-zeros", "parts"],
)
def test_float32_features_stay_float32_in_storage(scoring, field):
    assert attrgetter(field)(scoring.record).dtype == np.float32
    kept = [value for value in vars(scoring).values() if hasattr(value, "dtype")]
    assert not [value for value in kept if value.dtype == np.float64]


def test_features_are_not_copied():
    X = features(7)
    scoring = RowScoring(X, LENGTHS, N_LABELS)
    assert np.shares_memory(scoring.record.rows.X, X)


IN_ANY_ORDER = {
    "rows": (lambda X: RowScoring(X, LENGTHS, N_LABELS, n_shared=4, intercept=True), "rows.X"),
    "single rows": (lambda X: RowScoring(X, np.ones(7, dtype=int), 1), "rows.X"),
    "parts": (lambda X: PartScoring(X, np.array([(7, 1)])), "F"),
    "graphs": (lambda X: one_graph(X, X[:3]), "local.rows.X"),
    "sums": (lambda X: SumScoring(items(X), items(X)), "rows.vectors"),
}


def one_graph(X, F):
    sides = [RowScoring(rows, np.array([len(rows)]), 1) for rows in (X, F)]
    return JointScoring(*sides, shapes=np.array([(len(X) + len(F), 0)]))


def items(vectors):
    return Items(vectors, np.arange(7), np.array([0, 3, 7]))


@pytest.mark.parametrize("order", [np.asfortranarray, lambda X: np.repeat(X, 2, axis=1)[:, ::2]])
@pytest.mark.parametrize(("make", "field"), IN_ANY_ORDER.values(), ids=IN_ANY_ORDER)
def test_features_in_another_order_are_copied_once(make, field, order, rng):
    X = features(7)
    given, plain = make(order(X)), make(X)
    w, delta = rng.normal(size=plain.n_weights), rng.normal(size=plain.start[-1])
    np.testing.assert_array_equal(given.scores(w, 0, given.n_examples), plain.scores(w, 0, plain.n_examples))
    np.testing.assert_array_equal(
        pulled(given, delta, 0, given.n_examples), pulled(plain, delta, 0, plain.n_examples)
    )
    kept = attrgetter(field)(given.record)
    assert kept.flags.c_contiguous
    with ThreadPoolExecutor(2) as threads:  # what passes read is that one copy, in every thread
        found = list(threads.map(lambda _: features_behind(given.for_pass(maximize_chunk)), range(2)))
    assert found == [kept.__array_interface__["data"][0]] * 2


def test_features_in_another_order_give_the_same_fit(rng):
    X, y = rng.normal(size=(30, D)), rng.integers(0, N_LABELS, 30)
    fits = [MulticlassClassifier(random_state=0).fit(given, y) for given in (X, np.asfortranarray(X))]
    np.testing.assert_array_equal(fits[0].coef_, fits[1].coef_)


def features_behind(erased):
    """The address of the first array that an erased record reads: its first word."""
    return ctypes.cast(erased.words, ctypes.POINTER(ctypes.c_int64))[0]


@pytest.mark.parametrize(("density", "form"), [(SPARSE_ENOUGH / 2, SparseRows), (1.0, DenseRows)])
def test_dense_data_with_few_non_zeros_is_stored_as_csr(density, form):
    assert isinstance(rows(density=density).record.rows, form)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_stored_as_csr_are_those_that_scipy_makes(dtype):
    X = sparse.random_array((10, 7), density=0.2, random_state=0).toarray().astype(dtype)
    X[[2, 9]] = 0.0
    found, wanted = RowScoring(X, np.full(5, 2), 3).record.rows, sparse.csr_matrix(X)
    assert found.data.dtype == dtype
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


def test_nothing_wide_is_stored_for_wide_sparse_rows():
    wide = sparse.random_array((7, 10**6), density=1e-5, format="csr", random_state=0)
    scoring = RowScoring(wide, LENGTHS, N_LABELS, intercept=True)
    record = scoring.record
    values = [*record, *record.rows, *scratch_arrays(scoring)]
    held = [value for value in values if hasattr(value, "nbytes")]
    assert sum(value.nbytes for value in held) < 10**5


def scratch_arrays(scoring):
    work = scoring_workspace(scoring.record)
    return work if isinstance(work, tuple) else (work,)


@pytest.mark.parametrize("parts_at_once", [1, 5, 10**6])
def test_chunks_cover_all_examples_once(parts_at_once):
    chunks = rows().chunks(parts_at_once)
    assert [first for first, _ in chunks[1:]] == [last for _, last in chunks[:-1]]
    assert (chunks[0][0], chunks[-1][1]) == (0, len(LENGTHS))
    assert all(first < last for first, last in chunks)


def test_sums_are_scores_of_concatenated_features(rng):
    scoring = sums()
    w = rng.normal(size=scoring.n_weights)
    written = []
    for i in range(scoring.n_examples):
        u, v = (
            side.vectors[side.index[side.start[i] : side.start[i + 1]]]
            for side in (scoring.rows, scoring.columns)
        )
        written += [np.concatenate([a, b]) for a in u for b in v]
    whole = PartScoring(np.array(written), scoring.shapes)
    np.testing.assert_allclose(scoring.scores(w, 0, 3), whole.scores(w, 0, 3))
    np.testing.assert_allclose(scoring.part_norms(0, 3), whole.part_norms(0, 3))


# ---- what compiled code would read beyond ----------------------------------------------------------------

SCORINGS = [
    rows,
    lambda: rows(sparse.csr_matrix),
    parts,
    graphs,
    sums,
    lambda: JointScoring(rows(n_shared=0), rows(n_labels=9, n_shared=0)),
]


@pytest.mark.parametrize("make", SCORINGS)
def test_weights_and_ranges_that_do_not_fit_are_refused(make):
    scoring = make()
    w, n = np.zeros(scoring.n_weights), scoring.n_examples
    for wrong in (w[:-1], np.append(w, 0.0), w[:, None]):
        with pytest.raises(ValueError, match=f"These features have {w.size} weights"):
            scoring.scores(wrong, 0, n)
        with pytest.raises(ValueError, match=f"These features have {w.size} weights"):
            scoring.pullback(np.zeros(scoring.start[-1]), 0, n, wrong)
    for first, last in ((-1, 1), (0, n + 1), (2, 1)):
        with pytest.raises(ValueError, match=f"There are {n} examples"):
            scoring.scores(w, first, last)
        with pytest.raises(ValueError, match=f"There are {n} examples"):
            scoring.part_norms(first, last)
    with pytest.raises(ValueError, match="local parts"):
        scoring.pullback(np.zeros(scoring.start[-1] - 1), 0, n, w)


@pytest.mark.parametrize("lengths", [[1, 4, 3], [1, 4, 1], [4, 4, -1]])
def test_lengths_that_do_not_add_up_are_refused(lengths):
    said = "The lengths of the examples add up to"
    with pytest.raises(ValueError, match=said):
        RowScoring(np.zeros((7, 2)), np.array(lengths), 2)
    with pytest.raises(ValueError, match=said):
        PartScoring(np.zeros((7, 2)), np.ones((3, 2)), sizes=np.array(lengths))


@pytest.mark.parametrize(("part", "at", "value"), [("indices", 0, 9), ("indices", 2, -1), ("indptr", 1, 99)])
def test_damaged_sparse_rows_are_refused(part, at, value):
    X = sparse.csr_matrix(features(7, density=0.6))
    getattr(X, part)[at] = value
    with pytest.raises(ValueError, match="The sparse matrix is damaged"):
        RowScoring(X, LENGTHS, 2)


def test_items_without_vectors_are_refused():
    side = Items(features(4), np.array([3, 0, 1, 1, 4]), np.array([0, 2, 3, 5]))
    with pytest.raises(ValueError, match="Items must be numbers of vectors, 0 to 3"):
        SumScoring(side, side)


def test_labels_and_pairs_of_other_examples_are_refused():
    with pytest.raises(ValueError, match="over the same rows"):
        JointScoring(rows(n_shared=0), rows(n_labels=9, n_shared=0, lengths=LENGTHS[::-1]))

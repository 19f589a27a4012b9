"""The aligner: features by hand, the rule without gold links, learning, files."""

import numpy as np
import pytest
from sklearn.base import clone

import structlearn
from model_files import rewrite
from structlearn.alignment.aligner import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.gold.context import fill_context
from structlearn.alignment.gold.features import STRONG, SpelledWords, edge_features, link_feature_names
from structlearn.alignment.gold.gold_pairs import gold_of
from structlearn.alignment.gold.vectors import WordVectors, nearest_links, unit_rows
from structlearn.alignment.gold.words import gold_surplus
from structlearn.alignment.links import Links, link_table, table_links
from structlearn.alignment.metrics import alignment_scores
from structlearn.alignment.statistics.statistics import by_pair
from structlearn.alignment.text.bitext import Bitext
from structlearn.structures import Matching

N_TRAIN = 120
PARAMETERS = {"regularization": 5.0, "missed": 2.0, "random_state": 0}


@pytest.fixture(scope="module")
def corpus():
    return load_corpus()


@pytest.fixture(scope="module")
def pairs(corpus):
    return [(one.source, one.target) for one in corpus]


@pytest.fixture(scope="module")
def links(corpus):
    return [one.links for one in corpus]


@pytest.fixture(scope="module")
def rule(pairs):
    """The unsupervised aligner."""
    return Aligner().fit(pairs)


@pytest.fixture(scope="module")
def aligner(pairs, links, rule):
    return Aligner(**PARAMETERS).fit(pairs[:N_TRAIN], links[:N_TRAIN], statistics=rule.statistics_)


def test_features_are_what_their_names_say(rule):
    pair = (["the", "house", "zurich", "."], ["la", "maison", "zurich", "."])
    features = edge_features(rule.statistics_, [([], ["x"]), pair])
    x = dict(zip(link_feature_names(), features.F.reshape(4, 4, -1).transpose(2, 0, 1), strict=True))
    tables = rule.statistics_.tables(*pair)
    a = tables.agreement()
    np.testing.assert_allclose(x["constant"], STRONG)
    np.testing.assert_allclose(x["agreement"], STRONG * a, rtol=1e-5)
    np.testing.assert_allclose(x["mean"], STRONG * (tables.forward + tables.reverse) / 2, rtol=1e-5)
    np.testing.assert_allclose(x["larger"], np.maximum(tables.forward, tables.reverse), rtol=1e-5)
    np.testing.assert_allclose(x["forward_null"], np.tile(tables.forward_null, (4, 1)), rtol=1e-5)
    np.testing.assert_allclose(x["backward_null"].T, np.tile(tables.reverse_null, (4, 1)), rtol=1e-5)
    around = np.pad(a, 1)
    np.testing.assert_allclose(x["previous"], around[:-2, :-2], rtol=1e-5)
    np.testing.assert_allclose(x["above"], np.maximum(around[:-2, 1:-1], around[2:, 1:-1]), rtol=1e-5)
    for i, j in np.ndindex(4, 4):
        others = np.concatenate([np.delete(a[i], j), np.delete(a[:, j], i)])
        assert x["margin"][i, j] == pytest.approx(a[i, j] - others.max(), abs=1e-6)
        assert x["best_in_both"][i, j] == (a[i, j] > others.max())
        assert x["same"][i, j] == (pair[0][i] == pair[1][j])
    np.testing.assert_array_equal(x["mark_and_word"][3], [1, 1, 1, 0])
    assert x["likeness"][1, 1] == pytest.approx(1 / 6)  # "o" of house and maison, or "s"


def test_without_gold_links_are_where_the_mean_is_above_a_half(rule, pairs, monkeypatch):
    monkeypatch.setattr("structlearn.alignment.linking.link_identical", lambda edges, *more: edges)
    bitext = rule.statistics_.encode(pairs)
    tables = by_pair(bitext, rule.statistics_.posteriors(bitext))
    assert rule.predict(pairs) == [table_links(one.mean() > 0.5) for one in tables]
    assert rule.certificate_ is None
    scores = rule.predict_scores(pairs[:3])
    assert min(value for one in scores for value in one.values()) > 0.4


def test_a_matching_learns_the_links_of_the_rule(pairs):
    aligner = Aligner(fertility=1).fit(pairs[:40])
    features = aligner.features(pairs[:40])
    X = features.bitext.tables(features.F)
    y = [link_table(one, x.shape[:2]) for one, x in zip(aligner.predict(pairs[:40]), X)]
    model = structlearn.MatchingClassifier(cost="count", regularization=0.01, tol=0.1, random_state=0).fit(
        X, y
    )
    assert model.score(X, y) > 0.9


def test_learning_beats_the_rule(rule, aligner, pairs, links):
    test = slice(N_TRAIN, None)
    before, after = (alignment_scores(links[test], one.predict(pairs[test])).aer for one in (rule, aligner))
    assert after < before
    assert aligner.certificate_.gap <= 1e-2
    assert aligner.weights_.size == len(aligner.feature_names_)


def test_fertility_bounds_links(rule, pairs, links):
    one = Aligner(fertility=1, **PARAMETERS).fit(pairs[:40], links[:40], statistics=rule.statistics_)
    for found in one.predict(pairs):
        assert len({i for i, _ in found}) == len({j for _, j in found}) == len(found)


def test_sure_links_above_the_fertility_become_free(rule):
    pair = (["i", "am", "here"], ["je", "suis", "ici"])
    features = edge_features(rule.statistics_, [pair])
    known = Links.of([(0, 0), (0, 1), (0, 2), (1, 1)], [(2, 2)])
    gold = gold_of(features, [known], Matching(capacities=(1, 1)))
    table, free = gold.tables[0], gold.free[0]
    assert table.sum(axis=0).max() == table.sum(axis=1).max() == 1
    assert table.sum() == 2
    np.testing.assert_array_equal(table + free, known.tables((3, 3))[1])


@pytest.mark.parametrize("known", [Links.of([]), Links.of([], [(0, 0)])])
def test_gold_links_of_which_none_is_sure_teach_nothing(rule, pairs, known):
    with pytest.warns(UserWarning, match="No gold link is sure: they teach nothing"):
        taught = Aligner().fit(pairs[:3], [known] * 3, statistics=rule.statistics_)
    assert taught.certificate_ is None
    assert taught.predict(pairs[:9]) == rule.predict(pairs[:9])


def test_cross_validation_chooses_the_least_error(rule, pairs, links):
    found = Aligner(missed=2.0, folds=2, random_state=0).fit(
        pairs[:20], links[:20], statistics=rule.statistics_
    )
    assert len(found.validation_) == 4
    assert found.aer_ == min(trial.aer for trial in found.validation_)
    best = min(found.validation_, key=lambda trial: trial.aer).setting
    again = Aligner(**best._asdict(), random_state=0).fit(pairs[:20], links[:20], statistics=rule.statistics_)
    np.testing.assert_array_equal(again.weights_, found.weights_)


def test_pseudo_gold_stays_near_the_rule(rule, pairs):
    taught = Aligner(pseudo_gold=True, **PARAMETERS).fit(pairs[:60], statistics=rule.statistics_)
    rule_links = [Links.of(one) for one in rule.predict(pairs)]
    assert alignment_scores(rule_links, taught.predict(pairs)).f1 > 0.8
    assert taught.certificate_ is not None


def test_confidences_are_probabilities(aligner, pairs):
    for (source, target), table in zip(pairs[:20], aligner.confidences(pairs[:20])):
        assert table.shape == (len(source), len(target))
        assert table.min() >= 0
        assert table.max() <= 1


def test_empty_sides_have_no_links(aligner, pairs):
    batch = [([], ["x"]), pairs[0], ([], []), (["x"], [])]
    assert aligner.predict(batch) == [frozenset(), aligner.predict([pairs[0]])[0], frozenset(), frozenset()]
    assert aligner.predict([]) == aligner.predict(batch[:1])[1:] == []


@pytest.mark.parametrize(
    "given",
    [
        [("the house", "la maison")],
        [(["the", "house"], "la maison")],
        [("the house", ["la", "maison"])],
        (["the", "house"], ["la", "maison"]),
        ["the house ||| la maison"],
        [{"source": ["the"], "target": ["la"]}],
        [({"the": 1}, ["la"])],
        [(["the"], ["la"], ["more"])],
        [(3, ["la"])],
    ],
)
def test_strings_in_place_of_words_are_refused(rule, given):
    said = r'A pair is two lists of words.*"the house".split\(\), "la maison".split\(\)'
    for ask in (rule.predict, rule.predict_scores, rule.confidences, rule.unknown_words, Aligner().fit):
        with pytest.raises(ValueError, match=said):
            ask(given)
    with pytest.raises(ValueError, match=said):
        Bitext.from_pairs(given)


def test_words_that_are_no_strings_are_refused(rule):
    for word in (3, None, ("the",), {"w": "the"}, ["the"]):
        with pytest.raises(ValueError, match='A word is a string, such as "house"'):
            rule.predict([([word], ["la"])])
        with pytest.raises(ValueError, match='A word is a string, such as "house"'):
            Aligner().fit([([word], ["la"])])


def test_words_are_looked_up_in_lower_case_and_without_accents(rule, pairs):
    source, target = pairs[0]
    assert rule.predict([([word.upper() for word in source], target)]) == rule.predict([(source, target)])
    bare = Aligner(strip_accents=True).fit([], statistics=rule.statistics_)
    assert bare.write_pair((["Été"], ["CŒUR"])) == (["ete"], ["coeur"])


def test_files(aligner, rule, pairs, tmp_path):
    for k, one in enumerate((aligner, rule)):
        one.save(tmp_path / f"{k}.st")
        found = Aligner.load(tmp_path / f"{k}.st")
        assert found.get_params() == one.get_params()
        assert found.certificate_ == one.certificate_
        assert found.history_.rows == one.history_.rows
        assert found.predict_scores(pairs[:30]) == one.predict_scores(pairs[:30])
        assert structlearn.load(tmp_path / f"{k}.st").predict(pairs[:3]) == one.predict(pairs[:3])


def test_vectors_add_cosines(rule, pairs, links, tmp_path):
    rng = np.random.default_rng(0)
    words = [sorted({word for pair in pairs for word in pair[k]}) for k in (0, 1)]
    sides = [np.float32(rng.normal(size=(len(side), 5))) for side in words]
    sides = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides]
    vectors = tuple(
        WordVectors(["unseen", *side], np.pad(M, ((1, 0), (0, 0)))) for side, M in zip(words, sides)
    )
    found = Aligner(**PARAMETERS).fit(pairs[:30], links[:30], statistics=rule.statistics_, vectors=vectors)
    assert found.feature_names_ == link_feature_names(vectors=True, taught=True, again=True)
    source, target = [*pairs[0][0], "?!?"], pairs[0][1]
    features = found.features([([], ["x"]), (source, target)]).F.reshape(len(source), len(target), -1)
    cosine = vectors[0].of(source) @ vectors[1].of(target).T
    k = found.feature_names_.index("cosine")
    np.testing.assert_allclose(features[:, :, k], cosine, atol=1e-6)
    for i, j in np.ndindex(cosine.shape):
        others = [0, *np.delete(cosine[i], j), *np.delete(cosine[:, j], i)]
        assert features[i, j, k + 1] == (cosine[i, j] > max(others))
    around = [
        unit_rows(
            np.stack([side[max(0, i - 3) : i].sum(0) + side[i + 1 : i + 4].sum(0) for i in range(len(side))])
        )
        for side in (vectors[0].of(source), vectors[1].of(target))
    ]
    np.testing.assert_allclose(features[:, :, k + 2], around[0] @ around[1].T, atol=1e-5)
    found.save(tmp_path / "m.st")
    assert Aligner.load(tmp_path / "m.st").predict(pairs) == found.predict(pairs)
    other = WordVectors(vectors[1].words, vectors[1].matrix[:, :3])
    with pytest.raises(ValueError, match="differ in dimension"):
        Aligner().fit([], statistics=rule.statistics_, vectors=(vectors[0], other))


def test_parameters_are_kept(aligner):
    assert clone(aligner).get_params() == aligner.get_params()


@pytest.mark.parametrize(
    ("parameters", "links", "said"),
    [
        ({}, [], "2 pairs but links of 0"),
        ({"fertility": 0}, None, "fertility is at least 1"),
        ({"folds": 1}, None, "folds is at least 2"),
        ({"regularization": 0.0}, None, "regularization must be above 0"),
        ({"missed": -1.0}, None, "missed must be at least 0"),
        ({"spurious": float("nan")}, None, "spurious must be a finite number"),
        ({"pseudo_gold": "neares"}, None, "Did you mean 'nearest'"),
        ({}, [Links.of([(0, 9)]), Links.of(())], r"Pair 0 has a link \(0, 9\)"),
        ({}, [Links.of([(-1, 0)]), Links.of(())], r"Pair 0 has a link \(-1, 0\)"),
    ],
)
def test_refusals(rule, pairs, parameters, links, said):
    with pytest.raises(ValueError, match=said):
        Aligner(**parameters).fit(pairs[:2], links, statistics=rule.statistics_)


def random_vectors(pairs, dimension=5):
    rng = np.random.default_rng(0)
    sides = [sorted({word for pair in pairs for word in pair[k]}) for k in (0, 1)]
    return tuple(
        WordVectors(words, unit_rows(rng.normal(size=(len(words), dimension)).astype(np.float32)))
        for words in sides
    )


def test_links_of_nearest_vectors_as_gold(rule, pairs):
    vectors = random_vectors(pairs, 50)
    parameters = {"pseudo_gold": "nearest", "fertility": 1, "regularization": 0.1, "missed": 1.0}
    found = Aligner(**parameters, random_state=0).fit(
        pairs[:40], statistics=rule.statistics_, vectors=vectors
    )
    gold = [Links.of(table_links(nearest_links(pair, vectors))) for pair in pairs[:40]]
    before, after = (alignment_scores(gold, one.predict(pairs[:40])).f1 for one in (rule, found))
    assert after > before + 0.2
    assert found.weights_[found.feature_names_.index("cosine_best_in_both")] > 0
    with pytest.raises(ValueError, match="give vectors"):
        Aligner(pseudo_gold="nearest").fit(pairs[:2], statistics=rule.statistics_)


def test_vectors_of_two_spaces_are_mapped_by_sure_translations(rule, pairs):
    known = rule.statistics_.sure_translations(often=2)
    assert ("house", "maison") in known
    source, target = random_vectors(pairs, 3)[0], random_vectors(pairs, 4)[1]
    with pytest.raises(ValueError, match="differ in dimension"):
        Aligner().fit([], statistics=rule.statistics_, vectors=(source, target))
    found = Aligner(map_vectors=True).fit([], statistics=rule.statistics_, vectors=(source, target))
    assert found.mapped_.known == len(rule.statistics_.sure_translations())
    assert [side.matrix.shape[1] for side in found.vectors_] == [4, 4]


def test_costs_in_other_units_give_the_same_aligner(rule, pairs, links):
    """P(w; lambda / t, t c) = t P(w / t; lambda, c)."""
    fits = [
        Aligner(
            loss="hinge", regularization=5.0 / t, missed=2.0 * t, spurious=t, tol=1e-3 * t, random_state=0
        ).fit(pairs[:40], links[:40], statistics=rule.statistics_)
        for t in (1.0, 2.0)
    ]
    primals = [one.certificate_.primal for one in fits]
    assert primals[1] == pytest.approx(2.0 * primals[0], abs=4e-3)


def table(name, value):
    return lambda header, tensors: tensors.update({f"statistics.{name}": np.asarray(value)})


def entry(name, place, value):
    def change(header, tensors):
        tensors[f"statistics.{name}"][place] = value

    return change


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (entry("lexicon.start", 3, 10**9), "the entries of its lexicon are out of range"),
        (entry("lexicon.start", 0, -5), "the entries of its lexicon are out of range"),
        (entry("source.counts", 0, -7), "the table source.counts has entries below zero"),
        (entry("forward.translation", 0, -0.5), "the table forward.translation has entries below zero"),
        (entry("lexicon.target", 0, 10**8), "the entries of its lexicon are out of range"),
        (entry("forward.translation", 0, np.nan), "numbers that are not finite"),
        (table("forward.translation", np.zeros(3, dtype=np.float32)), "forward.translation must have"),
        (table("reverse.null", np.zeros(0)), "reverse.null must have"),
        (
            lambda header, tensors: tensors.update({"gold.pair.rows": np.array([10**8] * 3)}),
            "gold links say of the pair",
        ),
        (table("forward.jumps", np.ones(40)), "a table of jumps must have 41 entries a row"),
        (table("reverse.visits", np.ones(1)), "visits do not fit its jumps"),
        (entry("reverse.classes", 0, 10**6), "classes of words do not fit its jumps"),
        (table("lexicon.together", np.zeros((2, 2))), "lexicon.together must have"),
        (table("source.words", np.frombuffer(b'["a", 3]', dtype=np.uint8)), "words of the source"),
        (lambda header, tensors: tensors.pop("statistics.target.counts"), "it lacks the table target.counts"),
        (lambda header, tensors: tensors.update(weights=np.zeros(3)), "3 weights of"),
        (lambda header, tensors: tensors.update({"first.weights": np.zeros(3)}), "has 3 weights"),
        (lambda header, tensors: header["fitted"].update(n_voters_=1 << 40), "fewer voters"),
        (
            lambda header, tensors: header["fitted"].update(slope_="steep"),
            "slope_ must be a finite number",
        ),
        (lambda header, tensors: header["fitted"].pop("feature_names_"), "it lacks fitted.feature_names_"),
        (
            lambda header, tensors: header["parameters"].update(os=1),
            "its parameters are not those of an Aligner",
        ),
        (lambda header, tensors: header["parameters"].update(folds="5"), "parameters.folds must be int"),
        (lambda header, tensors: header.update(structure=None), "structure must be dict"),
        (lambda header, tensors: header["structure"]["arguments"].update(capacities=[0, 1]), "capacities"),
        (lambda header, tensors: header["certificate"].pop("gap", None), "it lacks certificate.gap"),
    ],
)
def test_damaged_files_are_refused(aligner, tmp_path, change, why):
    """Compiled code looks up what the tables say: they must agree before it does."""
    path = tmp_path / "model.st"
    aligner.save(path)
    rewrite(path, change)
    with pytest.raises(ValueError, match=f"model.st is damaged: .*{why}"):
        Aligner.load(path)


def test_gold_words_leave_out_the_pair_itself(rule, pairs, links):
    """With and without a pair: its features are those of a model that has never seen its links."""
    whole = Aligner(**PARAMETERS).fit(pairs[:30], links[:30], statistics=rule.statistics_)
    without = Aligner(**PARAMETERS).fit(pairs[1:30], links[1:30], statistics=rule.statistics_)
    base = rule.features(pairs[:30])
    surplus = gold_surplus(base, links[:30])
    first = slice(0, int(base.bitext.cell_start[1]))
    np.testing.assert_allclose(
        whole.features(pairs[:30], surplus).F[first], without.features(pairs[:1]).F, atol=1e-9
    )
    assert np.abs(whole.features(pairs[:1]).F - without.features(pairs[:1]).F).max() > 0.01


def test_gold_words_count_links_beyond_the_agreement(rule, pairs, links):
    aligner = Aligner(**PARAMETERS).fit(pairs[:30], links[:30], statistics=rule.statistics_)
    names, word = aligner.feature_names_, pairs[0][0][0]
    surplus, count = 0.0, 0
    for pair, one in zip(pairs[:30], links[:30]):
        agreement = rule.statistics_.tables(*pair).agreement()
        sure, possible = one.tables(agreement.shape)
        for i in (i for i, other in enumerate(pair[0]) if other == word):
            surplus += (sure - agreement)[i][possible[i] == sure[i]].sum()
            count += 1
    found = aligner.features(pairs[:1]).F[0, names.index("gold_source")]
    assert found == pytest.approx(surplus / (count + 2), rel=1e-4)


def test_context_of_copies():
    """The house the garden, la maison la porte."""
    source, target = (SpelledWords(np.array(w), np.array([0, 4]), None) for w in ([0, 1, 0, 2], [0, 1, 0, 3]))
    a = np.random.default_rng(0).random((4, 4))
    out = np.empty((16, 8))
    mean = np.random.default_rng(1).random((4, 4))
    fill_context(source._replace(spellings=0), target._replace(spellings=0), a.ravel(), mean.ravel(), out)
    x = out.reshape(4, 4, 8)
    support = np.zeros((4, 4))
    for i, j, k, l in np.ndindex(4, 4, 4, 4):
        if k != i and l != j:
            support[i, j] += a[k, l] / ((1 + abs(k - i - l + j)) * (abs(k - i) + abs(l - j)))
    np.testing.assert_allclose(x[..., 0], support)
    assert x[0, 1, 1] == pytest.approx(a[0, 1] - a[2, 1])  # the other "the"
    assert x[1, 0, 2] == pytest.approx(support[1, 0] - support[1, 2])  # the other "la"
    assert x[1, 1, 1] == x[1, 1, 2] == 0
    np.testing.assert_allclose(x[..., 3], np.minimum(a.sum(axis=1, keepdims=True) - a, 2))
    repeated = np.ones((4, 4), dtype=bool)
    repeated[np.ix_([1, 3], [1, 3])] = False
    np.testing.assert_array_equal(x[..., 5], repeated)
    np.testing.assert_array_equal(x[..., 7], np.where(repeated, mean, 0))
    assert x[0, 0, 6] == x[2, 2, 6] == x[0, 1, 6] == 1  # the first copies, the second ones
    assert x[0, 2, 6] == x[2, 0, 6] == x[2, 1, 6] == 0


def test_files_of_before_have_fewer_features(aligner, pairs, tmp_path):
    """A model of before the mean, of gold words and of jumps by classes predicts by what it has."""
    aligner.save(tmp_path / "model.st")
    n = len(link_feature_names())

    def older(header, tensors):
        header["fitted"]["feature_names_"] = link_feature_names()[: n - 1]
        tensors["weights"] = tensors["weights"][: n - 1]
        for name in ("statistics.forward", "statistics.reverse"):
            tensors[f"{name}.jumps"] = tensors[f"{name}.jumps"][-2].copy()
            del tensors[f"{name}.visits"], tensors[f"{name}.classes"]
        for name in [name for name in tensors if name.startswith(("gold.", "first."))]:
            del tensors[name]

    rewrite(tmp_path / "model.st", older)
    found = Aligner.load(tmp_path / "model.st")
    assert found.features(pairs[:1]).F.shape[1] == n
    np.testing.assert_array_equal(found.weights_, [*aligner.weights_[: n - 1], 0.0])
    weights = found.statistics_.forward.jumps.weights
    np.testing.assert_array_equal(weights, np.tile(aligner.statistics_.forward.jumps.weights[-2], (2, 1)))
    assert len(found.predict(pairs[:3])) == 3


def test_gold_links_may_be_sets_of_pairs(pairs, links, rule, aligner):
    """Such as `predict` returns them."""
    sure = [one.sure for one in links[:N_TRAIN]]
    kinds = [list(map(Links.of, sure)), sure, [sorted(one) for one in sure]]
    found = [Aligner(**PARAMETERS).fit(pairs[:N_TRAIN], one, statistics=rule.statistics_) for one in kinds]
    for one in found[1:]:
        np.testing.assert_array_equal(one.weights_, found[0].weights_)


@pytest.mark.parametrize("wrong", [None, 3, "0-0", [(0, 1, 2)], [(0.5, 1)]])
def test_other_links_are_refused(pairs, wrong):
    with pytest.raises(ValueError, match=r"The links of pair 1 must be Links, or pairs"):
        Aligner().fit(pairs[:2], [Links.of([(0, 0)]), wrong])

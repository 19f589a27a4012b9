"""Tables with text and missing values: what scikit-learn makes of them, from a model file's arrays too."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

from model_files import contents, rewrite
from structlearn import (
    BinaryClassifier,
    LinearRegressor,
    MulticlassClassifier,
    MultiLabelClassifier,
    load,
    make_table_transformer,
)
from structlearn.estimators.files.values import to_json
from structlearn.estimators.inputs.feature_names import own_names
from structlearn.estimators.inputs.frames import frame_array
from structlearn.estimators.row_maps.stored import stored_transformer


def people(n=120, seed=0, *, missing=True):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, n).round(),
            "city": rng.choice(["Rome", "Oslo", "Paris"], n),
            "income": rng.normal(5e4, 2e4, n),
            "member": rng.random(n) < 0.5,
            "street": [f"street {k}" for k in rng.integers(0, 40, n)],
        }
    )
    if missing:
        frame.loc[::7, "age"] = np.nan
        frame.loc[::9, "city"] = None
    return frame, np.where((frame.city == "Rome") | (frame.age > 50), "yes", "no")


def outputs(fitted, X):
    found = fitted.transform(X)
    return found if isinstance(found, np.ndarray) else found.toarray()


def of_scikit_learn(min_frequency=5):
    """What a careful person writes for `people`."""
    impute = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
    levels = OneHotEncoder(min_frequency=min_frequency, handle_unknown="infrequent_if_exist")
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(StandardScaler(), impute), ["age", "income"]),
            ("text", levels, ["city", "member", "street"]),
        ]
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


KINDS = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "array": frame_array}


@pytest.mark.parametrize("kind", KINDS)
def test_models_of_tables_are_stored(path, kind):
    frame, y = people()
    X, new = KINDS[kind](frame), KINDS[kind](people(seed=1)[0])
    model = MulticlassClassifier(row_transformer=make_table_transformer(), random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    model.save(path)
    again = load(path)
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    assert contents(path)[0]["version"] == 11
    assert hasattr(again, "feature_names_in_") == (kind != "array")


def test_names_of_columns_and_levels():
    frame, y = people()
    model = MulticlassClassifier(row_transformer=make_table_transformer(min_frequency=4)).fit(frame, y)
    names = own_names(model)(np.arange(model.coef_.shape[1]))
    assert names[:6] == [
        "age",
        "age is missing",
        "city=Oslo",
        "city=Paris",
        "city=Rome",
        "city is missing",
    ]
    assert names[6:8] == ["income", "member=yes"]
    counts = frame.street.value_counts()
    assert set(names[8:]) == {f"street={one}" for one in counts.index[counts >= 4]} | {"street=(rare)"}
    table = frame_array(frame)
    as_arrays = MulticlassClassifier(row_transformer=make_table_transformer(min_frequency=4)).fit(table, y)
    assert own_names(as_arrays)(np.array([0, 2])) == ["x0", "x1=Oslo"]


@pytest.mark.parametrize("seed", range(3))
def test_numbers_and_categories_are_those_of_scikit_learn(seed):
    frame, other = people(seed=seed)[0], people(seed=seed + 10)[0]
    ours, theirs = make_table_transformer().fit(frame), of_scikit_learn().fit(frame)
    own = [name.replace("member=yes", "member=True") for name in ours.get_feature_names_out(frame.columns)]
    names = stored_transformer(theirs).names(list(frame.columns))
    assert sorted([*own, "member=False"]) == sorted(names)
    for table in (frame, other):
        expected = outputs(theirs, table)[:, [names.index(name) for name in own]]
        np.testing.assert_allclose(outputs(ours, table), expected, atol=1e-6)


def test_the_certificate_is_that_of_the_transformed_problem():
    frame, y = people()
    model = MulticlassClassifier(row_transformer=make_table_transformer(), random_state=0).fit(frame, y)
    rows = outputs(make_table_transformer().fit(frame), frame).astype(np.float32)
    plain = MulticlassClassifier(random_state=0).fit(rows, y)
    np.testing.assert_allclose(model.weights_, plain.weights_, atol=1e-12)
    assert model.certificate_.primal == pytest.approx(plain.certificate_.primal)


def test_new_levels_and_new_gaps():
    frame, y = people(missing=False)
    model = LinearRegressor(row_transformer=make_table_transformer(min_frequency=4)).fit(frame, y == "yes")
    odd = frame.iloc[:3].assign(age=[np.nan, 30, 40], city=["Atlantis", None, "Rome"], street="nowhere")
    rows = outputs(stored_transformer(model.row_transformer_), odd)
    names = own_names(model)(np.arange(rows.shape[1]))
    assert rows[0, names.index("age")] == pytest.approx(
        (frame.age.median() - frame.age.mean()) / frame.age.std(ddof=0)
    )
    assert "age is missing" not in names  # which no row of training was
    assert rows[:2, [k for k, name in enumerate(names) if name.startswith("city")]].sum() == 0
    np.testing.assert_array_equal(rows[:, names.index("street=(rare)")], 1)


def test_a_column_that_is_empty_in_training(path):
    """As in a fold of a table with few values of it: nothing is learned, and nothing is said."""
    frame, y = people()
    model = MulticlassClassifier(row_transformer=make_table_transformer(), random_state=0)
    model.fit(frame.assign(age=np.nan), y).save(path)
    np.testing.assert_array_equal(load(path).decision_function(frame), model.decision_function(frame))
    names = own_names(model)(np.arange(model.coef_.shape[1]))
    assert not any(name.startswith("age") for name in names)


ENCODERS = {
    "usual": OneHotEncoder(handle_unknown="ignore"),
    "strict": OneHotEncoder(),
    "strict, grouped": OneHotEncoder(min_frequency=4),
    "grouped": OneHotEncoder(min_frequency=40, handle_unknown="infrequent_if_exist"),
    "at most": OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist"),
    "without the first": OneHotEncoder(drop="first", handle_unknown="ignore"),
    "without the first, grouped": OneHotEncoder(
        drop="first", min_frequency=30, handle_unknown="infrequent_if_exist"
    ),
    "one for two": OneHotEncoder(drop="if_binary", sparse_output=False),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_are_those_of_scikit_learn(name):
    frame, _ = people()
    frame = frame[["city", "member", "street", "age"]].assign(age=frame.age.fillna(0) // 20)
    encoder = ENCODERS[name].fit(frame)
    stored = stored_transformer(encoder)
    np.testing.assert_array_equal(outputs(stored, frame), outputs(encoder, frame))
    assert len(stored.names(list(frame.columns))) == stored.n_outputs
    odd = frame.iloc[:2].assign(city="Atlantis")
    if encoder.handle_unknown == "error":
        with pytest.raises(ValueError, match="unknown categories"):
            stored.transform(odd)
    else:
        with pytest.warns(UserWarning, match="unknown") if name == "without the first" else _quiet():
            expected = outputs(encoder, odd)
        np.testing.assert_array_equal(outputs(stored, odd), expected)


def _quiet():
    import warnings

    return warnings.catch_warnings(action="ignore")


@pytest.mark.parametrize(
    "imputer",
    [
        SimpleImputer(),
        SimpleImputer(strategy="median", add_indicator=True),
        SimpleImputer(strategy="constant", fill_value=-1.0, add_indicator=True),
        SimpleImputer(strategy="most_frequent", keep_empty_features=True),
    ],
    ids=str,
)
def test_imputers_are_those_of_scikit_learn(imputer):
    frame, _ = people()
    rows = frame[["age", "income"]].to_numpy()
    fitted = imputer.fit(rows)
    np.testing.assert_array_equal(outputs(stored_transformer(fitted), rows), fitted.transform(rows))


def test_text_is_imputed():
    frame, _ = people()
    pipeline = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder())
    fitted = pipeline.fit(frame[["city"]])
    np.testing.assert_array_equal(
        outputs(stored_transformer(fitted), frame[["city"]]), outputs(fitted, frame[["city"]])
    )


@pytest.mark.parametrize(
    "chosen", [["age", "income"], [0, 2], slice(0, 3, 2), [True, False, True, False, False]]
)
def test_columns_by_name_place_slice_and_mask(chosen):
    frame, _ = people()
    fitted = make_column_transformer(
        (make_pipeline(StandardScaler(), SimpleImputer()), chosen), ("drop", ["street"])
    )
    fitted.fit(frame)
    stored = stored_transformer(fitted)
    np.testing.assert_allclose(outputs(stored, frame), fitted.transform(frame), atol=1e-12)
    assert stored.names(list(frame.columns)) == ["age", "income"]


@pytest.mark.parametrize(
    ("transformer", "said"),
    [
        (make_column_transformer((OrdinalEncoder(), ["member"])), "row_transformer OrdinalEncoder"),
        (
            make_column_transformer((FunctionTransformer(np.negative), ["income"])),
            "FunctionTransformer with a function",
        ),
        (
            ColumnTransformer([("a", StandardScaler(), ["income"])], transformer_weights={"a": 2.0}),
            "transformer_weights",
        ),
        (make_column_transformer((SimpleImputer(missing_values=0), ["income"])), "missing_values=0"),
    ],
)
def test_what_no_file_holds_predicts_all_the_same(path, transformer, said):
    frame, y = people()
    model = BinaryClassifier(row_transformer=transformer, max_passes=3, tol=10).fit(frame, y)
    assert model.predict(frame).shape == y.shape
    with pytest.raises(ValueError, match=said):
        model.save(path)
    assert own_names(model)(np.array([0])) == ["mapped0"]


@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_what_could_not_be_read_again_is_not_written(path):
    frame, y = people()
    imputer = SimpleImputer(keep_empty_features=True)
    transformer = make_column_transformer((make_pipeline(MinMaxScaler(), imputer), ["income", "void"]))
    model = MulticlassClassifier(row_transformer=transformer, max_passes=3, tol=10)
    model.fit(frame.assign(void=np.nan), y)
    with pytest.raises(ValueError, match="MinMaxScaler whose scale is not finite"):
        model.save(path)
    assert not path.exists()


# ---- scikit-learn's manners -----------------------------------------------------------------------------


def test_columns_must_be_those_of_training(path):
    frame, y = people()
    model = MulticlassClassifier(row_transformer=make_table_transformer()).fit(frame, y)
    model.save(path)
    for one in (model, load(path)):
        with pytest.raises(ValueError, match="must be in the same order"):
            one.predict(frame[["city", "age", "income", "member", "street"]])
        with pytest.raises(ValueError, match="seen at fit time, yet now missing:\n- age"):
            one.predict(frame.drop(columns="age"))
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            assert one.predict(frame_array(frame)).shape == y.shape


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_of_numbers(path, make):
    rng = np.random.default_rng(0)
    X = make({"a": rng.normal(size=50), "b": rng.normal(size=50)})
    y = (X["a"] > 0).to_numpy()
    multilabel = MultiLabelClassifier(solver="bcfw", random_state=0)
    for estimator in (MulticlassClassifier(), BinaryClassifier(), LinearRegressor(), multilabel):
        target = np.column_stack([y, ~y]).astype(int) if isinstance(estimator, MultiLabelClassifier) else y
        model = estimator.fit(X, target)
        assert model.feature_names_in_.tolist() == ["a", "b"]
        model.save(path)
        assert load(path).feature_names_in_.tolist() == ["a", "b"]
        np.testing.assert_array_equal(load(path).predict(X), model.predict(X))
        assert own_names(load(path))(np.array([1])) == ["b"]


def test_series_are_targets():
    frame, y = people()
    X = pl.from_pandas(frame)
    model = MulticlassClassifier(row_transformer=make_table_transformer()).fit(X, pl.Series(y))
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(X, pl.Series(y)) > 0.9


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_label_columns_keep_their_names(path, make):
    frame, _ = people()
    labels = make(
        {
            "old": (frame.age > 40).astype(int).to_numpy(),
            "roman": (frame.city == "Rome").astype(int).to_numpy(),
        }
    )
    model = MultiLabelClassifier(
        row_transformer=make_table_transformer(), edges=[("old", "roman")], solver="bcfw", random_state=0
    )
    model.fit(frame, labels).save(path)
    again = load(path)
    assert again.classes_.tolist() == ["old", "roman"]
    assert isinstance(again.predict(frame), np.ndarray)
    assert again.score(frame, labels) == model.score(frame, labels) > 0.9


def test_parameters_inside_are_searched():
    frame, y = people()
    model = MulticlassClassifier(row_transformer=make_table_transformer())
    grid = {"row_transformer__min_frequency": [2, 20]}
    found = GridSearchCV(model, grid, cv=2, error_score="raise").fit(frame, y)
    assert found.best_score_ > 0.7


def test_output_as_frames_is_no_hindrance():
    frame, y = people()
    transformer = of_scikit_learn().set_params(text__sparse_output=False).set_output(transform="pandas")
    model = MulticlassClassifier(row_transformer=transformer, random_state=0).fit(frame, y)
    plain = MulticlassClassifier(row_transformer=of_scikit_learn(), random_state=0).fit(frame, y)
    np.testing.assert_allclose(model.weights_, plain.weights_, atol=1e-6)


def test_what_is_no_table_is_refused():
    _, y = people()
    model = MulticlassClassifier(row_transformer=make_table_transformer())
    with pytest.raises(ValueError, match="Expected 2D array"):
        model.fit(y, y)
    with pytest.raises(ValueError, match="0 sample"):
        model.fit(people()[0].iloc[:0], [])
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(people()[0], y[:-1])


@pytest.mark.parametrize("make", [lambda frame: frame, pl.from_pandas])
def test_dates_and_durations(path, make):
    frame, y = people()
    days = np.arange(120) * 5
    when = pd.Series(pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"))
    table = frame.assign(when=when.where(days % 3 > 0), long=pd.to_timedelta(days, unit="h"))
    model = MulticlassClassifier(row_transformer=make_table_transformer()).fit(make(table), y)
    kinds = {name: one.kind for name, one in model.row_transformer_.kinds_.items()}
    assert (kinds["when"], kinds["long"]) == ("date", "number")
    rows = outputs(model.row_transformer_, make(table))
    names = own_names(model)(np.arange(rows.shape[1]))
    for part in ("month", "weekday"):
        levels = when.dt.strftime("%b" if part == "month" else "%a")
        for level in set(levels):
            there = rows[:, names.index(f"when.{part}={level}")]
            np.testing.assert_array_equal(there, (levels == level) & (days % 3 > 0))
    np.testing.assert_array_equal(rows[:, names.index("when is missing")], days % 3 == 0)
    years = when.dt.year[days % 3 > 0]
    np.testing.assert_allclose(
        rows[days % 3 > 0, names.index("when.year")], (years - years.mean()) / years.std(ddof=0), atol=1e-6
    )
    model.save(path)
    np.testing.assert_array_equal(load(path).predict(make(table)), model.predict(make(table)))


def test_words_are_those_of_scikit_learn(path):
    from sklearn.feature_extraction.text import TfidfVectorizer

    rng = np.random.default_rng(0)
    words = np.array(["Good", "bad", "slow!", "fast", "late,", "nice", "x"])
    notes = [" ".join(rng.choice(words, rng.integers(3, 9))) for _ in range(100)] + ["onlyhere " * 3]
    frame = pd.DataFrame({"note": [*notes, None], "n": np.arange(102) % 7})
    for ngrams in (1, 2):
        ours = make_table_transformer(text=["note"], ngrams=ngrams).fit(frame)
        theirs = TfidfVectorizer(ngram_range=(1, ngrams), min_df=2, token_pattern=r"\w+")  # noqa: S106
        expected = theirs.fit_transform([*notes, ""]).toarray()
        names = list(ours.get_feature_names_out(["note", "n"]))
        found = outputs(ours, frame)[
            :, [names.index(f"note:{one}") for one in theirs.get_feature_names_out()]
        ]
        np.testing.assert_allclose(found, expected, atol=1e-6)
        assert outputs(ours, frame)[:, names.index("note is missing")].tolist() == [0] * 101 + [1]
    hashed = make_table_transformer(text=["note"], hash_bits=10).fit(frame)
    rows = outputs(hashed, frame)
    np.testing.assert_allclose(np.square(rows[:100, :1024]).sum(axis=1), 1, atol=1e-6)
    model = MulticlassClassifier(row_transformer=hashed).fit(frame, frame.n > 3)
    model.save(path)
    np.testing.assert_array_equal(load(path).predict(frame), model.predict(frame))


def test_all_refusals_at_once():
    frame, y = people()
    odd = frame.assign(price=["$5", "€7"] * 60, cost=[*["$3"] * 118, "many", "$4"])
    with pytest.raises(ValueError, match="2 columns cannot be read") as refusal:
        MulticlassClassifier(row_transformer=make_table_transformer()).fit(odd, y)
    assert '"price" mixes units that cannot be compared, "$5" and "€7" (row 1)' in str(refusal.value)
    assert '"cost" holds "many", which is not a number (row 118)' in str(refusal.value)
    assert "category='price,cost'" in str(refusal.value)
    options = {"category": ["price"], "number": ["cost"]}
    fitted = make_table_transformer(**options).fit(odd)
    assert np.isnan(fitted.map_.maps[6].fill) == False  # noqa: E712
    with pytest.raises(ValueError, match="category names nowhere, but the table has age"):
        make_table_transformer(category=["nowhere"]).fit(odd)


def test_a_cell_that_cannot_be_read_later():
    frame, y = people()
    table = frame.assign(price=[f"${k}" for k in range(120)])
    model = MulticlassClassifier(row_transformer=make_table_transformer()).fit(table, y)
    with pytest.raises(ValueError, match="Row 3 of the table: column 'price' holds \"cheap\", which is not"):
        model.predict(table.assign(price=["$1"] * 3 + ["cheap"] * 117))


def test_clusters_take_no_tables():
    frame, y = people()
    model = MulticlassClassifier(row_transformer=make_table_transformer())
    with pytest.raises(ValueError, match="A cluster trains on rows of numbers"):
        model.fit(frame, y, client=SimpleNamespace(revive=None))


# ---- damaged files --------------------------------------------------------------------------------------


def inside(*steps, **values):
    """A change of what lies inside the map of columns."""

    def change(header, tensors):
        step = header["row_map"][0]
        for part, k in steps:
            step = step["maps"]["maps"][part][k]
        step["values"].update(values)

    return change


def nested(header, tensors):
    step = header["row_map"][0]
    for _ in range(9):
        step = {**step, "maps": {"maps": [[step], *step["maps"]["maps"][1:]]}}
    header["row_map"] = [step]


def renamed(header, tensors):
    header["fitted"]["feature_names_in_"]["array"][0] = 3


def fewer(header, tensors):
    header["fitted"]["feature_names_in_"].update(array=["a"], shape=[1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (inside(columns=[[0, 2]]), "not as many steps as sets of columns"),
        (inside(columns=[[0, 2], [1, 3, 9]]), "do not fit its steps"),
        (inside(columns=[[0], [1, 3, 4]]), "do not fit its steps"),
        (inside(columns=[["age", 2], [1, 3, 4]]), "must be int"),
        (inside((0, 1), fill=[1.0]), "gives 2 features, the next takes 1"),
        (inside((0, 1), fill=[1.0, float("nan")]), "fills in what is no number"),
        (inside((0, 1), fill=[1.0, {"pairs": []}]), "must be"),
        (inside((0, 1), indicators=[7]), "columns that it has not"),
        (inside((1, 0), levels=[["a"]]), "not as many as their levels"),
        (inside((1, 0), widths=[10**12, 2, 3]), "outputs of its row map"),
        (inside((1, 0), unknown=[-7, -1, -1]), "outputs of its row map"),
        (inside((1, 0), unknown=["a", -1, -1]), "must be int"),
        (nested, "more than 4 deep"),
        (renamed, "feature_names_in_ must be an array of names"),
        (fewer, "feature_names_in_ must be 5 names"),
    ],
)
def test_damaged_tables_are_refused(path, change, said):
    frame, y = people()
    MulticlassClassifier(row_transformer=of_scikit_learn()).fit(frame, y).save(path)
    rewrite(path, change)
    with pytest.raises(ValueError, match=f"is damaged: .*{said}"):
        load(path)


def column(j, **values):
    """A change of what was learned of a column."""

    def change(header, tensors):
        own = header["row_map"][0]["values"]["columns"][j]
        own["pairs"] = list(
            (dict(own["pairs"]) | {name: to_json(one) for name, one in values.items()}).items()
        )

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (column(0, reading={"kind": "nonsense"}), "of no known kind"),
        (
            column(0, reading={"kind": "number", "comma": 3, "day_first": False, "lenient": False}),
            "comma must be bool",
        ),
        (column(0, mean="x"), "mean must be float"),
        (column(0, scale=0.0), "no finite mean and scale"),
        (column(0, more=1), "must be of mean, scale"),
        (column(1, levels=["a", "a"]), "has a level twice"),
        (column(5, days=[0.0]), "no mean and deviation"),
        (column(5, seen={"month": []}), "lacks months, weekdays or hours"),
        (column(5, seen={"month": [77], "weekday": [], "hour": []}), "has a month that is none"),
        (column(6, idf=[1.0]), "not as many as their weights"),
        (column(6, hash_bits=60), "has a size that is none"),
        (inside(columns=[None] * 7), "one of no features"),
        (inside(columns=3), "must be list"),
    ],
)
def test_damaged_columns_are_refused(path, change, said):
    frame, y = people()
    when = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(120) * 3, unit="D")
    notes = [f"a note with number {k % 70} in it {k}" for k in range(120)]
    frame = frame.assign(when=when, note=notes)
    MulticlassClassifier(row_transformer=make_table_transformer()).fit(frame, y).save(path)
    load(path)
    rewrite(path, change)
    with pytest.raises(ValueError, match=f"is damaged: .*{said}"):
        load(path)

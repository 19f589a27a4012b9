from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from matplotlib.image import imread

from structlearn.reports import plot_history, plot_sequences, plot_transitions, save_figure
from structlearn.reports.plots import MEASURES
from structlearn.solvers import History, Row

HOSTILE = r"_<b>$\frac{1$ & x"


def make_history(n=20, rate=0.7, gap=1.0):
    return History(
        Row(i, float(i), 10 * i, 0.1 * i, 1 + gap * rate**i, 1 - gap * rate**i, 2 * gap * rate**i)
        for i in range(n)
    )


def check_picture(path):
    """A PNG that has a sensible size and more than one colour."""
    assert path.read_bytes().startswith(b"\x89PNG")
    pixels = imread(path)
    assert min(pixels.shape[:2]) > 200
    assert pixels[..., :3].std() > 0.01


# ---- history ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", list(MEASURES))
def test_lines_are_the_histories_values(x):
    runs = {"bcfw": make_history(), "fw": make_history(rate=0.9), "subgradient": make_history(5)}
    gaps, values = plot_history(runs, x=x).axes
    assert len(gaps.lines) == len(runs)
    assert len(values.lines) == 2 * len(runs)
    for line, primal, dual, history in zip(
        gaps.lines, values.lines[::2], values.lines[1::2], runs.values(), strict=True
    ):
        np.testing.assert_array_equal(line.get_xdata(), history[x])
        np.testing.assert_array_equal(line.get_ydata(), history.gap)
        np.testing.assert_array_equal(primal.get_ydata(), history.primal)
        np.testing.assert_array_equal(dual.get_ydata(), history.dual)


def test_the_gap_is_on_a_log_scale_and_all_is_labelled():
    figure = plot_history({"one": make_history(), "two": make_history()})
    gaps, values = figure.axes
    assert gaps.get_yscale() == "log"
    assert values.get_yscale() == "linear"
    for axes in (gaps, values):
        assert axes.get_title()
        assert "passes" in axes.get_xlabel()
        assert axes.get_ylabel()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["one", "two"]


def test_runs_differ_in_colour_and_each_keeps_its_own():
    gaps, values = plot_history({f"run {i}": make_history() for i in range(5)}).axes
    colours = [line.get_color() for line in gaps.lines]
    assert len(set(colours)) == 5
    assert [line.get_color() for line in values.lines[::2]] == colours
    assert [line.get_color() for line in values.lines[1::2]] == colours


def test_primal_and_dual_differ_in_style():
    _, values = plot_history(make_history()).axes
    assert len({line.get_linestyle() for line in values.lines}) == 2


def test_one_history_needs_no_names():
    figure = plot_history(make_history())
    assert len(figure.axes[0].lines) == 1
    assert not figure.legends


@pytest.mark.parametrize(
    "history",
    [
        History(),
        make_history(1),
        make_history(gap=0.0),
        History([Row(0, 0, 0, 0.0, 1.0, -np.inf, np.inf), Row(1, 1, 5, 0.1, 0.5, -np.inf, np.inf)]),
        History([Row(0, 0, 0, 0.0, 1.0, np.nan, np.nan)]),
    ],
    ids=["empty", "one row", "gap zero", "no dual yet", "no dual ever"],
)
def test_histories_that_have_little_to_show_are_drawn_too(history, tmp_path):
    plot_history({"run": history}, tmp_path / "gap.png")
    check_picture(tmp_path / "gap.png")


def test_history_files(tmp_path):
    plot_history({HOSTILE: make_history()}, tmp_path / "gap.png")
    check_picture(tmp_path / "gap.png")
    plot_history(make_history(), str(tmp_path / "gap.svg"))
    assert "<svg" in (tmp_path / "gap.svg").read_text()


def test_hostile_names_are_shown_letter_by_letter():
    figure = plot_history({HOSTILE: make_history()})
    (text,) = figure.legends[0].get_texts()
    assert text.get_text() == HOSTILE
    assert not text.get_parse_math()


def test_history_refusals():
    with pytest.raises(ValueError, match="'passes', 'seconds', 'oracle_calls'; got 'epochs'"):
        plot_history(make_history(), x="epochs")
    with pytest.raises(ValueError, match="no history"):
        plot_history({})


def test_figures_can_be_drawn_in_threads(tmp_path):
    paths = [tmp_path / f"{i}.png" for i in range(4)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda path: plot_history(make_history(), path), paths))
    assert len({path.read_bytes() for path in paths}) == 1


def test_a_figure_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="nonsense"):
        save_figure(plot_history(make_history()), tmp_path / "gap.nonsense")
    assert not list(tmp_path.iterdir())


# ---- sequences -------------------------------------------------------------------------------------


@pytest.fixture
def sequences():
    rng = np.random.default_rng(0)
    y = [np.array([1, 2, 3]), np.array([4, 5])]
    return [rng.random((len(labels), 64)) for labels in y], y


def drawn_labels(axes):
    return [(text.get_text(), text.get_bbox_patch() is not None) for text in axes.texts]


def test_images_and_labels_are_drawn_and_wrong_ones_marked(sequences, tmp_path):
    X, y = sequences
    wrong = [np.array([1, 7, 3]), np.array([4, 5])]
    figure = plot_sequences(X, y, {"first": wrong, "second": y}, tmp_path / "sequences.png")
    check_picture(tmp_path / "sequences.png")
    top, bottom = figure.axes
    np.testing.assert_array_equal(top.images[1].get_array(), X[0][1].reshape(8, 8))
    assert [len(axes.images) for axes in (top, bottom)] == [3, 2]
    assert drawn_labels(top) == [
        *[("1", False), ("2", False), ("3", False)],
        *[("1", False), ("7", True), ("3", False)],
        *[("1", False), ("2", False), ("3", False)],
    ]
    assert not any(marked for _, marked in drawn_labels(bottom))
    assert [text.get_text() for text in top.get_yticklabels()] == ["true", "first", "second"]


def test_labels_may_be_any_text(sequences, tmp_path):
    X, _ = sequences
    y = [[HOSTILE] * 3, ["b", "c"]]
    plot_sequences(X, y, {HOSTILE: y}, tmp_path / "sequences.png")
    check_picture(tmp_path / "sequences.png")


def test_a_model_may_be_called_true(sequences):
    X, y = sequences
    wrong = [labels + 1 for labels in y]
    top, _ = plot_sequences(X, y, {"true": wrong}).axes
    assert [text for text, _ in drawn_labels(top)] == ["1", "2", "3", "2", "3", "4"]


def test_sequence_refusals(sequences):
    X, y = sequences
    with pytest.raises(ValueError, match="no sequence"):
        plot_sequences([], [], {})
    with pytest.raises(ValueError, match="square"):
        plot_sequences([images[:, :-1] for images in X], y, {})
    with pytest.raises(ValueError, match="'short' has 2 labels for a sequence of 3 images"):
        plot_sequences(X, y, {"short": [labels[:-1] for labels in y]})


# ---- transitions -----------------------------------------------------------------------------------


def test_transitions_are_centred_at_zero_and_labelled(tmp_path):
    weights = np.array([[0.5, 2.0], [-0.001, -1.0]])
    figure = plot_transitions(weights, ["noun", HOSTILE], tmp_path / "transitions.png")
    check_picture(tmp_path / "transitions.png")
    axes, bar = figure.axes
    np.testing.assert_array_equal(axes.images[0].get_array(), weights)
    assert axes.images[0].get_clim() == (-2.0, 2.0)
    assert "from" in axes.get_ylabel()
    assert "to" in axes.get_xlabel()
    assert axes.get_title()
    assert bar.get_ylabel()
    assert [text.get_text() for text in axes.get_xticklabels()] == ["noun", HOSTILE]
    assert [text.get_text() for text in axes.texts] == ["0.5", "2.0", "0.0", "-1.0"]


@pytest.mark.parametrize("k", [1, 12, 13, 150])
def test_tables_of_any_size(k, tmp_path):
    figure = plot_transitions(np.zeros((k, k)), [f"label {i}" for i in range(k)], tmp_path / "t.png")
    check_picture(tmp_path / "t.png")
    assert len(figure.axes[0].get_xticks()) <= 60
    assert len(figure.axes[0].texts) == (k * k if k <= 12 else 0)


def test_a_table_of_another_size_is_refused():
    with pytest.raises(ValueError, match=r"3 classes have a 3 x 3 table.*\(2, 2\)"):
        plot_transitions(np.zeros((2, 2)), "abc")


def test_names_of_models_are_not_cut_off(tmp_path):
    X = [np.ones((length, 64)) for length in (6, 6, 7, 5, 7)]
    y = [np.arange(len(images)) for images in X]
    plot_sequences(X, y, {"single digits": y, "whole sequences": y}, tmp_path / "sequences.png")
    pixels = imread(tmp_path / "sequences.png")
    for border in (pixels[0], pixels[-1], pixels[:, 0], pixels[:, -1]):
        assert (border == 1).all()

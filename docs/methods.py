"""The reference of methods: which are shown, and what their parameters and results are.

Help texts of methods are short, and say what a method does. What its parameters are is said here, once per
name, and shown in the reference as numpydoc has it; so is an example, which a test runs.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

#: Modules whose functions are described as methods are.
COMPLETE = tuple(f"structlearn.{one}" for one in ("data", "metrics", "distributed", "torch"))
#: Methods for authors of estimators, and scikit-learn's: they are left out of the reference.
PLUMBING = {
    *("get_params", "set_params", "get_metadata_routing", "get_feature_names_out", "fit_transform"),
    *("check_parameters", "chosen_loss", "trained_by", "lay_out", "fit_rows", "fit_features", "take_row_map"),
    *("check_row_transformer", "prepare", "problem_parameters", "new_chain", "resources", "learn_text"),
    *("rows", "text", "word_rows", "notes", "arrays", "bundle", "of", "continue_from"),
    *("choose_tokenizers", "set_forms", "split", "train_statistics", "write_pair", "unknown_words"),
    *("use_rule", "features", "score_edges", "usual_losses", "row_map", "model_"),
}
_ROWS = "array-like or sparse matrix of shape (n, d), or data frame : One row of features per example."
_SEQUENCES = "list of arrays or sparse matrices of shape (length, d) : One row of features per element."
_SENTENCES = "list of lists of str, or of tuples of str : Sentences: words, or tuples of their columns."
_SPANS = "list of lists of (start, end, label) : The spans of each sentence; the end is exclusive."
#: What examples and their outputs are, by class: the type, then a sentence.
DATA: dict[str, tuple[str, str]] = {
    "BinaryClassifier": (_ROWS, "array-like of shape (n,) : One of two classes per row."),
    "MulticlassClassifier": (_ROWS, "array-like of shape (n,) : One class per row."),
    "LinearRegressor": (_ROWS, "array-like of shape (n,) : One number per row."),
    "SplineExpansion": (_ROWS, "array-like of shape (n,), optional : Not used."),
    "MultiLabelClassifier": (
        _ROWS,
        "array-like of 0 and 1 of shape (n, K), or list of sets : The labels of each row.",
    ),
    "ChainClassifier": (_SEQUENCES, "list of array-likes of shape (length,) : The labels of each sequence."),
    "SegmentClassifier": (_SEQUENCES, _SPANS),
    "Tagger": (_SENTENCES, "list of lists of str : The labels of each sentence."),
    "TreeParser": (
        "list of sentences : Lists of words, of tuples of their columns, or arrays of features of arcs.",
        "list of trees : The head of each word (0 is the root), or heads and relations.",
    ),
    "MatchingClassifier": (
        "list of arrays of shape (m, n, d) : The features of each possible link of an example.",
        "list of 0/1 arrays of shape (m, n), or of arrays of pairs (row, column) : The links.",
    ),
    "CutSegmenter": (
        "list of images of shape (rows, columns, d), or of graphs (nodes, edges) : The examples.",
        "list of arrays : The label of each pixel or node.",
    ),
    "GraphClassifier": (
        "list of graphs (nodes, edges[, edge features]) : Features of nodes, pairs of nodes, and so on.",
        "list of arrays of shape (n_nodes,) : The label of each node; -1 or None where it is not known.",
    ),
    "FactorGraphClassifier": (
        "list of tuples (n_states, factors) : The states of each variable, and factors by type and scope.",
        "list of int arrays of shape (n_variables,) : The state of each variable.",
    ),
    "GridClassifier": (
        "list of images of shape (rows, columns, d) : Features of pixels.",
        "list of arrays of shape (rows, columns) : The label of each pixel.",
    ),
    "DecisionPredictor": (
        "array-like of shape (n, d) or (n, parts, d) : A row per example, or a row per part.",
        "array-like of shape (n, parts) : What each part costs.",
    ),
    "StructuredPredictor": (
        "list of arrays of shape (n_parts, d) : Features of the parts of each example.",
        "list of outputs : 0/1 arrays of shape (n_parts,), or what `encode` of the structure takes.",
    ),
}
_PAIRS = "iterable of (source, target) : Sentence pairs: two lists of words, or two texts."
#: What a parameter is, by its name: the type, then a sentence.
PARAMETERS: dict[str, str] = {
    "X": "sequence or array : The examples.",
    "y": "sequence or array : Their outputs.",
    "sample_weight": "array-like of shape (n,), optional : How much each example counts.",
    "allowed": "list, optional : For each element of each example the labels that it may have; None for any.",
    "constraints": "`structlearn.constraints`, optional : What holds of the answers as a whole.",
    "k": "int : How many answers to return.",
    "n": "int : How many answers to draw for each example.",
    "random_state": "int, Generator or None : The seed of the draw.",
    "coverage": "float : The share of examples whose truth is to be among the answers, such as 0.9.",
    "max_size": "int : The most labellings of a set.",
    "path": "str or path : The file.",
    "folder": "str or path : The folder.",
    "client": "Dask client, optional : The cluster to train on.",
    "instances": "sequence, optional : What differs between the structures of the examples.",
    "known_costs": "array-like of shape (n, parts), optional : What is known of the costs beforehand.",
    "costs": "array-like of shape (n, parts) : What each part costs.",
    "validation": "tuple, optional : Features and costs by which to choose when to stop.",
    "return_std": "bool : Whether to return standard deviations, too.",
    "level": "float : The probability that an interval holds, such as 0.95.",
    "tokens": "list : One sequence: the words of a sentence, or rows of features.",
    "text": "str : Raw text.",
    "pieces": "iterable of str : Raw text in pieces, however they are cut.",
    "tokenizer": '{"penn", "marks", "blanks"} : How the text is split into words.',
    "pairs": _PAIRS,
    "votes": "list, optional : Links of other aligners, where the model was trained with some.",
    "scores": "bool : Whether confidences are returned, too.",
    "labels": "list : What the labels are, in the order of their numbers.",
    "min_score": "float : The least score of a word pair.",
    "min_count": "int : How often something must occur.",
    "top": "int : The most translations of a word.",
    "max_length": "int : The most words of a phrase.",
    "memory": "str or int, optional : The memory to use; what needs more goes to files.",
    "node_weights": "list of arrays, optional : How much each node counts.",
    "y_true": "array-like, or list of array-likes : The right outputs.",
    "y_pred": "array-like, or list of array-likes : The predicted outputs.",
    "second": "array-like of bool of shape (n,) : Which examples are of the second class.",
    "codes": "int array of shape (n,) : The class of each example, by its column.",
    "probabilities": "array of shape (n, K) : The probabilities of the classes.",
    "decided": "array-like of shape (n, parts) : The decisions.",
    "best": "array-like of shape (n, parts) : The best decisions.",
    "sense": '{"min", "max"} : Whether costs are to be small or large.',
    "kind": "str : What the examples are: classes, sets, numbers, chain, match, tree, graph or cut.",
    "kept": "mapping : What to keep beside the examples, such as notes.",
    "examples_at_once": "int : How many examples are written at a time.",
    "items": "array of shape (n_items, d) : The features of each item.",
    "triplets": "int array of shape (n, 3) : The numbers of three items.",
    "n_workers": "int : How many workers there are.",
    "address": "str : The scheduler of a cluster, such as ``tcp://host:8786``, or ``local:K``.",
    "parts": "int : How many parts to make.",
    "seed": "int : The seed of the order of examples.",
    "engine": "object : What runs tasks on workers.",
    "posts": "sequence : The workers, and what each of them holds.",
    "structure": "object : The structure of the outputs.",
    "regularization": "float : Lambda, the weight of the penalty.",
}
_CHAINS = "X, y = make_chains(30, 5, 3, 4, random_state=0)"
_ROWS_OF = "X, y = load_iris(return_X_y=True)"
_TAGGED = 'X = [["Ann", "saw", "Rome"], ["Bob", "left"]] * 5'
#: How to make data and a fitted `model` of a class, for examples.
EXAMPLES: dict[str, str] = {
    "BinaryClassifier": f"{_ROWS_OF}\nX, y = X[50:], y[50:]\nmodel = BinaryClassifier().fit(X, y)",
    "MulticlassClassifier": f"{_ROWS_OF}\nmodel = MulticlassClassifier().fit(X, y)",
    "LinearRegressor": "X, y = load_diabetes(return_X_y=True)\n"
    "model = LinearRegressor(posterior='gaussian').fit(X, y)",
    "SplineExpansion": f"{_ROWS_OF}\nmodel = SplineExpansion().fit(X)",
    "MultiLabelClassifier": "X, y = make_multilabel(60, 3, 5, random_state=0)\n"
    'model = MultiLabelClassifier(edges="none").fit(X, y)',
    "ChainClassifier": f"{_CHAINS}\nmodel = ChainClassifier().fit(X, y)",
    "SegmentClassifier": f"{_CHAINS}\ny = [[(0, 2, 'NP'), (3, 5, 'VP')] for _ in X]\n"
    "model = SegmentClassifier().fit(X, y)",
    "Tagger": f'{_TAGGED}\ny = [["PER", "O", "LOC"], ["PER", "O"]] * 5\nmodel = Tagger().fit(X, y)',
    "TreeParser": 'X = [[("Ann", "PROPN", "NNP"), ("left", "VERB", "VBD")]] * 9\ny = [[2, 0]] * 9\n'
    'model = TreeParser(loss="softmax").fit(X, y)',
    "MatchingClassifier": "X, y = make_matchings(20, 4, 4, n_features=3, random_state=0)\n"
    'model = MatchingClassifier(loss="sparsemax").fit(X, y)',
    "CutSegmenter": "X, y = make_segmentations(4, 6, 6, random_state=0)\n"
    'model = CutSegmenter(loss="sparsemax").fit(X, y)',
    "GraphClassifier": "edges = np.array([[0, 1], [1, 2]])\n"
    "y = [np.array([0, 1, 1]), np.array([1, 0, 0])] * 4\nX = [(np.eye(2)[labels], edges) for labels in y]\n"
    'model = GraphClassifier(loss="softmax").fit(X, y)',
    "FactorGraphClassifier": "X = [([2, 2], [('on', (0,), [x]), ('on', (1,), [-x])]) for x in (1, -1)] * 4\n"
    "y = [[1, 0], [0, 1]] * 4\nmodel = FactorGraphClassifier(loss='sparsemax').fit(X, y)",
    "GridClassifier": "X, y = make_segmentations(4, 1, 6, random_state=0)\n"
    'model = GridClassifier(loss="softmax").fit(X, y)',
    "DecisionPredictor": "X, y, paths = make_shortest_paths(20, rows=3, columns=3, random_state=0)\n"
    "model = DecisionPredictor(paths).fit(X, y)",
    "StructuredPredictor": "y = [0, 1, 2, 0]\nX = [np.eye(3)[[k, 1, 2]] for k in y]\n"
    'model = StructuredPredictor(Simplex(3), loss="sparsemax").fit(X, y)',
    "Aligner": "corpus = load_corpus()\npairs = [(one.source, one.target) for one in corpus]\n"
    "model = Aligner().fit(pairs)",
}
#: What stands for parameters that must be given, in examples.
_ARGUMENTS = {
    "costs": "y",
    "path": '"model.safetensors"',
    "tokens": "X[0]",
    "text": '"Ann left."',
    "pieces": '["Ann left."]',
    "labels": "[one.source for one in corpus]",
    "coverage": "0.9",
}
#: What must be done before a method is called.
_BEFORE = {
    "predict_sets": "model.conformalize(X, y)\n",
    "predict_interval": "model.conformalize(X, y)\n",
    "load": 'model.save("model.safetensors")\n',
}


def public_methods(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the methods of a class that the reference shows, inherited ones included."""
    for name in sorted(dir(kind)):
        if not name.startswith("_") and name not in PLUMBING:
            found = getattr(kind, name)
            if is_ours(found):
                yield name, found


def is_ours(thing: Any) -> bool:
    """Whether this is a function or method that structlearn wrote."""
    return inspect.isroutine(thing) and str(getattr(thing, "__module__", "")).startswith("structlearn")


def complete(kind: type | None, name: str, thing: Any, lines: list[str]) -> list[str]:
    """Return a help text with sections on parameters and results, and an example, where it has none."""
    text, found = "\n".join(lines), list(lines)
    entries = parameters(kind, thing, text)
    if "Parameters" in lines:
        at = found.index("Parameters") + 2
        found[at:at] = [line for one in entries for line in one.splitlines()]
    else:
        found += _section("Parameters", entries)
    if not {"Returns", "Yields"} & set(lines):
        found += _section("Returns", [result(name, lines)])
    if kind is not None and kind.__name__ in EXAMPLES and "Examples" not in lines:
        made = EXAMPLES[kind.__name__]
        made += f"\n{example(kind, name, thing)}" * (name != "fit")
        found += _section("Examples", ["\n".join(f">>> {line}" for line in made.splitlines())])
    return found


def is_described(parameter: str, text: str) -> bool:
    """Whether a help text has an entry for a parameter, alone or among others."""
    return re.search(rf"^ *(?:\*?\w+, )*\*?{parameter}(?:, \w+)*(?: :|$)", text, re.MULTILINE) is not None


def parameters(kind: type | None, thing: Any, text: str) -> list[str]:
    """Return an entry for each parameter that a text has none of; KeyError where nothing is known of one."""
    names = [one for one in inspect.signature(thing).parameters if one not in ("self", "cls")]
    return [_entry(name, _said(kind, name)) for name in names if not is_described(name, text)]


def example(kind: type, name: str, thing: Any) -> str:
    """Return lines that call a method of a fitted model, behind those of `EXAMPLES`."""
    given = inspect.signature(thing).parameters.values()
    must = [one.name for one in given if one.default is one.empty and one.name not in ("self", "cls")]
    arguments = ", ".join(_ARGUMENTS.get(one, one) for one in must)
    return f"{_BEFORE.get(name, '')}model.{name}({arguments})"


def _said(kind: type | None, name: str) -> str:
    own = None if kind is None else DATA.get(kind.__name__)
    if own is not None and name in ("X", "y", "costs"):
        return own[name != "X"]
    return PARAMETERS[name]


def _entry(name: str, said: str) -> str:
    what, _, sentence = said.partition(" : ")
    return f"{name} : {what}\n    {sentence}"


def result(name: str, lines: list[str]) -> str:
    """Return what a method returns, as its first sentence says it."""
    if name in ("fit", "calibrate", "conformalize"):
        return "self\n    The estimator."
    first = lines[0] if lines else ""
    said = re.match(r"(?:Return|Yield) (.*?)\.?$", first)
    if said is None:
        return "None" if name == "save" else f"result\n    {first}"
    return f"result\n    {said[1][0].upper()}{said[1][1:]}."


def _section(heading: str, entries: list[str]) -> list[str]:
    if not entries:
        return []
    return ["", heading, "-" * len(heading), *(line for one in entries for line in one.splitlines()), ""]

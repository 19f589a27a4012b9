"""`structlearn info`."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import structlearn
from structlearn.cli.support.errors import handling_errors
from structlearn.cli.support.flags import in_flags
from structlearn.cli.support.options import Json, argument
from structlearn.cli.support.outputs import print_figures
from structlearn.core.wording import count_of, list_names, plain

_CLASSES_SHOWN, _TEMPLATES_SHOWN = 20, 8
#: Largest weights, and labels whose largest weights are told.
_WEIGHTS_SHOWN, _LABELS_SHOWN = 3, 5


@handling_errors()
def info(
    model: Annotated[Path | None, argument("[MODEL]", "A model file.")] = None,
    as_json: Json = False,
) -> None:
    """Describe the installation or, with MODEL, a model file."""
    print_figures(_installation() if model is None else _model(model), as_json=as_json)


def _installation() -> Iterator[tuple[str, object]]:
    from structlearn.core.kernel_cache.cache import cache_folder

    yield "structlearn", structlearn.__version__
    yield "python", platform.python_version()
    for package in ("numpy", "scipy", "numba", "scikit-learn"):
        yield package, version(package)
    yield "cache", cache_folder()
    yield "kernels", _kernels()
    yield "threads", os.cpu_count()


def _kernels() -> str:
    """Return which compiled kernels are used, and why shipped ones are not."""
    from structlearn.core.kernel_cache.shipped import shipped_kernels

    shipped = shipped_kernels()
    if shipped is None:
        return "compiled here (structlearn-kernels is not installed)"
    if shipped.obstacle:
        return f"compiled here (structlearn-kernels is not used: {shipped.obstacle})"
    damaged = shipped.damaged_files()
    but = ""
    if damaged:
        but = f", without {len(damaged)} files that are not as they were built, such as {damaged[0]}"
    of = shipped.manifest
    return f"of structlearn-kernels {of.structlearn}, for {of.cpu}{but}; others are compiled here"


def _model(path: Path) -> Iterator[tuple[str, object]]:
    """Describe a model by its header alone, so that a structure of the user's own is not needed."""
    from structlearn.reports.tables import size as table_size
    from structlearn.storage.model_file import ModelFile, damage_error

    file = ModelFile(path)
    file.verify()
    header = file.header
    try:
        yield from _describe(header)
        yield "size", table_size(path.stat().st_size)
        yield "weights", file.shapes["weights"][0]
        yield "n_nonzero", file.n_nonzero("weights")
        yield from _classes(header)
        yield from _confidence(header["fitted"])
        yield from _forms(header)
        yield "parameters", _parameters(header)
        for name, value in header["certificate"].items():
            yield name, in_flags(value) if name == "status" else value
    except (KeyError, AttributeError, TypeError, ValueError):
        raise damage_error(path, "a value of its header is of no known kind") from None
    yield from _largest(path)


def _largest(path: Path) -> Iterator[tuple[str, object]]:
    """Yield the first few of what `structlearn weights` prints."""
    from structlearn.cli.commands.weights import groups_of

    try:
        groups = groups_of(path, _WEIGHTS_SHOWN)
    except ValueError as error:  # what is in the file is known all the same
        yield "largest weights", f"not shown ({error})"
        return
    labels, others = ([one for one in groups if (one.kind == "label") == own] for own in (True, False))
    for one in [*labels[:_LABELS_SHOWN], *others]:
        what = one.kind if one.of is None else f"{one.kind} {plain(one.of, 40)}"
        positive = (pair for pair in one.weights if pair.weight > 0)
        shown = ", ".join(f"{plain(name, 60)} {weight:.4g}" for name, weight in positive)
        yield f"largest weights of {what}", shown or "none is positive"
    if len(labels) > _LABELS_SHOWN:
        yield "more", f"{len(labels) - _LABELS_SHOWN} other labels: structlearn weights"


def _describe(header: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    yield "task", header["notes"].get("task", "none (saved from Python)")
    yield "estimator", header["estimator"]
    if "format" in header["notes"]:
        yield "data", header["notes"]["format"]
    yield "format", header["version"]
    yield "structlearn", header.get("library", "unknown")
    if "row_map" in header:
        yield "row_transformer", _steps(header["row_map"])
    yield from _columns(header["notes"])
    yield from _text(header["notes"])
    for name, inner in header.get("bundled", {}).items():
        yield f"tagger for {name}", f"{inner['estimator']} inside"
    structure = header["structure"]
    if header["estimator"] == "LinearRegressor":
        return
    if structure is None:
        own = header["estimator"] == "StructuredPredictor"
        yield "structure", "the user's own" if own else "that of each example"
    else:
        arguments = ", ".join(f"{name}={_brief(value)}" for name, value in structure["arguments"].items())
        yield "structure", f"{structure['name']}({arguments})"


def _steps(steps: Sequence[Mapping[str, Any]]) -> str:
    """Return the transformers of rows in their order; of columns, each with what it is for."""
    return ", ".join(_step(one) for one in steps)


def _step(step: Mapping[str, Any]) -> str:
    inside = step.get("maps", {}).get("maps")
    if inside is None:
        return step["name"]
    parts = zip(step["values"]["columns"], inside)
    return f"{step['name']}({'; '.join(f'{_steps(one)} of {len(columns)}' for columns, one in parts)})"


def _columns(notes: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the columns of a table, by what they are."""
    if "kinds" in notes:
        from structlearn.tables.readings import KINDS

        pairs = [(KINDS[one["kind"]].plural, name) for one, name in zip(notes["kinds"], notes["features"])]
        kinds = {kind.plural: [name for own, name in pairs if own == kind.plural] for kind in KINDS.values()}
    elif "text" in notes:  # of version 0.2
        text = set(notes["text"])
        kinds = {"numbers": [one for one in notes["features"] if one not in text], "text": notes["text"]}
    else:
        return
    for name, columns in (kinds | {"left out": notes.get("left_out", ())}).items():
        if columns:
            yield name, plain(list_names(columns))


def _text(notes: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield which columns of a token file a model looks at, by which templates, and how raw text is split."""
    if "aliases" not in notes:
        return
    from structlearn.tagging.raw import PENN

    said = ", ".join(f"{name} (column {column})" for name, column in notes["aliases"].items())
    yield "columns", plain(f"{said}; the label is column {notes['label']}")
    templates = notes["templates"].split()
    more = f" ... ({len(templates)} in all)" if len(templates) > _TEMPLATES_SHOWN else ""
    yield "templates", plain(" ".join(templates[:_TEMPLATES_SHOWN]) + more)
    yield "tokenizer", f"{PENN}, unless structlearn tag is given another with --tokenizer"


def _forms(header: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield how an aligner looks up the words of its two sides."""
    if "forms_" not in header["fitted"]:
        return
    from structlearn.alignment.text.form import read_form

    for side, form in zip(("source", "target"), header["fitted"]["forms_"]):
        yield f"{side} words", read_form(form)


def _confidence(fitted: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield what `calibrate` and `conformalize` have set."""
    if "temperature_" in fitted:
        yield "calibrated", f"probabilities have the temperature {fitted['temperature_']:.4g}"
    if "n_conformal_" in fitted:
        yield "conformalized", f"predict --coverage goes by {count_of(fitted['n_conformal_'], 'example')}"


def _classes(header: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the first classes: the names of a table's target columns, or the labels themselves."""
    targets = header["notes"].get("targets", ())
    classes = header["fitted"].get("classes_", {}).get("array", [])
    names = targets if len(targets) == len(classes) > 1 else classes
    if names:
        more = f", ... ({len(names)} in all)" if len(names) > _CLASSES_SHOWN else ""
        yield "classes", ", ".join(map(str, names[:_CLASSES_SHOWN])) + more


def _parameters(header: Mapping[str, Any]) -> str:
    """Return the parameters that differ from their defaults."""
    from structlearn import estimators
    from structlearn.estimators.files.persistence import stored_parameters

    kind = header["estimator"]
    defaults = stored_parameters(getattr(estimators, kind)()) if kind in estimators.__all__ else {}
    changed = {k: v for k, v in header["parameters"].items() if k not in defaults or defaults[k] != v}
    for name in ("loss", "regularization"):
        if f"{name}_" in header["fitted"]:
            changed[name] = header["fitted"][f"{name}_"]
    return ", ".join(f"{name}={_brief(value)}" for name, value in changed.items()) or "defaults"


def _brief(value: object) -> str:
    """Return a value of the header in a few characters."""
    if isinstance(value, dict) and "array" in value:
        return f"array of shape {tuple(value['shape'])}"
    if isinstance(value, dict) and "pairs" in value:
        return "{" + ", ".join(f"{k}: {_brief(v)}" for k, v in value["pairs"]) + "}"
    if isinstance(value, dict) and "tuple" in value:
        return f"({', '.join(map(_brief, value['tuple']))})"
    return str(value)

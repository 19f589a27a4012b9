"""`structlearn weights`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from structlearn.cli.support.errors import handling_errors
from structlearn.cli.support.options import Json, argument, option
from structlearn.cli.support.outputs import print_json
from structlearn.core.wording import aligned_lines, list_names, plain, quote

if TYPE_CHECKING:
    from structlearn.estimators.files.persistence import Bundle
    from structlearn.estimators.weights.top_weights import NamedWeight, WeightGroup

#: The longest name that a line shows whole.
_LONGEST_NAME = 60


@handling_errors()
def weights(
    model: Annotated[Path, argument("MODEL", "A model file.")],
    top: Annotated[int, option("N", "How many positive and how many negative weights of each label.")] = 20,
    label: Annotated[
        str | None, option("L", "Only the weights of this label.  [default: all labels, and transitions]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the largest weights of MODEL with the names of their features: what it has learned to look at.

    Positive weights are on the left, negative ones on the right: features that speak for a label, and
    against it. Names are those of a table's header, of templates and what they saw (word[-1]=the), or of
    CRFsuite's files. Features that are numbered by hashing have none, nor have those of parse: their numbers
    are shown. Files of earlier versions have no names of templates' features either: their hashes are shown.
    """
    if top < 1:
        raise ValueError(f"--top must be at least 1; got {top}.")
    groups = groups_of(model, top)
    if label is not None:
        groups = _of_label(groups, label)
    if as_json:
        print_json({"groups": [_plain_group(one) for one in groups]})
        return
    for k, group in enumerate(groups):
        print("\n" * bool(k) + "\n".join(_lines(group)))


def groups_of(path: Path, k: int) -> list[WeightGroup]:
    """Return the k largest positive and negative weights of a model file, by label and kind, with names."""
    from structlearn.cli.tasks.registry import TASKS
    from structlearn.estimators.inputs.feature_names import listed_names
    from structlearn.estimators.weights.top_weights import top_weights
    from structlearn.storage.model_file import ModelFile

    header = ModelFile(path).header
    if header["estimator"] == "Aligner":
        from structlearn.alignment.aligner import Aligner

        aligner = Aligner.load(path)
        return top_weights(aligner, k, listed_names(aligner.feature_names_))
    if header["estimator"] == "NeuralParser":
        raise ValueError(f"{path} holds networks, whose weights have no names.")
    bundle = _bundle(path, header)
    name = bundle.notes.get("task")
    if not isinstance(name, str) or name not in TASKS:
        return top_weights(bundle.estimator, k)
    task = TASKS[name].task
    return top_weights(bundle.estimator, k, task.feature_names(bundle), task.label_names(bundle))


def _bundle(path: Path, header: dict[str, Any]) -> Bundle:
    """Return the model; one with a structure of the user's own has weights, too."""
    from structlearn.estimators.files.persistence import load_bundle

    if header["estimator"] != "StructuredPredictor":
        return load_bundle(path)
    own = _Absent() if header["structure"] is None else None
    return load_bundle(path, own, _Absent.maximize if header.get("scoring") else None)


class _Absent:
    """What stands for a structure that is not in the file."""

    def maximize(self, theta: object) -> object:
        raise NotImplementedError


def _of_label(groups: Sequence[WeightGroup], label: str) -> list[WeightGroup]:
    """Return the groups of a label; ValueError if there is no such label."""
    found = [one for one in groups if one.kind == "label" and str(one.of) == label]
    if not found:
        known = [one.of for one in groups if one.kind == "label"]
        there = f"it has {list_names(known)}" if known else "it has none"
        raise ValueError(f"The model has no label {quote(label)}; {there}.")
    return found


def _plain_group(group: WeightGroup) -> dict[str, object]:
    return {
        "kind": group.kind,
        "label": None if group.of is None else str(group.of),
        "nonzero": group.n_nonzero,
        "total": group.n_weights,
        "weights": [{"name": name, "weight": weight} for name, weight in group.weights],
    }


def _lines(group: WeightGroup) -> Iterator[str]:
    """Yield a heading, then positive weights, the largest first, beside negative ones."""
    what = group.kind if group.of is None else f"{group.kind} {plain(group.of, _LONGEST_NAME)}"
    yield f"{what}: {group.n_nonzero} of {group.n_weights} weights are not zero"
    positive = [_cell(one) for one in group.weights if one.weight > 0]
    negative = [_cell(one) for one in reversed(group.weights) if one.weight < 0]
    if positive or negative:
        yield from aligned_lines(list(zip_longest(positive, negative, fillvalue="")), left=2)


def _cell(one: NamedWeight) -> str:
    return f"{one.weight:+10.4g}  {plain(one.name, _LONGEST_NAME)}"

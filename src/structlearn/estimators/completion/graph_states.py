"""Labels of nodes, known or not, and the states that stand for them: one for each class, or several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from structlearn.core.contract import Array
from structlearn.core.sentences import ParameterError
from structlearn.core.wording import quote
from structlearn.estimators.choices import label_weights
from structlearn.estimators.inputs.checking import (
    Coded,
    as_list,
    check_same_length,
    check_two_classes,
    label_arrays,
)
from structlearn.estimators.inputs.graphs import Examples
from structlearn.metrics import Outputs
from structlearn.storage.packed_graphs import is_known
from structlearn.structures.rows import node_weights as checked_node_weights

#: How many states each class has: one number for all, or a mapping from labels (others have one).
LatentStates: TypeAlias = int | Mapping[str, int] | Mapping[int, int] | None


def labels_of(examples: Examples, y: Outputs) -> tuple[Array, Array]:
    """Return the classes, and the labels of all nodes end to end as positions in them, -1 if unknown."""
    if isinstance(y, Coded):
        check_same_length(examples.shapes, y.lengths)
        if not np.array_equal(y.lengths, examples.n_nodes):
            raise ValueError("The packed labels are those of other graphs: each node has one.")
        check_two_classes(y.classes)
        return y.classes, y.codes
    flat = [one.ravel() for one in shaped_outputs(examples, y)]
    known = [is_known(one) for one in flat]
    labelled = [_plain(one[there]) for one, there in zip(flat, known) if there.any()]
    if not labelled:
        raise ValueError("y has no label at all (-1 and None stand for unknown ones); label some nodes.")
    classes, found = np.unique(label_arrays(labelled, "graph")[1], return_inverse=True)
    if len(classes) < 2 and not all(one.all() for one in known):
        raise ValueError(
            f"y has only one class, {quote(classes[0])}, beside unknown labels (-1, None); a classifier "
            "needs at least two, so name them otherwise if -1 is one."
        )
    check_two_classes(classes)
    codes = np.full(int(examples.n_nodes.sum()), -1)
    codes[np.concatenate(known)] = found
    return classes, codes


def shaped_outputs(examples: Examples, y: Outputs) -> list[Array]:
    """Return one array of labels per example, in the shape of its nodes."""
    outputs = [np.asarray(one) for one in as_list(y, "y")]
    check_same_length(examples.shapes, outputs)
    for i, (one, shape) in enumerate(zip(outputs, examples.shapes)):
        if one.shape != shape:
            raise ValueError(f"Example {i} has labels of shape {one.shape}; they must have {shape}.")
    return outputs


def _plain(labels: Array) -> Array:
    """Return labels that stood beside None as an array of their own type."""
    if labels.dtype != object:
        return labels
    if len({isinstance(one, str) for one in labels}) > 1:
        raise ValueError("y mixes strings and numbers as labels; use one of the two.")
    return np.array(labels.tolist())


def known_pairs(y: Outputs, predicted: Sequence[Array]) -> tuple[list[Array], list[Array]]:
    """Return the known labels, and the predictions at the same places."""
    given = [np.asarray(one) for one in as_list(y, "y")]
    check_same_length(predicted, given)
    there = [is_known(one.ravel()).reshape(one.shape) for one in given]
    fits = [mask if one.shape == mask.shape else slice(None) for one, mask in zip(predicted, there)]
    return [one[mask] for one, mask in zip(given, there)], [one[fit] for one, fit in zip(predicted, fits)]


def weights_of_nodes(examples: Examples, given: Sequence[ArrayLike] | None) -> list[Array] | None:
    """Return the cost of an error at each node, one flat array per example; ValueError if it does not fit."""
    if given is None:
        return None
    if len(as_list(given, "node_weights")) != len(examples.shapes):
        raise ValueError(f"X has {len(examples.shapes)} examples but node_weights {len(given)} entries.")
    for i, (one, shape) in enumerate(zip(given, examples.shapes)):
        if np.shape(one) != shape:
            raise ValueError(
                f"Example {i} has node_weights of shape {np.shape(one)}; they must have {shape}."
            )
    return [checked_node_weights(one, int(np.size(one))) for one in given]


# ---- states ------------------------------------------------------------------------------------------


def classes_of_states(latent_states: LatentStates, classes: Array, codes: Array) -> Array:
    """Return the class of each state as a position in `classes`; the states of a class are neighbours.

    codes : of all nodes, positions in `classes` or -1; a class has no more states than nodes
    """
    if latent_states is None:
        return np.arange(len(classes))
    numbers = latent_states.values() if isinstance(latent_states, Mapping) else [latent_states]
    if not all(isinstance(one, int | np.integer) and one >= 1 and one is not True for one in numbers):
        raise ParameterError(
            "{latent_states} must be a number of states of at least 1, or a mapping from labels to such "
            "numbers; got {given}.",
            given=repr(latent_states),
        )
    mapped = isinstance(latent_states, Mapping)
    given = label_weights(latent_states, classes, "latent_states") if mapped else latent_states
    wanted = np.zeros(len(classes), dtype=np.int64) + np.asarray(given, dtype=np.int64)
    counts = np.bincount(codes[codes >= 0], minlength=len(classes))
    if (wanted > counts).any():
        k = int(np.argmax(wanted > counts))
        raise ParameterError(
            "Class {label} has {count} nodes, but {latent_states} asks for {states} states of it.",
            label=quote(classes[k]),
            count=counts[k],
            states=wanted[k],
        )
    return np.repeat(np.arange(len(classes)), wanted)


class NodeTypes(NamedTuple):
    """Types of all nodes, end to end, and which states each type has.

    types : (n_types,), sorted. kinds : (n_nodes,), positions in them. states : (n_states,), the type of each
    """

    types: Array
    kinds: Array
    states: Array

    @property
    def table(self) -> Array:
        """(n_nodes, n_states), which states each node may have."""
        return self.kinds[:, None] == self.states


def typed_states(types: Sequence[Array], codes: Array, state_classes: Array) -> tuple[Array, NodeTypes]:
    """Return the classes of the states, and the types, each with states for the classes seen with it.

    state_classes : the class of each state, if there were no types
    """
    names, kinds = np.unique(np.concatenate(types), return_inverse=True)
    seen = np.zeros((len(names), int(state_classes.max()) + 1), dtype=bool)
    seen[kinds[codes >= 0], codes[codes >= 0]] = True
    if not seen.any(axis=1).all():
        missing = names[np.flatnonzero(~seen.any(axis=1))[0]]
        raise ValueError(f"No node of type {quote(missing)} has a label that is known; label some.")
    pairs = [(k, t) for k in state_classes for t in np.flatnonzero(seen[:, k])]
    classes, own = np.array(sorted(pairs)).T
    return classes, NodeTypes(names, kinds, own)


def types_at(types: Sequence[Array] | None, names: Array, states: Array) -> NodeTypes:
    """Return the types of nodes that a fitted model sees; ValueError for a type unknown in training."""
    if types is None:
        raise ValueError("The model was trained with node types; X has none.")
    given = np.concatenate(types)
    unknown = given[~np.isin(given, names)]
    if unknown.size:
        raise ValueError(f"X has a node of type {quote(unknown[0])}, which training had not.")
    return NodeTypes(names, np.searchsorted(names, given), states)

"""Options of tasks on single rows: how tables are read, `classify`, `multilabel` and `regress`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Self

from structlearn.cli.support.groups import Several
from structlearn.cli.support.options import option, switch
from structlearn.cli.tasks.options import (
    ClusterOptions,
    ElasticNetOptions,
    StructuredOptions,
    TaskOptions,
    given_options,
)


@dataclass(frozen=True)
class TableOptions(TaskOptions):
    """How the columns of a table are read."""

    text: Annotated[
        list[str] | None,
        option(
            "NAME[,NAME]",
            "Columns of a table whose words are features.  [default: columns of many different long texts]",
        ),
    ] = None
    category: Annotated[
        list[str] | None,
        option("NAME[,NAME]", "Columns of a table to take as categories, such as codes that are numbers."),
    ] = None
    number: Annotated[
        list[str] | None,
        option(
            "NAME[,NAME]", "Columns of a table to take as numbers; cells that are no numbers are missing."
        ),
    ] = None
    ignore: Annotated[list[str] | None, option("NAME[,NAME]", "Columns of a table to leave out.")] = None
    day_first: Annotated[
        bool,
        switch("--day-first", "In dates of a table such as 1/2/2020 the day comes first, not the month."),
    ] = False
    ngrams: Annotated[
        int, option("N", "Up to this many neighbouring words of a text are one feature of a table.")
    ] = 1
    hash_bits: Annotated[
        int | None, option("B", "Hash the words of a table's texts to this many bits, without a vocabulary.")
    ] = None
    no_scale: Annotated[bool, switch("--no-scale", "Do not standardise the numbers of a table.")] = False
    min_count: Annotated[
        int | None,
        option(
            "N",
            "Texts of a table's column that fewer rows have are one level.  [default: 5, or a row in 20 if "
            "that is less]",
        ),
    ] = None

    nonlinear: Annotated[
        str | None,
        option(
            "KIND",
            "Beyond linear: splines (curves of single columns), nystroem (a Gaussian kernel), auto (one of "
            "these, by the numbers of rows and columns) or none.  [default: none]",
            values=lambda: ("none", "auto", "splines", "nystroem"),
        ),
    ] = None

    def parameters(self) -> dict[str, Any]:
        from structlearn.core.registry import one_of
        from structlearn.estimators.inputs.nonlinear import NONLINEAR

        if self.nonlinear is not None:
            one_of("nonlinear", self.nonlinear, NONLINEAR)
        if self.min_count is not None and self.min_count < 1:
            raise ValueError(f"--min-count must be at least 1; got {self.min_count}.")
        if self.ngrams < 1:
            raise ValueError(f"--ngrams must be at least 1; got {self.ngrams}.")
        if self.hash_bits is not None and not 1 <= self.hash_bits <= 24:
            raise ValueError(f"--hash-bits must be from 1 to 24; got {self.hash_bits}.")
        return super().parameters()


@dataclass(frozen=True)
class ClassifyOptions(ElasticNetOptions, TableOptions, ClusterOptions):
    """Options of `classify`."""

    penalties: ClassVar[tuple[str, ...]] = ("l2", "l1", "elasticnet", "group")
    says: ClassVar[Mapping[str, str]] = {
        "loss": "softmax, or hinge with --cost count or a --solver that trains nothing else",
        "penalties": "l2, or, with a smooth loss, l1 (few weights), elasticnet (both) or group (few "
        "features).",
    }


@dataclass(frozen=True)
class MultiLabelOptions(TableOptions, StructuredOptions):
    """Options of `multilabel`."""

    edges: Annotated[
        str | None,
        option(
            "E",
            "Pairs with weights: all, tree or none.  [default: all]",
            values=lambda: ("all", "tree", "none"),
        ),
    ] = None
    says: ClassVar[Mapping[str, str]] = {
        "loss": "softmax with --edges tree or none, else hinge",
        "target": "Target columns of a table, at least two.",
    }

    def parameters(self) -> dict[str, Any]:
        return super().parameters() | given_options(self, "edges")

    def for_search(self) -> Self:
        """Try all kinds of pairs, unless they are given."""
        tried: Any = Several(("none", "tree", "all"))
        return self if self.edges is not None else replace(self, edges=tried)


@dataclass(frozen=True)
class RegressOptions(ElasticNetOptions, TableOptions):
    """Options of `regress`."""

    penalties: ClassVar[tuple[str, ...]] = ("l2", "l1", "elasticnet", "group")
    groups: Annotated[
        str | None,
        option(
            "G,G,...",
            "With --penalty group: the group of each feature, a number or a name, in the order of the file's "
            "features, without the target.",
        ),
    ] = None
    says: ClassVar[Mapping[str, str]] = {
        "penalties": "l2, l1 (few weights), elasticnet (both) or group (few groups of features).",
        "tolerance": "in proportion to the objective at zero",
    }

    def parameters(self) -> dict[str, Any]:
        groups = None if self.groups is None else [name.strip() for name in self.groups.split(",")]
        if self.penalty == "group" and groups is None:
            raise ValueError(
                "--penalty group needs --groups: the group of each feature, such as size,size,age,age."
            )
        if groups is not None and self.nonlinear not in (None, "none"):
            raise ValueError("--groups goes with features as the file has them; leave --nonlinear out.")
        if groups is not None and self.penalty != "group":
            raise ValueError("--groups goes with --penalty group.")
        if groups is not None and "" in groups:
            raise ValueError(f"--groups leaves the group of feature {groups.index('') + 1} empty.")
        return super().parameters() | ({} if groups is None else {"groups": groups})

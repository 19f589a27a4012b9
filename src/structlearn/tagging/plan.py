"""Which columns of a file a tagger looks at, and which it fills."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from structlearn.data import CONLLU, Tokens
from structlearn.data.columns import ONE_COLUMN
from structlearn.storage.schema import check_form
from structlearn.tagging.features import default_templates, parse_templates, spell_templates
from structlearn.tagging.features.resources import Resources, derived_names
from structlearn.tagging.features.templates import NAMES
from structlearn.tagging.parameters import TaggerParameters
from structlearn.tagging.patterns.features import check_pattern_columns
from structlearn.tagging.patterns.reading import Pattern, is_patterns

#: What columns of features are called in templates, in their order.
USUAL = ("word", "pos", "chunk")
_LAST = -1
_NOTES = {
    "names": list[str],
    "label": str,
    "aliases": dict[str, str],
    "templates": str,
    "bundled?": list[str],
}
#: the column of a bundled tagger, where nothing else is said
_TAGS = USUAL[1]


@dataclass(frozen=True)
class Plan:
    """What to read of a file, made when the names of its columns are known.

    names : all columns of the training file
    label : the column to learn
    aliases : names that templates may use beside the file's own
    templates : str
    bundled : columns that taggers inside the model fill, as templates call them; a file may lack them
    derived : columns that are made, which the file lacks
    needs : columns of the file that they are made of
    """

    names: tuple[str, ...]
    label: str
    aliases: dict[str, str]
    templates: str
    bundled: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def conllu(self) -> bool:
        """Whether the training file is CoNLL-U."""
        return self.names == CONLLU

    @property
    def columns(self) -> tuple[str, ...]:
        """What is looked at, as templates call it, in the order of the file's columns."""
        atoms = (atom for template in parse_templates(self.templates) for atom in template.atoms)
        words = list(self.aliases)[:1] if self.bundled else []
        looked = (*words, *(atom.column for atom in atoms), *self.needs)
        places = {one: self._place(one) for one in looked if one not in self.derived}
        return tuple(sorted(places, key=places.__getitem__))

    def _place(self, column: str) -> int:
        if column in self.added_columns:
            return len(self.names) + self.added_columns.index(column)
        return self.names.index(self.own_name(column))

    @property
    def added_columns(self) -> tuple[str, ...]:
        """Columns that the file does not have."""
        return tuple(one for one in self.bundled if not {one, self.aliases.get(one)} & set(self.names))

    @property
    def beside_words(self) -> list[str]:
        """Columns of the file that are looked at beside its words, and that no tagger fills."""
        return [one for one in self.columns if one not in self.bundled and self.own_name(one) != self.words]

    @property
    def words(self) -> str:
        """The file's name of the column of words."""
        return next(iter(self.aliases.values()))

    @property
    def read(self) -> list[str]:
        """The file's columns that are needed, by its own names; the label is the last."""
        return [*(self.own_name(one) for one in self.columns if one not in self.added_columns), self.label]

    def own_name(self, column: str) -> str:
        """Return the file's name of a column that a template names."""
        return (
            column if column in self.added_columns else resolve(self.aliases.get(column, column), self.names)
        )

    def present(self, names: tuple[str, ...]) -> list[str]:
        """Return the needed columns of a file, which may lack the label.

        ValueError if it is made otherwise.
        """
        if self.conllu or self.names == names:
            if self.names != names:
                raise ValueError("not CoNLL-U, which the model was trained on.")
            return self.read
        if len(names) != len(self.names) - 1:
            raise ValueError(
                f"{len(names)} columns; the model was trained on files of {len(self.names)} columns, the "
                "label among them. For raw text use `structlearn tag`."
            )
        return list(names)

    def apply(self, tokens: Tokens) -> Tokens:
        """Return a file's columns under the names they had in training, and those that templates use."""
        if tokens.layout.names != self.names:
            others = [name for name in self.names if name != self.label]
            columns = dict(zip(others, tokens.columns.values(), strict=True))
            layout = tokens.layout._replace(names=tuple(others))
            tokens = replace(tokens, columns=columns, layout=layout)
        return replace(tokens, aliases={name: self.own_name(name) for name in self.columns})

    def as_notes(self) -> dict[str, object]:
        """Return the plan as JSON."""
        return {
            "format": "CoNLL-U" if self.conllu else "columns",
            "names": list(self.names),
            "label": self.label,
            "aliases": self.aliases,
            "templates": self.templates,
            **({"bundled": list(self.bundled)} if self.bundled else {}),
        }

    @classmethod
    def from_notes(cls, notes: dict[str, Any]) -> Plan:
        """Return the plan of a model's notes; ValueError if they are of none."""
        check_form(notes, _NOTES, "notes")
        derived, needs = derived_names(notes)
        plan = cls(tuple(notes["names"]), notes["label"], notes["aliases"], notes["templates"])
        plan = replace(plan, bundled=tuple(notes.get("bundled", ())), derived=derived, needs=needs)
        if plan.label not in plan.names:
            raise ValueError("notes.label must be one of notes.names")
        _ = plan.columns  # which must be among the names, too
        return plan


def make_plan(
    names: tuple[str, ...],
    label: str | None = None,
    columns: Sequence[str] | None = None,
    templates: str | Path | None = None,
    transitions: str | None = None,
    bundled: Sequence[str | None] = (),
    *,
    task: str = "tag",
    resources: Resources | None = None,
) -> Plan:
    """Resolve what was asked for against a file's columns; ValueError where it does not fit.

    names : the file's columns
    label : name or number; the last column unless given, UPOS in CoNLL-U
    columns : names or numbers of the columns to look at, the words first; all others, FORM in CoNLL-U
    templates : those of `default_templates` unless given; of names, they look at `columns` or words alone
    transitions : templates to be had beside them
    bundled : columns that taggers fill; None is the first beside the words, or a new one, "pos"
    task : whose default templates, "tag" or "ner"
    resources : which columns are to be derived
    """
    conllu = names == CONLLU
    if len(names) < 2:
        raise ValueError(ONE_COLUMN)
    target = resolve(label if label is not None else "upos" if conllu else str(_LAST), names)
    if columns is None:
        chosen = ["form"] if conllu else [name for name in names if name != target]
    else:
        chosen = [resolve(column, names) for column in columns]
    usual = USUAL[:1] if conllu else USUAL
    aliases = dict(zip(usual, chosen))
    called = [*aliases, *chosen[len(aliases) :]]
    filled = tuple(one or (called[1] if len(called) > 1 else _TAGS) for one in bundled)
    called += [one for one in filled if one not in called]
    looked = [*called[:1], *filled] if task == NAMES and columns is None else called
    all_templates = _spell(templates or default_templates(looked, task), transitions)
    resources = resources or Resources(TaggerParameters())
    resources.check([*called, *names])
    check_pattern_columns(_patterns(templates), names, target)
    derived = tuple(resources.names), tuple(resources.needs)
    plan = Plan(names, target, aliases, all_templates, filled, *derived)
    for column in plan.columns:
        if plan.own_name(column) == target:
            raise ValueError(f"column {column} is the label, so that templates cannot look at it.")
    return plan


def _spell(templates: str | Path, transitions: str | None) -> str:
    """Return templates in one text; those of a file as it has them."""
    if isinstance(templates, Path) or is_patterns(templates):
        templates = spell_templates(parse_templates(templates))
    return f"{templates} {transitions or ''}".strip()


def _patterns(templates: str | Path | None) -> list[Pattern]:
    """Return the patterns of CRF++ or Wapiti among templates."""
    found = () if templates is None else parse_templates(templates)
    return [one for one in found if isinstance(one, Pattern)]


def resolve(column: str, names: tuple[str, ...]) -> str:
    """Return a column by its name, in any case, or by its number, from the end if negative."""
    if column.lower() in names:
        return column.lower()
    try:
        return names[int(column)]
    except (ValueError, IndexError):
        known = f"are {', '.join(names)}" if names == CONLLU else f"have the numbers 0 to {len(names) - 1}"
        raise ValueError(f"there is no column {column!r}; its columns {known}.") from None

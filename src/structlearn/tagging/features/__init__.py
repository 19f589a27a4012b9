"""Words and their annotations as sparse features, by templates."""

from structlearn.tagging.features.features import TextFeatures
from structlearn.tagging.features.templates import (
    Atom,
    Template,
    Templates,
    default_context,
    default_templates,
    default_usual,
    parse_templates,
    spell_templates,
)

__all__ = [
    "Atom",
    "Template",
    "Templates",
    "TextFeatures",
    "default_context",
    "default_templates",
    "default_usual",
    "parse_templates",
    "spell_templates",
]


def __dir__() -> list[str]:
    return sorted(__all__)

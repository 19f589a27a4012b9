"""Words and their annotations as sparse features, by templates."""

from structlearn.apps.text.features import TextFeatures
from structlearn.apps.text.templates import Atom, Template, parse_templates

__all__ = ["Atom", "Template", "TextFeatures", "parse_templates"]

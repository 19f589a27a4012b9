"""The applications that model files can hold, and what reads them; and `structlearn.load`, which reads all.

A new application is its own folder, whose class has `load(path)`, and an entry here.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from structlearn.core.garbage import no_collection
from structlearn.core.registry import Registry, resolve_name
from structlearn.core.wording import quote

if TYPE_CHECKING:
    from structlearn.estimators.files.persistence import Bundle


class Application(NamedTuple):
    """An application by the name that its files give: its class, or where that is."""

    name: str
    made: str | type


APPLICATIONS: Registry[Application] = Registry(
    "application",
    [
        Application("Tagger", "structlearn.tagging:Tagger"),
        Application("NeuralTagger", "structlearn.neural:NeuralTagger"),
        Application("NeuralParser", "structlearn.neural:NeuralParser"),
        Application("Aligner", "structlearn.alignment.aligner:Aligner"),
    ],
)

_TAGGERS = ("Tagger", "NeuralTagger")


def tagger_of(bundle: Bundle) -> Any:
    """Return the tagger that a model file of `train tag | chunk | ner` holds: by its notes, of which kind."""
    name = bundle.notes.get("application", "Tagger")
    if name not in _TAGGERS:
        raise ValueError(f"it holds no tagger but a {quote(name)}")
    return resolve_name(APPLICATIONS[name].made).of(bundle)


@no_collection()
def load(path: str | Path, structure: object = None, scoring: object = None) -> Any:
    """Read an estimator from `path`, or the application that keeps one there: a `Tagger`, an `Aligner`,
    a `NeuralTagger` or a `NeuralParser`.

    `structure` (and `scoring`) must be given for a `StructuredPredictor` whose structure is the user's own:
    code is not stored in model files.
    """
    from structlearn.estimators.files.persistence import load_bundle, unknown
    from structlearn.storage.model_file import ModelFile

    header = ModelFile(path).header
    name = header["notes"].get("application", header["estimator"])
    if isinstance(name, str) and name in APPLICATIONS:
        return resolve_name(APPLICATIONS[name].made).load(path)
    if name != header["estimator"]:
        raise unknown(path, name)
    return load_bundle(path, structure, scoring).estimator

"""Words for models of segments."""

from __future__ import annotations

from dataclasses import dataclass, replace

from structlearn.apps.tagging.tagger import Tagger
from structlearn.apps.text.resources import Resources


@dataclass(kw_only=True, eq=False, repr=False)
class SegmentedWords(Tagger):
    """A `Tagger` whose rows bring features of whole segments, for `SegmentTagger(segment_features="text")`.

    `fit_features` and `rows` make them; see `structlearn.apps.text.whole_segments`.
    """

    def resources(self) -> Resources:
        """Those of the parameters, and the features of segments."""
        return replace(super().resources(), segments=True)

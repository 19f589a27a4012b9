"""Networks below structures: taggers and parsers whose scores come from a BiLSTM over words and characters.

They need PyTorch (the extra `torch`), train on a CPU in minutes, and answer as `Tagger` and `TreeParser` do.
`encode` returns their hidden states, which `ChainClassifier` and `Tagger` take as features.
"""

from typing import TYPE_CHECKING

from structlearn.core.imports import names_of

if TYPE_CHECKING:
    from structlearn.neural.parser import NeuralParser
    from structlearn.neural.tagger import NeuralTagger

__all__ = ["NeuralParser", "NeuralTagger"]

_find, __dir__ = names_of(__name__, {"NeuralParser": "parser", "NeuralTagger": "tagger"})


def __getattr__(name: str) -> object:
    try:
        return _find(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ValueError(f"{name} needs the package torch: pip install 'structlearn[torch]'.") from None

"""The parameters of networks; nothing heavy is imported here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from structlearn.core.help_texts import with_inherited

if TYPE_CHECKING:
    import numpy as np

#: What must be positive, and what must be a share.
_COUNTS = ("epochs", "n_networks", "hidden_size", "n_layers", "batch_size")
_SHARES = ("dropout", "word_dropout")


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkParameters:
    """What networks look like and how they are trained.

    Parameters
    ----------
    n_networks : int
        Networks that are trained with different random numbers; the mean of their scores counts.
    epochs : int
        How often training goes through the data. The learning rate falls to 0 over all epochs, and the
        average of the weights at the last of its steps is kept.
    vectors : path, optional
        File of word vectors (fastText's text format), which are inputs beside the embeddings that are
        learnt. Those of the words of the training text and of the first 50,000 words of the file are kept.
    hidden_size, n_layers : int
        Units of the LSTM per direction, and its layers.
    dropout, word_dropout : float
        The share of hidden numbers that are left out while training, and of words that are taken for
        unknown ones.
    batch_size : int
        Words per step. Sentences of similar lengths go together.
    learning_rate : float
        Of Adam, in the beginning.
    max_seconds : float, optional
        Training ends after this many seconds, with what has been learnt so far.
    n_jobs : int, optional
        Threads; -1 for all cores. Results are the same for the same seed and number of threads.
    random_state : int, RandomState or None
    verbose : int
        Whether a line per epoch is written to stderr.
    """

    n_networks: int = 1
    epochs: int = 10
    vectors: str | Path | None = None
    hidden_size: int = 150
    n_layers: int = 1
    dropout: float = 0.5
    word_dropout: float = 0.2
    batch_size: int = 800
    learning_rate: float = 2e-3
    max_seconds: float | None = None
    n_jobs: int | None = 1
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0

    def __init_subclass__(cls, **options: object) -> None:
        """Help texts of taggers and parsers name all parameters."""
        super().__init_subclass__(**options)
        cls.__doc__ = with_inherited(cls)

    def check_network(self) -> None:
        """Raise ValueError for a parameter that describes no network, and where there are no vectors."""
        for name in _COUNTS:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1; got {value!r}.")
        for name in _SHARES:
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 0 and less than 1; got {getattr(self, name)!r}.")
        if self.vectors is not None and not Path(self.vectors).is_file():
            raise FileNotFoundError(f"The file of word vectors {self.vectors} does not exist.")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate must be positive; got {self.learning_rate!r}.")

"""Parsers with networks in model files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.files.attributes import read_certificate
from structlearn.estimators.files.persistence import history_array, history_of
from structlearn.estimators.scikit import check_is_fitted
from structlearn.neural.arcs import ArcNetwork
from structlearn.neural.encoder import EncoderSizes
from structlearn.neural.files import network_notes, network_weights, read_networks
from structlearn.neural.parameters import NetworkParameters
from structlearn.neural.vocabularies import TextCoder
from structlearn.solvers.solution import Certificate, History
from structlearn.storage.model_file import ModelFile, refuse_damaged, text_array, text_lines, write_model
from structlearn.storage.schema import check_form

#: What its model files say that they hold.
APPLICATION = "NeuralParser"
_PARAMETERS: dict[str, object] = {
    "columns": list[str],
    "projective": bool,
    "single_root": bool,
    "n_networks": int,
    "epochs": int,
    "hidden_size": int,
    "n_layers": int,
    "dropout": float,
    "word_dropout": float,
    "batch_size": int,
    "learning_rate": float,
    "max_seconds": float | None,
    "n_jobs": int | None,
    "verbose": int,
}
_TEXT = "text:"


class StoredParser(NetworkParameters):
    """How a parser is written and read."""

    networks_: list[ArcNetwork]
    coder_: TextCoder
    labels_: Array | None
    certificate_: Certificate
    history_: History

    def save(self, path: str | Path) -> None:
        """Write the parser as one safetensors file."""
        write_model(path, *self.model_parts({}))

    def model_parts(self, notes: dict[str, object]) -> tuple[dict[str, object], dict[str, Array]]:
        """Return the header and the arrays of a model file, with notes on how data files are read."""
        check_is_fitted(self, "networks_")
        parameters: dict[str, Any] = {name: getattr(self, name) for name in _PARAMETERS}
        header: dict[str, object] = {
            "estimator": APPLICATION,
            "parameters": parameters | {"columns": list(parameters["columns"])},
            "structure": None,
            "fitted": {"labels": None if self.labels_ is None else self.labels_.tolist()},
            "certificate": self.certificate_.as_dict(),
            "notes": {**notes, **network_notes(self.networks_[0].encoder.sizes, len(self.networks_))},
        }
        texts = {f"{_TEXT}{name}": text_array(lines) for name, lines in self.coder_.texts().items()}
        arrays = {"weights": network_weights(self.networks_), "history": history_array(self.history_)}
        return header, {**arrays, **texts}

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a parser that `save` or `structlearn train parse --model neural` wrote."""
        return cls.of(ModelFile(path))

    @classmethod
    def of(cls, file: ModelFile) -> Self:
        """Return the parser of an open model file; ValueError for the file of something else."""
        header = file.header
        if header["estimator"] != APPLICATION:
            raise ValueError(f"{file.path} holds no parser with networks; use structlearn.load.")
        with refuse_damaged(file.path):
            check_form(header["parameters"], _PARAMETERS, "parameters")
            check_form(header["fitted"], {"labels": list[str] | None}, "fitted")
            self, labels = cls(**header["parameters"]), header["fitted"]["labels"]
            self.labels_ = None if labels is None else np.array(labels)
            self.certificate_ = read_certificate(header["certificate"])
            self.history_ = history_of(file.load("history"))
            self.coder_ = TextCoder.from_texts({k: text_lines(v) for k, v in file.load_all(_TEXT).items()})
            n_relations = 1 if self.labels_ is None else len(self.labels_)

            def make(sizes: EncoderSizes) -> ArcNetwork:
                return ArcNetwork(sizes, n_relations)

            weights = file.load("weights", sized=True)
            self.networks_ = read_networks(header["notes"], self.coder_, weights, make)
        return self

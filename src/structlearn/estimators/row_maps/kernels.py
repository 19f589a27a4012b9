"""Maps whose inner products approximate a kernel: phi(x) . phi(y) ~ k(x, y)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.registry import either
from structlearn.estimators.row_maps.base import (
    RowMap,
    check_matrix,
    check_vector,
    not_kept,
    product,
    register_row_map,
)
from structlearn.estimators.scikit import Rows


@register_row_map("sklearn.kernel_approximation:Nystroem", "a kernel seen from some of the training rows")
@dataclass(frozen=True, eq=False)
class Landmarks(RowMap):
    """k(x, L) N^T, with landmarks L among the training rows and N = k(L, L)^(-1/2).

    parameters : those of the kernel, by name
    """

    kernel: str
    parameters: dict[str, float]
    landmarks: Array | sparse.csr_matrix
    normalization: Array

    @classmethod
    def of(cls, fitted: Any) -> Landmarks:
        kernel, landmarks = fitted.kernel, fitted.components_
        if not isinstance(kernel, str) or kernel not in KERNELS:
            named = repr(kernel) if isinstance(kernel, str) else getattr(kernel, "__name__", "a function")
            raise not_kept(f"Nystroem(kernel={named})", f"kernel={either(map(repr, KERNELS))}")
        parameters = {}
        for name, default in KERNELS[kernel].defaults.items():
            given = getattr(fitted, name)
            given = (fitted.kernel_params or {}).get(name) if given is None else given
            parameters[name] = default(landmarks.shape[1]) if given is None else float(given)
        landmarks = landmarks.tocsr() if sparse.issparse(landmarks) else landmarks
        return cls(kernel, parameters, landmarks, fitted.normalization_)

    def check(self) -> None:
        if self.kernel not in KERNELS or self.parameters.keys() != KERNELS[self.kernel].defaults.keys():
            raise ValueError(f"kernel {self.kernel!a} of its row map is unknown, or its parameters are")
        check_matrix("landmarks", self.landmarks, (None, None))
        check_matrix("normalization", self.normalization, (self.n_outputs, self.n_outputs))

    @property
    def n_inputs(self) -> int:
        return self.landmarks.shape[1]

    @property
    def n_outputs(self) -> int:
        return self.landmarks.shape[0]

    def transform(self, X: Rows) -> Rows:
        dtype = np.result_type(X.dtype, self.landmarks.dtype)
        both = X.astype(dtype, copy=False), self.landmarks.astype(dtype, copy=False)
        values = KERNELS[self.kernel].formula(*both, **self.parameters)
        return values @ self.normalization.T


@register_row_map("sklearn.kernel_approximation:RBFSampler", "random waves, for the Gaussian kernel")
@dataclass(frozen=True, eq=False)
class Waves(RowMap):
    """sqrt(2/D) cos(x W + b)."""

    weights: Array
    offset: Array

    @classmethod
    def of(cls, fitted: Any) -> Waves:
        return cls(fitted.random_weights_, fitted.random_offset_)

    def check(self) -> None:
        check_matrix("weights", self.weights, (None, None))
        check_vector("offset", self.offset, self.n_outputs)

    @property
    def n_inputs(self) -> int:
        return self.weights.shape[0]

    @property
    def n_outputs(self) -> int:
        return self.weights.shape[1]

    def transform(self, X: Rows) -> Rows:
        return sqrt(2.0 / self.n_outputs) * np.cos(product(X, self.weights) + self.offset)


@register_row_map("sklearn.kernel_approximation:PolynomialCountSketch", "products of features, hashed")
@dataclass(frozen=True, eq=False)
class HashedProducts(RowMap):
    """The convolution of `degree` count sketches of sqrt(gamma) x, with sqrt(coef0) as one more feature.

    places, signs : int arrays of shape (degree, n_features), one more column where coef0 is not 0
        Where each sketch adds a feature, and whether it adds or subtracts it.
    """

    places: Array
    signs: Array
    gamma: float
    coef0: float
    size: int

    @classmethod
    def of(cls, fitted: Any) -> HashedProducts:
        gamma, coef0 = float(fitted.gamma), float(fitted.coef0)
        return cls(fitted.indexHash_, fitted.bitHash_, gamma, coef0, int(fitted.n_components))

    def check(self) -> None:
        check_matrix("places", self.places, (None, None))
        check_matrix("signs", self.signs, self.places.shape)
        inside = self.places.dtype.kind in "iu" and 0 <= self.places.min() <= self.places.max() < self.size
        if not inside or not np.isin(self.signs, (-1, 1)).all() or min(self.gamma, self.coef0) < 0:
            raise ValueError("the hashes of its row map are none")
        if self.n_inputs < 1:
            raise ValueError("its row map is one of no features")

    @property
    def n_inputs(self) -> int:
        return self.places.shape[1] - (self.coef0 != 0)

    @property
    def n_outputs(self) -> int:
        return self.size

    def transform(self, X: Rows) -> Rows:
        from scipy import fft

        waves: Array | float = 1.0
        for places, signs in zip(self.places, self.signs):
            by_feature = signs.astype(np.float64)
            by_feature[: self.n_inputs] *= np.sqrt(self.gamma)
            by_feature[self.n_inputs :] *= np.sqrt(self.coef0)
            shape = places.size, self.size
            sketch = sparse.csr_array((by_feature, (np.arange(places.size), places)), shape=shape)
            counts = product(X, sketch[: self.n_inputs])
            if self.coef0:
                counts += sketch[[self.n_inputs]].toarray()
            waves = waves * fft.fft(counts, axis=1)
        return np.real(fft.ifft(waves, axis=1))


# ---- kernels ---------------------------------------------------------------------------------------


def _squared_distances(X: Rows, Y: Rows) -> Array:
    """Return ||x - y||^2 of all rows of X and of Y, by float64 products."""
    X64, Y64 = X.astype(np.float64, copy=False), Y.astype(np.float64, copy=False)
    found = _squares(X64)[:, None] - 2 * product(X64, Y64.T) + _squares(Y64)
    return np.maximum(found, 0.0).astype(X.dtype)


def _squares(X: Rows) -> Array:
    return np.einsum("ij,ij->i", X, X) if isinstance(X, np.ndarray) else X.multiply(X).sum(axis=1).A1


def _rbf(X: Rows, Y: Rows, gamma: float) -> Array:
    return np.exp(-gamma * _squared_distances(X, Y))


def _laplacian(X: Rows, Y: Rows, gamma: float) -> Array:
    from scipy.spatial.distance import cdist

    dense = [one if isinstance(one, np.ndarray) else one.toarray() for one in (X, Y)]
    return np.exp(-gamma * cdist(*dense, metric="cityblock"))


def _linear(X: Rows, Y: Rows) -> Array:
    return product(X, Y.T)


def _polynomial(X: Rows, Y: Rows, gamma: float, degree: float, coef0: float) -> Array:
    return (gamma * product(X, Y.T) + coef0) ** degree


def _sigmoid(X: Rows, Y: Rows, gamma: float, coef0: float) -> Array:
    return np.tanh(gamma * product(X, Y.T) + coef0)


def _cosine(X: Rows, Y: Rows) -> Array:
    lengths = [np.sqrt(_squares(one)) for one in (X, Y)]
    across, down = (np.where(one == 0, 1, one).astype(X.dtype) for one in lengths)
    return product(X, Y.T) / across[:, None] / down


def _of_features(n_features: int) -> float:
    return 1.0 / n_features


class Kernel(NamedTuple):
    """k(x, y) for all rows of two matrices, and what its parameters are, for d features, unless given."""

    formula: Callable[..., Array]
    defaults: Mapping[str, Callable[[int], float]]


_POLYNOMIAL = Kernel(_polynomial, {"gamma": _of_features, "degree": lambda d: 3.0, "coef0": lambda d: 1.0})
KERNELS: Mapping[str, Kernel] = {
    "rbf": Kernel(_rbf, {"gamma": _of_features}),
    "laplacian": Kernel(_laplacian, {"gamma": _of_features}),
    "linear": Kernel(_linear, {}),
    "poly": _POLYNOMIAL,
    "polynomial": _POLYNOMIAL,
    "sigmoid": Kernel(_sigmoid, {"gamma": _of_features, "coef0": lambda d: 1.0}),
    "cosine": Kernel(_cosine, {}),
}

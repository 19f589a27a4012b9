"""Structures as functions of JAX: losses and predictions of scores that a network computes.

    values  Omega*(theta) = max_{z in M} <theta, z> - Omega(z)      gradient: the prediction
    answers z(theta)      = argmax_{z in M} <theta, z> - Omega(z)   derivative: J v, J symmetric

`structured_loss` and `structured_layer` make functions that JAX compiles, differentiates and maps; structures
answer on the CPU, by callbacks. Scores, outputs and sizes are those of `structlearn.torch`.
"""

from structlearn.jax.layers import structured_layer, structured_loss

__all__ = ["structured_layer", "structured_loss"]


def __dir__() -> list[str]:
    return sorted(__all__)

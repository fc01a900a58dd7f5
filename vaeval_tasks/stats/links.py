"""Link functions of the cumulative model: distribution, density and its slope."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

__all__ = ["Link", "Tail", "quantile", "tail"]

Floats = NDArray[np.float64]


class Link(StrEnum):
    """The distribution of the latent error."""

    logit = "logit"
    probit = "probit"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tail:
    """A link evaluated at z."""

    below: Floats
    """F(z)."""
    above: Floats
    """1 - F(z), without cancellation."""
    density: Floats
    slope: Floats
    """Of the density."""


def tail(link: Link, z: Floats) -> Tail:
    """Evaluate a link."""
    from scipy.special import expit, ndtr  # here: reading ratings imports this room, and needs no SciPy

    if link is Link.logit:
        below, above = expit(z), expit(-z)
        density = below * above
        return Tail(below=below, above=above, density=density, slope=density * (above - below))
    density = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    return Tail(below=ndtr(z), above=ndtr(-z), density=density, slope=-z * density)


def quantile(link: Link, probability: Floats) -> Floats:
    """Return F^-1."""
    from scipy.special import logit, ndtri

    return logit(probability) if link is Link.logit else ndtri(probability)

"""Tamis as a target of pySigma: `sigma convert -t tamis` prints expressions."""

from sigma.backends.tamis.backend import TamisBackend

__all__ = ["TamisBackend"]

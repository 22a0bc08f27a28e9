"""Guessing from a file's own rows how it might become a benchmark: `suggest`. Nothing is decided here; a person looks at each guess."""

from imports.suggesting.guesses import Certainty, Guess, Suggestion, Withheld
from imports.suggesting.suggestion import suggest

__all__ = ["Certainty", "Guess", "Suggestion", "Withheld", "suggest"]

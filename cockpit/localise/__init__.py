"""Finds the place to look at before the first token is asked for."""

from cockpit.localise.named_tests import named_tests
from cockpit.localise.outlines import context_for, enclosing_symbols, outline_text
from cockpit.localise.shortlist import Candidate, FileSource, shortlist

__all__ = [
    "Candidate",
    "FileSource",
    "context_for",
    "enclosing_symbols",
    "named_tests",
    "outline_text",
    "shortlist",
]

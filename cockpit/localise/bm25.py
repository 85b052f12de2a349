"""Ranks documents by BM25, from counts that were made elsewhere."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

K1 = 1.2
B = 0.75


@dataclass(frozen=True, slots=True)
class Document:
    """What BM25 has to know of one document."""

    counts: Mapping[str, int]
    """Number of occurrences of the words asked for."""
    length: int
    """Number of all words."""


def bm25(query: Counter[str], documents: Sequence[Document]) -> list[float]:
    """Return the score of each document; a word repeated in the query counts by the logarithm of its number."""
    if not documents:
        return []
    mean = sum(document.length for document in documents) / len(documents) or 1.0
    found = Counter(word for document in documents for word in document.counts)
    weights = {word: _rarity(found[word], len(documents)) * (1 + math.log(times)) for word, times in query.items()}
    return [_score(document, weights, mean) for document in documents]


def _rarity(found: int, total: int) -> float:
    return math.log(1 + (total - found + 0.5) / (found + 0.5))


def _score(document: Document, weights: Mapping[str, float], mean: float) -> float:
    norm = K1 * (1 - B + B * document.length / mean)
    return sum(
        weights.get(word, 0.0) * times * (K1 + 1) / (times + norm) for word, times in sorted(document.counts.items())
    )

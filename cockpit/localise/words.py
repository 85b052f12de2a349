"""Cuts text into the words that are searched for: identifiers whole, and their parts in snake and camel case."""

import re
from collections import Counter
from collections.abc import Collection
from functools import lru_cache

IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]+")
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
STOP = frozenset(
    re.split(
        " ",
        "the and for that this with from are not but was have has had you can will would should could when what which "
        "it its is in of to an on as be by or if at we my me do does did so no yes all any some there then than also "
        "just only use using used like get got one two into out how why here where about after before because issue "
        "bug error expected actual behavior behaviour version example code following steps reproduce please thanks",
    )
)


@lru_cache(maxsize=200_000)
def parts_of(identifier: str) -> tuple[str, ...]:
    """Return the words of one identifier, lower case, the whole one last when it has several."""
    parts = [part.lower() for part in PART.findall(identifier)]
    words = [part for part in parts if len(part) > 1 and part not in STOP]
    return tuple(words) if len(parts) < 2 else (*words, identifier.lower())


def count_words(text: str) -> Counter[str]:
    """Count every word of a text; linear in its size."""
    counts: Counter[str] = Counter()
    for identifier, number in Counter(IDENTIFIER.findall(text)).items():
        for word in parts_of(identifier):
            counts[word] += number
    return counts


def count_wanted(text: str, wanted: Collection[str]) -> tuple[Counter[str], int]:
    """Count only the wanted words of a text, and return how many words it has in all."""
    counts: Counter[str] = Counter()
    total = 0
    for identifier, number in Counter(IDENTIFIER.findall(text)).items():
        words = parts_of(identifier)
        total += number * len(words)
        for word in words:
            if word in wanted:
                counts[word] += number
    return counts, total

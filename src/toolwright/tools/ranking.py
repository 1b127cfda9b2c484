"""Finding texts by words: BM25 over weighted fields, built once, asked in milliseconds (pure)."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from math import log

_K1 = 1.2
_B = 0.75
_WORD = re.compile(r"[A-Z]+(?![^\W\d_A-Z])|[A-Z]?[^\W\d_A-Z]+|\d+")
_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an and any are as at be by can do does for from has have how i if in into is it its me my of on "
        "or out please so some than that the their them then there these this those to up us want was what "
        "when where which will with would you your",
    )
)
_ENDINGS = ("ing", "ed", "es", "s")
_SHORTEST_STEM = 3
_SHORTEST_PART = 3
"""Characters a word needs before it is looked for inside other words."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the documents. ``inside`` counts when a word is only a part of one of the field's words."""

    weight: float
    inside: float = 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    key: str
    score: float


def words(text: str) -> list[str]:
    """Split a text or a name in any spelling into lower-case stems; words that say nothing are left out."""
    found = (word.lower() for word in _WORD.findall(text))
    return [stem(word) for word in found if word not in _STOP_WORDS]


def stem(word: str) -> str:
    """Strip a plain ending, so that ``files`` finds ``file`` and ``listing`` finds ``list``."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM and not word.endswith("ss"):
            shorter = word[: -len(ending)]
            return shorter[:-1] if ending == "ing" and _is_doubled(shorter) else shorter.removesuffix("e")
    return word.removesuffix("e") if len(word) > _SHORTEST_STEM else word


def _is_doubled(word: str) -> bool:
    return word[-1] == word[-2] and word[-1] not in "ls" and len(word) > _SHORTEST_STEM


class Index:
    """Documents by key, each a text for some of the fields."""

    def __init__(
        self, fields: Mapping[str, Field], documents: Iterable[tuple[str, Mapping[str, str]]]
    ) -> None:
        self._keys: list[str] = []
        counted: dict[str, list[Counter[str]]] = {name: [] for name in fields}
        for key, texts in documents:
            self._keys.append(key)
            for name, of_field in counted.items():
                of_field.append(Counter(words(texts.get(name, ""))))
        postings = {name: _postings(of_field) for name, of_field in counted.items()}
        rarity = _rarities(postings.values(), len(self._keys))
        self._whole = _weighed(postings, {name: field.weight for name, field in fields.items()}, rarity)
        self._inside = _weighed(postings, {name: field.inside for name, field in fields.items()}, rarity)

    def __len__(self) -> int:
        return len(self._keys)

    def search(
        self, query: Sequence[str], limit: int, *, accepts: Callable[[str], bool] | None = None
    ) -> list[Hit]:
        """Return the best documents for stems as ``words`` makes them; those without any never come.

        Equal scores stand in the order of their keys.
        """
        scores = [0.0] * len(self._keys)
        for word in dict.fromkeys(query):
            for place, weight in self._whole.get(word, ()):
                scores[place] += weight
            if len(word) >= _SHORTEST_PART:
                self._add_inside(word, scores)
        if accepts is not None:
            scores = [score if score and accepts(self._keys[at]) else 0.0 for at, score in enumerate(scores)]
        return self._best(scores, limit)

    def _add_inside(self, word: str, scores: list[float]) -> None:
        for other, places in self._inside.items():
            if other != word and (word in other or (len(other) >= _SHORTEST_PART and word.startswith(other))):
                likeness = min(len(word), len(other)) / max(len(word), len(other))
                for place, weight in places:
                    scores[place] += weight * likeness

    def _best(self, scores: Sequence[float], limit: int) -> list[Hit]:
        least = max(min(nlargest(limit, scores), default=0.0), 1e-12)
        hits = [Hit(self._keys[at], score) for at, score in enumerate(scores) if score >= least]
        return sorted(hits, key=lambda hit: (-hit.score, hit.key))[:limit]


_Postings = dict[str, list[tuple[int, float]]]
"""By word: the documents that hold it, and how much it weighs there."""


def _postings(counted: Sequence[Counter[str]]) -> _Postings:
    """What each word weighs in one field, by BM25."""
    lengths = [count.total() for count in counted]
    filled = [length for length in lengths if length]
    usual = sum(filled) / len(filled) if filled else 1.0
    found: _Postings = {}
    for place, count in enumerate(counted):
        norm = _K1 * (1 - _B + _B * lengths[place] / usual)
        for word, times in count.items():
            found.setdefault(word, []).append((place, times * (_K1 + 1) / (times + norm)))
    return found


def _rarities(of_fields: Iterable[_Postings], total: int) -> dict[str, float]:
    """By word: the fewer documents hold it in any field, the more it says."""
    holders: dict[str, set[int]] = {}
    for postings in of_fields:
        for word, places in postings.items():
            holders.setdefault(word, set()).update(place for place, _ in places)
    return {word: log(1 + (total - len(of) + 0.5) / (len(of) + 0.5)) for word, of in holders.items()}


def _weighed(
    of_fields: Mapping[str, _Postings], weights: Mapping[str, float], rarity: Mapping[str, float]
) -> _Postings:
    """Fold the fields into one, each with its weight; fields without one are left out."""
    folded: dict[str, dict[int, float]] = {}
    for name, postings in of_fields.items():
        if not weights[name]:
            continue
        for word, places in postings.items():
            weight, into = weights[name] * rarity[word], folded.setdefault(word, {})
            for place, share in places:
                into[place] = into.get(place, 0.0) + weight * share
    return {word: list(places.items()) for word, places in folded.items()}

"""Finds what a person asks for again and again and no playbook covers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from engine.playbooks.draft import Draft, drafted, examples_in
from engine.playbooks.past import Asked, Progress, silent
from engine.search.query import literal_terms
from engine.search.talk import is_order, telling
from engine.startup.lazy import expression
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.activation.trace import Message, Trace

_ALIKE = 0.35
"""Cosine from which a message belongs to a group, to its mean."""
_LINK = expression(r"https?://\S+")
_TITLE_WORDS = 3
_MOST_CHARACTERS = 600
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A group of messages that ask for the same, and a playbook drafted from them."""

    draft: Draft  # without instructions: what to do, the person says
    sessions: int
    messages: tuple[str, ...]  # the most typical first
    days: tuple[str, str]  # of the first and the last, ``YYYY-MM-DD``


def suggestions(
    messages: Sequence[Asked],
    process: Callable[[Message], Trace],
    taken: Sequence[str],
    progress: Progress = silent,
    *,
    sessions: int = 3,
) -> list[Suggestion]:
    """Groups that come up in at least some sessions, the most frequent and most alike first.

    Args:
        taken: Names of topics, which a suggestion does not get.
    """
    same: dict[str, list[Asked]] = {}
    for each in messages:
        same.setdefault(each.text, []).append(each)
    uncovered: list[list[Asked]] = []
    for number, copies in enumerate(same.values()):
        progress(number, len(same))
        if _asks(copies[0].typed) and not process(copies[0].message).active:
            uncovered.append(copies)
    progress(len(same), len(same))
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 — takes a second to import

    words = TfidfVectorizer(sublinear_tf=True, stop_words="english", token_pattern=r"(?u)\b[^\W\d_][\w-]+\b")
    try:
        vectors = words.fit_transform([_LINK.sub(" ", copies[0].typed) for copies in uncovered])
    except ValueError:  # nothing, or only stop words
        return []
    names = words.get_feature_names_out()
    found: list[tuple[float, Suggestion]] = []
    for group in _grouped(vectors):
        mine = [each for place in group for each in uncovered[place]]
        count = len({each.path for each in mine})
        if count < sessions:
            continue
        mean = vectors[group].mean(axis=0).A1
        near = {place: float(vectors[place].dot(mean)[0]) for place in group}
        typical = sorted(group, key=lambda place: (-near[place], place))
        texts = tuple(" ".join(uncovered[place][0].typed.split()) for place in typical)
        top = sorted(range(len(mean)), key=lambda word: (-mean[word], word))[:_TITLE_WORDS]
        title = " ".join(str(names[word]) for word in top if mean[word] > 0).capitalize()
        when = f"You ask for something like: {texts[0][:150]}"
        draft = drafted(title, when, examples=examples_in(texts)[:_MOST_SHOWN])
        days = sorted(each.message.at.date().isoformat() for each in mine)
        if draft.name not in taken:
            alike = sum(near.values()) / len(group)
            found.append((count * alike, Suggestion(draft, count, texts[:_MOST_SHOWN], (days[0], days[-1]))))
    found.sort(key=lambda each: (-each[0], each[1].draft.title))
    return [each for _, each in found]


def _asks(text: str) -> bool:
    """Whether a message says what it is about, and is short enough to be typed for one thing. Commands of an
    agent's own do not count: they have their instructions.
    """
    is_short = len(text) <= _MOST_CHARACTERS and not text.startswith(("/", "!", "#"))
    return is_short and len(telling(literal_terms(text))) > 1 and not is_order(text)


def _grouped(vectors: Any) -> list[list[int]]:
    """Leader clustering: each row joins the nearest group if it is alike enough, or leads a new one.

    ``vectors`` is a sparse matrix ``[N, W]`` of rows of length 1. A second pass assigns each row to its
    nearest leader, so that the order of the first matters little.
    """
    leaders: list[int] = []
    for place in range(vectors.shape[0]):
        if not vectors[place].nnz:
            continue
        if not leaders or (vectors[leaders] @ vectors[place].T).max() < _ALIKE:
            leaders.append(place)
    if not leaders:
        return []
    near = (vectors @ vectors[leaders].T).toarray()
    groups: list[list[int]] = [[] for _ in leaders]
    for place, row in enumerate(near):
        if row.max() >= _ALIKE:
            groups[int(row.argmax())].append(place)
    return groups

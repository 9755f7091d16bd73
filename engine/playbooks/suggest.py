"""Finds what a person asks for again and again and no playbook covers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from engine.playbooks.draft import Draft, drafted, examples_in
from engine.playbooks.past import Asked, Progress, silent
from engine.search.query import literal_terms
from engine.search.talk import is_order, telling
from engine.startup.records import dataclass

if TYPE_CHECKING:
    from engine.activation.trace import Message, Trace

_ALIKE = 0.35
"""Cosine from which a message belongs to a group, to its mean."""
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
    """Groups that stand in at least some sessions, the most frequent first.

    Args:
        taken: Names of topics, which a suggestion does not get.
    """
    open_ones = []
    for number, each in enumerate(messages):
        progress(number, len(messages))
        if _asks(each.typed) and not process(each.message).active:
            open_ones.append(each)
    progress(len(messages), len(messages))
    if len(open_ones) < max(2, sessions):
        return []
    from sklearn.feature_extraction.text import TfidfVectorizer  # noqa: PLC0415 — takes a second to import

    words = TfidfVectorizer(sublinear_tf=True, stop_words="english", token_pattern=r"(?u)\b[^\W\d_][\w-]+\b")
    try:
        vectors = words.fit_transform([each.typed for each in open_ones])
    except ValueError:  # only stop words
        return []
    found = []
    names = words.get_feature_names_out()
    for group in _grouped(vectors):
        mine = [open_ones[place] for place in group]
        paths = {each.path for each in mine}
        if len(paths) < sessions:
            continue
        mean = vectors[group].mean(axis=0).A1
        typical = sorted(group, key=lambda place: (-float(vectors[place].dot(mean)[0]), place))
        texts = [" ".join(open_ones[place].typed.split()) for place in typical]
        top = sorted(range(len(mean)), key=lambda word: (-mean[word], word))[:_TITLE_WORDS]
        title = " ".join(str(names[word]) for word in top if mean[word] > 0).capitalize()
        draft = drafted(
            title, f"You ask for something like: {texts[0][:150]}", examples=examples_in(texts)[:_MOST_SHOWN]
        )
        days = sorted(each.message.at.date().isoformat() for each in mine)
        if draft.name not in taken:
            found.append(Suggestion(draft, len(paths), tuple(texts[:_MOST_SHOWN]), (days[0], days[-1])))
    return sorted(found, key=lambda each: (-each.sessions, each.draft.title))


def _asks(text: str) -> bool:
    """Whether a message says what it is about, and is short enough to be typed for one thing."""
    is_short = len(text) <= _MOST_CHARACTERS
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

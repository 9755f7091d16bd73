"""Finds references in Markdown: links, wikilinks, plain paths and entry names, with their positions.

Fenced code and comments are ignored as examples; inline code counts only if all of it is a path or name.
``engine.knowledge.links`` resolves the references.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from engine.store.markdown import code_lines

ReferenceKind = Literal["link", "wikilink", "path", "name"]
"""``link``: ``[label](target)``. ``wikilink``: ``[[name]]``. ``path``: a path in running text. ``name``: a
word that may be an entry's name."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference as written."""

    kind: ReferenceKind
    target: str  # the path or name, without section, title and percent signs
    start: int  # index of its first character in the text
    end: int  # index after its last character
    line: int  # of the file, from 1
    sure: bool = False
    """Whether it is almost certainly a reference. Others count only if they resolve."""


_BEFORE_FENCE = re.compile(r"[ \t>]{0,12}(?:[-*+][ \t]{1,3})?(?=`{3}|~{3})")
"""Quotations and lists may contain fenced code."""
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_WIKILINK = re.compile(
    r"(?<!\\)\[\[(?!\s)([^\[\]|#\n]{1,200})(?:#([^\[\]|\n]{0,200}))?(?:\|([^\[\]\n]{0,200}))?\]\]"
)
_LINK = re.compile(
    r"(?<!\\)\[([^\[\]\n]{0,300})\]\(\s{0,8}(?:<([^<>\n]{1,1000})>|([^\s()<>]{1,1000}))"
    r"(?:[ \t]{1,8}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'))?\s{0,8}\)"
)
_DEFINITION = re.compile(
    r"^ {0,3}\[([^\[\]\n^][^\[\]\n]{0,199})\]:[ \t]{1,8}<?([^\s<>]{1,1000})>?", re.MULTILINE
)
_PROVENANCE = re.compile(r"\[from:[^\]\n]{0,300}\]")
"""Provenance of a line in a category file, which may contain the name of an entry."""
_URL = re.compile(r"\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s<>]+")
_TOKEN = re.compile(r"[\w@%+~./-]{2,400}")
_NAME = re.compile(r"\w[\w.+-]{0,79}")
_SEE_ALSO = re.compile(r"\bsee also:[ \t]*([^\n]+)", re.IGNORECASE)
_ITEM = re.compile(r"[^,;|]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,30}:")
_EXAMPLE = re.compile(
    r"(?:^|/)(?:yyyy[^/]*|hhmm[^/]*|name|foo|bar|baz|example|path|to|x{2,}|\.{3,})(?:\.\w+)?(?:/|$)",
    re.IGNORECASE,
)
_NO_PATH = re.compile(r"[\\*{}$<>|…^\"`]")
_TRIMMED = " \t.,;:!?*_()[]`'\""


def references(text: str, *, first_line: int = 1) -> tuple[Reference, ...]:
    """The references in a text, in order. Never raises; linear time.

    ``text`` has ``\\n`` line ends and starts on line ``first_line`` of the file.
    """
    found = list(_Text(text, first_line).references())
    return tuple(sorted(found, key=lambda each: (each.start, each.end, each.kind)))


def without_examples(text: str) -> str:
    """The text with fenced code and comments blanked out; the length is kept."""
    lines = text.split("\n")
    code, _ = code_lines([_BEFORE_FENCE.sub("", line) for line in lines])
    unfenced = "\n".join(
        " " * len(line) if is_code else line for line, is_code in zip(lines, code, strict=True)
    )
    return _blank(unfenced, [match.span() for match in _COMMENT.finditer(unfenced)])


class _Text:
    def __init__(self, text: str, first_line: int) -> None:
        self.text = text
        self._first_line = first_line
        self._breaks = [match.start() for match in re.finditer("\n", text)]

    def references(self) -> Iterator[Reference]:
        prose = without_examples(self.text)
        prose = _blank(prose, [match.span() for match in _PROVENANCE.finditer(prose)])
        code = list(_code_spans(prose))
        for start, end in code:
            yield from self._code(prose, start, end)
        prose = _blank(prose, code)
        taken = []
        for match in _WIKILINK.finditer(prose):
            taken.append(match.span())
            if any(character.isalpha() for character in match[1]) or re.search(r"\d-\d", match[1]):
                yield self._reference(
                    "wikilink",
                    match[1].strip(),
                    match.start(),
                    match.end(),
                    sure=True,
                )
        prose = _blank(prose, taken)
        taken = []
        for pattern in (_LINK, _DEFINITION):
            for match in pattern.finditer(prose):
                taken.append(match.span())
                target = match[2] or match[3] if pattern is _LINK else match[2]
                yield from self._link(target, *match.span())
        prose = _blank(prose, taken)
        prose = _blank(prose, [match.span() for match in _URL.finditer(prose)])
        yield from self._see_also(prose)
        for match in _TOKEN.finditer(prose):
            if match[0].isalnum():
                continue  # a plain word, as most are
            yield from self._token(prose, match.start(), match.end(), in_code=False)

    def _link(self, target: str, start: int, end: int) -> Iterator[Reference]:
        path = unquote(target.partition("#")[0].partition("?")[0])
        if path and not _SCHEME.match(target) and not path.startswith("/") and is_path(path):
            yield self._reference("link", path, start, end, sure=True)

    def _code(self, prose: str, start: int, end: int) -> Iterator[Reference]:
        """The reference in inline code, if all of it is one path or name."""
        content = prose[start:end].strip("`")
        first = start + prose[start:end].index(content) if content else start
        first += len(content) - len(content.lstrip())
        content = content.strip()
        if _TOKEN.fullmatch(content) and not _SCHEME.match(content):
            yield from self._token(prose, first, first + len(content), in_code=True)

    def _see_also(self, prose: str) -> Iterator[Reference]:
        for match in _SEE_ALSO.finditer(prose):
            for item in _ITEM.finditer(match[1]):
                name = item[0].strip(_TRIMMED)
                if _NAME.fullmatch(name) and not name.endswith(".md"):
                    start = match.start(1) + item.start() + item[0].index(name)
                    yield self._reference("name", name, start, sure="-" in name or "_" in name)

    def _token(self, prose: str, start: int, end: int, *, in_code: bool) -> Iterator[Reference]:
        """A word that may be a path or an entry name."""
        before, after = prose[start - 1 : start], prose[end : end + 1]
        word = prose[start:end]
        stripped = word if word.rstrip(".").endswith("/") else word.rstrip(".")
        # Emphasis and list markers are not part of a path.
        stripped = stripped.strip("_~") if "/" not in stripped[:2] else stripped.rstrip("_~")
        start += word.index(stripped) if stripped else 0
        if not stripped or (in_code and stripped != word):
            return
        is_glued = before in ("<", ">", "}", "{", "$", "\\", "…") or after in ("<", ">", "{", "}", "$", "…")
        is_glob = (after == "*" and stripped.endswith(("/", "-", "_"))) or (
            before == "*" and stripped.startswith(("/", "."))
        )
        if stripped.startswith("/"):
            return  # of a machine or a host
        if "/" in stripped or stripped.endswith(".md"):
            if not is_glued and not is_glob and not stripped.startswith("~") and is_path(stripped):
                yield self._reference("path", stripped, start, sure=_is_plain_path(stripped, in_code))
        elif _NAME.fullmatch(stripped) and (in_code or "-" in stripped or "_" in stripped) and not is_glued:
            yield self._reference("name", stripped, start)

    def _reference(
        self,
        kind: ReferenceKind,
        target: str,
        start: int,
        end: int = 0,
        *,
        sure: bool = False,
    ) -> Reference:
        line = self._first_line + bisect_right(self._breaks, start - 1 if start else -1)
        return Reference(kind, target, start, end or start + len(target), line, sure)


def is_path(text: str) -> bool:
    """True if a text can be a workspace path, and is not a pattern or an example."""
    return _NO_PATH.search(text) is None and _EXAMPLE.search(text) is None and any(map(str.isalnum, text))


def _is_plain_path(path: str, in_code: bool) -> bool:
    """True if a path in running text is meant as one of this workspace, judged by its start and end.

    Entries often name paths of other repositories.
    """
    last = path.rstrip("/").rpartition("/")[2]
    has_suffix = "." in last.strip(".")
    if last in ("KNOWLEDGE.md", "SKILL.md"):
        return "/" in path
    if path.startswith(("./", "../")):
        return last.endswith(".md")
    if path.startswith(("knowledge/", ".library/")):
        return has_suffix or path.count("/") > 1 + path.endswith("/") or (in_code and not path.endswith("/"))
    return False


def _code_spans(text: str) -> Iterator[tuple[int, int]]:
    """Spans of inline code with backticks; each opening run closes at the next run of its length on the
    line."""
    runs: list[tuple[int, int]] = []
    line_end = -1
    for match in re.finditer(r"`+", text):
        if match.start() > line_end:
            yield from _paired(runs)
            runs = []
            line_end = text.find("\n", match.start())
            line_end = len(text) if line_end < 0 else line_end
        runs.append(match.span())
    yield from _paired(runs)


def _paired(runs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    by_length: dict[int, deque[int]] = defaultdict(deque)
    for index, (start, end) in enumerate(runs):
        by_length[end - start].append(index)
    index = 0
    while index < len(runs):
        start, end = runs[index]
        same = by_length[end - start]
        while same and same[0] <= index:
            same.popleft()
        if same:
            index = same.popleft()
            yield start, runs[index][1]
        index += 1


def _blank(text: str, spans: list[tuple[int, int]]) -> str:
    """The text with some spans blanked out; line ends are kept."""
    parts: list[str] = []
    at = 0
    for start, end in sorted(spans):
        if end > at:
            start = max(start, at)
            parts += (text[at:start], re.sub(r"[^\n]", " ", text[start:end]))
            at = end
    return "".join((*parts, text[at:]))

"""Words and sentences of text in any script."""

from __future__ import annotations

from engine.startup.lazy import expression

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_RUN = expression(f"[{_UNSPACED}]+")
_LETTERS = 2
"""Letters of scripts without spaces that make about a word."""
SENTENCE_END = expression(
    r"(?<=[.!?])(?<!\d\.)(?<!e\.g\.)(?<!i\.e\.)[\"')”’]*\s+|(?<=[。！？])\s*(?=[^\s。！？」』”’）])"
)
"""Between two sentences."""


def word_count(text: str) -> int:
    """The number of words, about two letters each in scripts without spaces."""
    if text.isascii():
        return len(text.split())
    runs = _RUN.findall(text)
    return len(_RUN.sub(" ", text).split()) + sum((len(run) + 1) // _LETTERS for run in runs)


def shortened(text: str, limit: int) -> str:
    """A text of more than ``limit`` characters up to the last word that fits, with an ellipsis."""
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    blank = cut.rfind(" ")
    return f"{cut[: blank if blank > limit // 2 else None].rstrip(' ,;:，、；：')}…"

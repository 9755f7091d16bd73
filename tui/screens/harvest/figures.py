"""What the harvest screen counts: conversations by kind, tokens, dollars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tui.render.draw import Piece, Row, wrap
from tui.render.figures import count, dollars, left, plural, sizes
from tui.render.harvest_words import pieces_in_words
from tui.render.roles import Roles

if TYPE_CHECKING:
    from engine.knowledge.harvest.classify import Candidate, Kind
    from engine.knowledge.harvest.report import Survey, Wish

Step = Literal["survey", "pick", "confirm", "result"]
STEPS: dict[Step, str] = {"survey": "look", "pick": "choose", "confirm": "confirm", "result": "result"}
SELECTABLE: tuple[Kind, ...] = ("harvest", "prune")
"""What can be chosen."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a harvest would be asked, and of whom.

    Attributes:
        provider: Who; ``markers`` asks no model.
        model: Its model.
        tokens: About how many would be sent.
        dollars: About what that costs; ``None`` where no price is known.
        why: Why it is not known.
    """

    provider: str
    model: str
    tokens: int
    dollars: float | None
    why: str = ""

    @classmethod
    def of(
        cls, survey: Survey, whole: float | None, chosen: Iterable[Candidate] | None = None, why: str = ""
    ) -> Price:
        """The price of all, or of what is chosen, which is its share.

        Args:
            survey: What there is.
            whole: What all of it costs.
            chosen: What is harvested; all there is when left out.
            why: Why that is not known.
        """
        tokens = survey.tokens
        if chosen is not None:
            tokens = sum(each.tokens for each in chosen if each.kind == "harvest")
        share = tokens / survey.tokens if survey.tokens else 0.0
        return cls(survey.provider, survey.model, tokens, None if whole is None else whole * share, why)

    def __str__(self) -> str:
        if self.provider == "markers":
            return "no model used, $0"
        who = " ".join(filter(None, (self.provider, self.model)))
        if not self.tokens:
            return f"{who}: nothing to send, $0"
        price = self.why or "no price is known"
        if self.dollars is not None:
            price = f"about {dollars(self.dollars)} and the replies"
        return f"{who}: ~{count(self.tokens)} tokens to send, {price}"


def draw_trail(step: Step, width: int, roles: Roles) -> Row:
    """The four steps, with the present one marked."""
    row = Row()
    for number, (each, words) in enumerate(STEPS.items(), 1):
        now = each == step
        row.add("  ▸  " if number > 1 else "", roles.faint)
        row.add(f"{number} {words}", roles.accent if now else roles.muted)
    return row.cut(width)


def draw_classes(survey: Survey, width: int, roles: Roles) -> list[Row]:
    """How many conversations of each kind there are, and how large; and what waits elsewhere."""
    pieces: list[Piece] = []
    for kind, words in pieces_in_words(survey):
        pieces += [(" · " if pieces else "", roles.faint)]
        pieces += [(words, roles.strong if kind in SELECTABLE else roles.muted)]
    rows = wrap(pieces, width) if pieces else []
    if survey.left:
        are = "is" if survey.left == 1 else "are"
        said = f"{plural(survey.left, 'transcript')} in raw/ {are} not harvested yet:"
        rows += wrap([(said, roles.muted), (" :harvest --transcripts", roles.accent)], width)
    return rows


def draw_price(price: Price, width: int, roles: Roles) -> list[Row]:
    """Who would be asked, and at what price."""
    paid = price.provider != "markers" and price.tokens
    return wrap([(str(price), roles.gate if paid else roles.normal)], width)


def draw_chosen(chosen: Sequence[Candidate], narrowed: int, width: int, roles: Roles) -> list[Row]:
    """How much is chosen of what can be."""
    size = sum(each.text_size or each.size for each in chosen)
    return wrap(
        [
            (f"{count(len(chosen))} of {count(narrowed)} chosen", roles.strong),
            (f", {sizes(size)}", roles.muted),
        ],
        width,
    )


def draw_wish(wish: Wish, chosen: Sequence[Candidate], price: Price, width: int, roles: Roles) -> list[Row]:
    """What would happen, before it does."""
    asked = sum(each.kind == "harvest" for each in chosen)
    rest = len(chosen) - asked
    lines: list[Row] = []
    if wish.harvest and asked:
        lines += _bullet(
            f"{plural(asked, 'conversation')} to harvest; the knowledge is committed", width, roles
        )
        lines += _bullet(str(price), width, roles)
    elif not wish.harvest:
        lines += _bullet(f"{plural(len(chosen), 'conversation')} to discard without a harvest", width, roles)
    if not wish.reclaim or wish.transcripts:
        return lines + _bullet("every conversation stays where it is", width, roles)
    if rest and wish.harvest:
        lines += _bullet(f"{plural(rest, 'conversation')} harvested before", width, roles)
    if not wish.harvest:
        said = "They move to the trash and stay in the history; r in the ledger restores one."
        return lines + _bullet(said, width, roles)
    said = "Conversations whose knowledge is committed move to the trash; r in the ledger restores one."
    also = [
        "in which nothing was found" if wish.consent.empty else "",
        "that were only partly read" if wish.consent.partial else "",
    ]
    lines += _bullet(said, width, roles)
    if any(also):
        lines += _bullet(f"So do those {' and those '.join(filter(None, also))}.", width, roles)
    return lines


def _bullet(text: str, width: int, roles: Roles) -> list[Row]:
    return wrap([("• ", roles.accent), (text, roles.normal)], width, indent=2)


def elapsed(done: int, whole: int, seconds: float) -> str:
    """``3 of 17 · 0:42``."""
    return f"{count(done)} of {count(whole)} · {left(max(0.0, seconds))}"

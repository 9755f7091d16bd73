"""What the harvest screen counts: conversations by kind, tokens, dollars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tui.draw import Piece, Row, wrap
from tui.figures import count, dollars, left, plural, sizes
from tui.roles import Roles

if TYPE_CHECKING:
    from engine.knowledge.harvest.classify import Candidate, Kind
    from engine.knowledge.harvest.report import Survey, Wish

Step = Literal["survey", "pick", "confirm", "result"]
STEPS: dict[Step, str] = {"survey": "look", "pick": "choose", "confirm": "confirm", "result": "result"}
KIND_WORDS: dict[Kind, str] = {
    "live": "live",
    "user-kept": "kept",
    "prune": "prune",
    "harvest": "harvest",
    "keep": "keep",
}
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
            return "markers: no model is asked, nothing is sent, nothing is paid"
        who = " ".join(filter(None, (self.provider, self.model)))
        if not self.tokens:
            return f"{who}: nothing is sent"
        price = self.why or "no price is known"
        if self.dollars is not None:
            price = f"about {dollars(self.dollars)}, and the replies on top"
        return f"{who}: ~{count(self.tokens)} tokens are sent, {price}"


def draw_trail(step: Step, width: int, roles: Roles) -> Row:
    """The four steps, with the present one marked."""
    row = Row()
    for number, (each, words) in enumerate(STEPS.items(), 1):
        now = each == step
        row.add("  ▸  " if number > 1 else "", roles.faint)
        row.add(f"{number} {words}", roles.accent if now else roles.muted)
    return row.cut(width)


def draw_classes(survey: Survey, width: int, roles: Roles) -> list[Row]:
    """How many conversations of each kind there are, and their bytes."""
    pieces: list[Piece] = []
    for kind, words in KIND_WORDS.items():
        number = len(survey.of(kind))
        style = roles.strong if kind in SELECTABLE and number else roles.muted
        size = f" {sizes(survey.size(kind))}" if number else ""
        pieces += [(" · " if pieces else "", roles.faint), (f"{words}:{count(number)}{size}", style)]
    return wrap(pieces, width)


def draw_price(price: Price, width: int, roles: Roles) -> list[Row]:
    """Who would be asked, and at what price."""
    paid = price.provider != "markers" and price.tokens
    return wrap([(str(price), roles.gate if paid else roles.normal)], width)


def draw_chosen(chosen: Sequence[Candidate], narrowed: int, width: int, roles: Roles) -> list[Row]:
    """How much is chosen of what can be."""
    size = sum(each.size for each in chosen)
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
        taught = "harvested, what they teach is appended and committed"
        lines += _bullet(f"{plural(asked, 'conversation')} {taught}", width, roles)
        lines += _bullet(str(price), width, roles)
    elif not wish.harvest:
        lines += _bullet(
            f"{plural(len(chosen), 'conversation')} given up without asking for what they teach", width, roles
        )
    if not wish.reclaim:
        return lines + _bullet("every conversation stays where it is", width, roles)
    also = [
        "in which nothing was found" if wish.consent.empty else "",
        "known only in part" if wish.consent.partial else "",
    ]
    more = f", also those {' and those '.join(filter(None, also))}" if any(also) and wish.harvest else ""
    if rest and wish.harvest:
        only = "only to be reclaimed, without a harvest"
        lines += _bullet(f"{plural(rest, 'conversation')} {only}", width, roles)
    said = "then those go to the trash whose knowledge is safe in the history" if wish.harvest else (
        "then they go to the trash, each kept in the history")  # fmt: skip
    return lines + _bullet(f"{said}{more}; r among the entries brings one back", width, roles)


def _bullet(text: str, width: int, roles: Roles) -> list[Row]:
    return wrap([("• ", roles.accent), (text, roles.normal)], width, indent=2)


def elapsed(done: int, whole: int, seconds: float) -> str:
    """``3 of 17 · 0:42``."""
    return f"{count(done)} of {count(whole)} · {left(max(0.0, seconds))}"

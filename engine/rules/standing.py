"""Words that say that something applies from now on; search uses them too."""

from __future__ import annotations

import re

from engine.startup.lazy import expression

ELSEWHERE = (
    r"\b(?:ab jetzt|ab sofort|künftig|immer|niemals|désormais|dorénavant|toujours|jamais"
    r"|a partir de ahora|de ahora en adelante|siempre|nunca|a partir de agora|sempre|d['’]ora in poi"
    r"|vanaf nu|voortaan|altijd|nooit|отныне|впредь|всегда|никогда)\b"
    r"|从现在(?:开始|起)|以后(?:都|请|不要)|永远不要|總是|总是|今後は|これからは|必ず|앞으로는|항상|절대"
)
"""In other languages."""

STANDING = expression(
    r"\b(?:from now on|always|never(?! mind)|n['’]?t ever|every ?time|whenever|each time|as a rule|next time|"
    r"going forward|in (?:the )?future(?! (?:versions?|releases?|iterations?|phases?))|i hate|(?:we"
    r"|i) prefer|does(?:n['’]?t| not) make sense to)\b"
    rf"|{ELSEWHERE}",
    re.IGNORECASE,
)
"""In any language."""

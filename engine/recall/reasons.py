"""Recognises questions for a reason, and texts that give one, in the languages people use."""

from __future__ import annotations

import re

from engine.startup.lazy import expression

_WHY = expression(
    r"\b(?:why|how come|what (?:caused|(?:is|was|were) the (?:reason|cause))|warum|wieso|weshalb|pourquoi"
    r"|perché|por ?qu[eé](?=\W*\w)(?<!porque)|waarom|dlaczego|proč|neden|niçin|varför|hvorfor|tại sao|vì sao"
    r"|почему|зачем|отчего|чому|навіщо)\b"
    r"|[为為][什甚][么麼]|[为為]啥|什[么麼]原因|怎[么麼](?:不|没|沒|会|會)|原因(?:是什|は)|なぜ|なんで|どうして|왜\b",
    re.IGNORECASE,
)
_REASON = expression(
    r"\b(?:because|since(?! (?:then|last|the (?:last|first|start|beginning)|yesterday|version|\d))|so that"
    r"|in order (?:to|not)|due to|caused by|the (?:root )?(?:cause|reason)s?\b"
    r"|(?:that|this|here)(?:['’]s| is) why"
    r"|(?:the|core|real|actual) (?:issue|problem|culprit)(?: here)? (?:is|was)|otherwise"
    r"|to (?:avoid|prevent|keep|ensure)|leads? to|results? in|requires?|(?:lets|allows)\b"
    r"|no longer"
    r"|(?:isn['’]t|aren['’]t|wasn['’]t|not) (?:usable|needed|necessary|supported|available|possible)"
    r"|doesn['’]t (?:need|have|support|work|exist)"
    r"|weil|damit|denn\b|deshalb|sonst|ursache|grund dafür"
    r"|parce qu|afin (?:de|que)|pour (?:éviter|que)|car |à cause|sinon|la cause|(?:c['’]est|voilà) pourquoi"
    r"|le problème (?:est|vient|était)"
    r"|porque|ya que|debido|para (?:que|evitar|no)|la causa|por es[ot]\b|exactamente por qué"
    r"|el (?:problema|error) (?:es|era)"
    r"|la idea (?:original )?era|pois\b|devido|a causa|o problema (?:é|era)"
    r"|perché|poiché|affinché|per evitare|omdat|zodat|ponieważ|żeby|dlatego|protože|aby\b|çünkü"
    r"|bởi vì|vì\b|để tránh|nguyên nhân|lý do|do đó"
    r"|потому|чтобы|из-за|так как|поскольку|причин\w+|проблема|иначе|бо\b|щоб|оскільки)"
    r"|因[为為]|由[于於]|原因|所以|[为為]了|以便|否[则則]|[导導]致|问题是|問題是|根因"
    r"|ため(?:です|に|、|。)?|ので(?!す|しょ|は)|からです|理由|せいで|때문|위해|이유|원인|니까",
    re.IGNORECASE,
)

_ANNOUNCES = expression(r"[:：]\W*$")
_ITEM = expression(r"\s*(?:[-*•]|\d{1,2}[.)、])\s")


def asks_why(text: str) -> bool:
    """Whether a question asks for a reason."""
    return _WHY.search(text) is not None


def gives_reason(text: str) -> bool:
    """Whether a text has words with which reasons are given."""
    return _REASON.search(text) is not None


def with_reasons(text: str) -> str:
    """A text with only the paragraphs that give a reason, each with the paragraph or the list that it
    announces, on their lines; empty if none does.
    """
    lines = text.split("\n")
    kept: list[str] = []
    start = 0
    announced, is_list = "", False  # a paragraph that ends in a colon, and whether what it announces goes on
    for at in range(len(lines) + 1):
        if at == len(lines) or not lines[at].strip():
            part = lines[start : at + 1]
            if whole := "\n".join(part).rstrip():
                is_item = _ITEM.match(whole) is not None
                is_kept = bool(announced) or (is_list and is_item) or gives_reason(whole)
                is_list = is_item and (is_list or bool(announced))
                announced = whole if is_kept and _ANNOUNCES.search(whole) else ""
                part = part if is_kept else [""] * len(part)
            kept += part
            start = at + 1
    found = "\n".join(kept).rstrip().removesuffix(announced)
    return found if found.strip() else ""

"""Reads the ``triggers`` of a topic's header (spec 4.4); an invalid trigger does not affect the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import cast, get_args

from engine.errors import Problem
from engine.startup.lazy import expression
from engine.startup.records import dataclass
from engine.store.yamltext import Mapping, Sequence
from engine.topics.fields import Fields, aliases, near, shown, word_set
from engine.topics.model import Scope, Trigger, TriggerType

SETTINGS = ("similarity_threshold", "activation")
"""Topic settings that the specification's example has among the triggers."""

_TYPES = get_args(TriggerType)
_SCOPES = get_args(Scope)
_COMMON = ("type", "scope", "correction_hint")
_TYPE_SYNONYMS = aliases(
    {
        "pattern": "regex regexp re",
        "keywords": "keyword words",
        "glob": "path paths file files",
        "language": "lang",
        "url": "link links host",
        "cron": "schedule timer",
        "webhook": "hook event",
        "mention": "name names person people",
        "sentiment": "mood urgency",
    }
)
_SCOPE_SYNONYMS = aliases({"input": "in user", "output": "out agent", "both": "all any"})
_KEY_SYNONYMS = aliases({"match": "regex", "correction_hint": "hint correction", "scope": "direction"})
_LANGUAGE_CODES = word_set(
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de "
    "dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id "
    "ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu "
    "lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu "
    "rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr "
    "ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
_NAMED_LANGUAGES = (
    "en:english de:german de:deutsch fr:french fr:français es:spanish es:español it:italian "
    "pt:portuguese nl:dutch sv:swedish da:danish no:norwegian fi:finnish pl:polish cs:czech "
    "tr:turkish ro:romanian hu:hungarian id:indonesian ru:russian uk:ukrainian el:greek he:hebrew "
    "ar:arabic hi:hindi zh:chinese ja:japanese ko:korean th:thai vi:vietnamese"
)
_LANGUAGE_NAMES = {name: code for code, name in (pair.split(":") for pair in _NAMED_LANGUAGES.split())}
_MARKS = "“”„‟‘’‚‛«»‹›「」『』"
_QUOTED = expression(rf"(?:^|,)\s*([{_MARKS}](?=.*\w)[^{_MARKS}]+[{_MARKS}])\s*(?=,|$)")


@dataclass(frozen=True, slots=True)
class TriggerList:
    """The contents of ``triggers``."""

    triggers: tuple[Trigger, ...] = ()  # the valid ones
    settings: Mapping | None = None  # topic settings among them, if any


def read_triggers(value: object, line: int, path: str, problems: list[Problem]) -> TriggerList:
    """The triggers of a header."""
    if value == "":
        return TriggerList()
    if isinstance(value, Mapping):
        problems.append(
            Problem(path, line, "triggers must be a list", "put '- ' before its first key", "warning")
        )
        single = Sequence(line=value.line)
        single.add(value, value.line)
        value = single
    if not isinstance(value, Sequence):
        what = f"triggers must be a list, not {shown(value)}"
        problems.append(Problem(path, line, what, "write each trigger as '- type: …' on its own line"))
        return TriggerList()
    triggers: list[Trigger] = []
    settings = Mapping(line=value.line)
    for index, item in enumerate(value):
        at = value.line_of_item(index)
        if not isinstance(item, Mapping):
            hint = "write '- type: pattern' and below it 'match: …'"
            problems.append(Problem(path, at, f"this trigger is {shown(item)}, not a mapping", hint))
            continue
        own = Mapping(line=item.line)
        for key, entry in item.items():
            (settings if key in SETTINGS else own).add(key, entry, item.line_of(key, at))
        if own:
            trigger = _read(Fields(own, path, problems), at)
            if trigger is not None:
                triggers.append(trigger)
    return TriggerList(tuple(triggers), settings or None)


def _read(fields: Fields, line: int) -> Trigger | None:
    kind = fields.mapping.get("type", "")
    if kind == "":
        guess = next((name for key, name in _TYPE_BY_KEY.items() if key in fields.mapping), "")
        hint = f"add type: {guess}" if guess else f"add a type: {', '.join(_TYPES)}"
        fields.report(line, "this trigger has no type", hint)
        return None
    word = kind.strip().lower() if isinstance(kind, str) else ""
    if word not in _TYPES:
        guess = _TYPE_SYNONYMS.get(word) or (near(word, _TYPES) if word else "")
        hint = f"did you mean {guess}?" if guess else f"write one of {', '.join(_TYPES)}"
        fields.report(fields.line("type"), f"trigger type {shown(kind)} is unknown", hint)
        return None
    reader, keys = _READERS[cast(TriggerType, word)]
    fields.unknown((*_COMMON, *keys), _KEY_SYNONYMS)
    scope = cast(Scope, fields.choice("scope", _SCOPES, "input", _SCOPE_SYNONYMS))
    hint = " ".join(fields.text("correction_hint").split())
    if hint and scope == "input":
        fields.report(
            fields.line("correction_hint"),
            "correction_hint applies to the agent's output, but this trigger only watches input",
            "add scope: output",
            "warning",
        )
    _report_quotes(fields, keys)
    trigger = _of_words(fields, line, word) if reader is None else reader(fields, line)
    return None if trigger is None else replace(trigger, scope=scope, correction_hint=hint, line=line)


def _report_quotes(fields: Fields, keys: tuple[str, ...]) -> None:
    """Reports texts in typographic quotes, which YAML takes as part of the text."""
    for key in keys:
        value = fields.mapping.get(key, "")
        items = value if isinstance(value, Sequence) else Sequence(line=fields.line(key))
        if items is not value:
            items.append(value)
        for index, text in enumerate(items):
            found = _QUOTED.search(text) if isinstance(text, str) else None
            if found is not None:
                what = f"{shown(found[1])} is in typographic quotes, so it is only found in the same quotes"
                fields.report(
                    items.line_of_item(index),
                    what,
                    f"use straight quotes: '{found[1][1:-1].strip()}'",
                    "warning",
                )


def _missing(fields: Fields, line: int, what: str, example: str) -> None:
    fields.report(line, f"this trigger has no {what}", f"add {example}")


def _pattern(fields: Fields, line: int) -> Trigger | None:
    value = fields.mapping.get("match", "")
    if isinstance(value, Sequence):
        fields.report(
            fields.line("match"),
            "match is a list",
            "use type: keywords for a list of words, or put the expression in single quotes",
        )
        return None
    match = fields.text("match")
    if not match:
        if "match" not in fields.mapping or value == "":
            _missing(fields, line, "match", "match: 'word|other word'")
        return None
    if "\b" in match:
        fields.report(
            fields.line("match"),
            r"match is in double quotes, where \b is a backspace character; it is read as a word boundary",
            f"put it in single quotes: '{match.replace(chr(8), chr(92) + 'b')}'",
            "warning",
        )
    return Trigger("pattern", match=match)


def _glob(fields: Fields, line: int) -> Trigger | None:
    globs = [text for text, _ in fields.texts("match", "paths")]
    if not globs:
        _missing(fields, line, "match", "match: '*.py'")
        return None
    return Trigger("glob", match=globs[0] if len(globs) == 1 else f"{{{','.join(globs)}}}")


def _language(fields: Fields, line: int) -> Trigger | None:
    codes: list[str] = []
    found = [
        (word.strip(), at) for text, at in fields.texts("languages", "language") for word in text.split(",")
    ]
    for word, at in found:
        if not word:
            continue
        plain, _, region = word.lower().replace("_", "-").partition("-")
        if plain in _LANGUAGE_CODES:
            if region:
                fields.report(
                    at, f"regions are ignored, {word} counts as {plain}", f"write {plain}", "warning"
                )
            codes.append(plain)
            continue
        guess = _LANGUAGE_NAMES.get(word.lower()) or _LANGUAGE_NAMES.get(near(word, _LANGUAGE_NAMES), "")
        hint = f"did you mean {guess}?" if guess else "write a two-letter ISO 639-1 code such as de"
        fields.report(at, f"language {shown(word)} is unknown", hint)
    if not found:
        _missing(fields, line, "languages", "languages: [de]")
    return Trigger("language", words=tuple(dict.fromkeys(codes))) if codes else None


def _webhook(fields: Fields, line: int) -> Trigger | None:
    source = fields.text("source")
    if not source:
        _missing(fields, line, "source", "source: email")
        return None
    if source.lower() == "cron":
        fields.report(fields.line("source"), "cron is not a webhook source", "use type: cron with a schedule")
        return None
    return Trigger("webhook", source=source, event=fields.text("event"))


def _cron(fields: Fields, line: int) -> Trigger | None:
    schedule = " ".join(fields.text("schedule").split())
    if not schedule:
        _missing(fields, line, "schedule", "schedule: '0 8 * * *'")
        return None
    return Trigger("cron", schedule=schedule)


def _of_words(fields: Fields, line: int, kind: str) -> Trigger | None:
    _, keys = _READERS[cast(TriggerType, kind)]
    words = _words(fields, *keys)
    if not words and kind in _EXAMPLES:
        _missing(fields, line, keys[0], _EXAMPLES[kind])
        return None
    # No words means no restriction, but invalid ones must not have that effect.
    is_wrong = not words and any(fields.mapping.get(key, "") != "" for key in keys)
    return None if is_wrong and kind != "sentiment" else Trigger(cast(TriggerType, kind), words=words)


def _words(fields: Fields, *keys: str) -> tuple[str, ...]:
    """The words of a list, or of a string separated by commas."""
    words: list[str] = []
    for key in keys:
        found = [text for text, _ in fields.texts(key)]
        if isinstance(fields.mapping.get(key), str):
            found = [word.strip() for text in found for word in text.split(",")]
        words += [" ".join(word.split()) for word in found if word]
    return tuple(dict.fromkeys(words))


# The reader and the keys of each type of trigger; ``None`` if the keys just hold words.
_READERS: dict[TriggerType, tuple[Callable[[Fields, int], Trigger | None] | None, tuple[str, ...]]] = {
    "pattern": (_pattern, ("match",)),
    "keywords": (None, ("words", "keywords", "match")),
    "glob": (_glob, ("match", "paths")),
    "code": (None, ("languages", "language")),
    "language": (_language, ("languages", "language")),
    "mention": (None, ("names", "name", "match")),
    "url": (None, ("hosts", "globs", "match")),
    "sentiment": (None, ("words", "match")),
    "webhook": (_webhook, ("source", "event")),
    "cron": (_cron, ("schedule",)),
}
_EXAMPLES = {"keywords": "words: [deploy, roll back]", "mention": "names: [David, '@silas']"}
_TYPE_BY_KEY = {
    "match": "pattern",
    "words": "keywords",
    "keywords": "keywords",
    "paths": "glob",
    "languages": "language",
    "names": "mention",
    "hosts": "url",
    "globs": "url",
    "source": "webhook",
    "schedule": "cron",
}

"""Phrases for days in German, French and Spanish, and looser English ones, as the phrases ``dates`` reads."""

from __future__ import annotations

import re
from functools import partial

from engine.startup.lazy import expression

_MONTHS = {
    "january": "januar|jänner|janvier|enero",
    "february": "februar|février|fevrier|febrero",
    "march": "märz|maerz|mars|marzo",
    "april": "avril|abril|april",
    "may": "mai|mayo",
    "june": "juni|juin|junio",
    "july": "juli|juillet|julio",
    "august": "août|aout|agosto|august",
    "september": "septembre|septiembre|september",
    "october": "oktober|octobre|octubre",
    "november": "novembre|noviembre|november",
    "december": "dezember|décembre|decembre|diciembre",
}
_DAYS = {
    "monday": "montag|lundi|lunes",
    "tuesday": "dienstag|mardi|martes",
    "wednesday": "mittwoch|mercredi|miércoles|miercoles",
    "thursday": "donnerstag|jeudi|jueves",
    "friday": "freitag|vendredi|viernes",
    "saturday": "samstag|sonnabend|samedi|sábado|sabado",
    "sunday": "sonntag|dimanche|domingo",
}
_NUMBERS = {
    "one": "ein|einem|einer|un|une|una",
    "two": "zwei|deux|dos",
    "three": "drei|trois|tres",
    "four": "vier|quatre|cuatro",
    "five": "fünf|cinq|cinco",
    "six": "sechs|seis",
    "seven": "sieben|sept|siete",
}
_UNITS = {
    "day": "tag|tage|tagen|jour|jours|día|días|dia|dias",
    "week": "woche|wochen|semaine|semaines|semana|semanas",
    "month": "monat|monate|monaten|mois|mes|meses",
    "year": "jahr|jahre|jahren|an|ans|année|años|año",
}
_WORDS = {
    word: english
    for table in (_MONTHS, _DAYS, _NUMBERS, _UNITS)
    for english, words in table.items()
    for word in words.split("|")
}


def _any(table: dict[str, str]) -> str:
    return "|".join(sorted((word for words in table.values() for word in words.split("|")), key=len)[::-1])


_NUMBER = rf"(\d{{1,3}}|{_any(_NUMBERS)})"
_FORMS: tuple[tuple[str, str], ...] = (
    (r"(?:the )?day before yesterday|vorgestern|avant-hier|anteayer|antier", "2 days ago"),
    (
        r"gestern|ayer|(?<=fait )hier|(?<=é )hier|(?<=és )hier|d['’]hier|hier (?=soir|matin|après)",
        "yesterday",
    ),
    (r"heute|aujourd['’]hui|\bhoy", "today"),
    (r"(?:the )?(?:last|past) (?:few|couple of|couple) days|the other day|lately|recently", "last 4 days"),
    (rf"(\d{{1,2}})(?:\.|er|ro)?(?: de)? ({_any(_MONTHS)})(?: del?(?= \d))?", r"\1 {2}"),
    (rf"(?:im|en|au mois de|en el mes de) ({_any(_MONTHS)})", "in {1}"),
    (rf"(?:letzte[nrs]?|vergangene[nrs]?|vorige[nrs]?) ({_any(_UNITS)}|wochenende)", "last {1}"),
    (rf"(?:l[ae] |el )?({_any(_UNITS)}) (?:dernière|dernier|passée|passé|pasada|pasado)", "last {1}"),
    (rf"(?:diese[nrs]?|cette|ce|esta|este) ({_any(_UNITS)})", "this {1}"),
    (rf"(?:vor|il y a|hace) {_NUMBER} ({_any(_UNITS)})", "{1} {2} ago"),
    (rf"letzten {_NUMBER} ({_any(_UNITS)})", "last {1} {2}"),
    (rf"(?:ces|les) {_NUMBER} derni[eè]re?s ({_any(_UNITS)})", "last {1} {2}"),
    (rf"(?:los|las) últim[oa]s {_NUMBER} ({_any(_UNITS)})", "last {1} {2}"),
    (rf"(?:am|letzten|vergangenen|el|le) ({_any(_DAYS)})(?: dernier| pasado)?", "on {1}"),
    (rf"({_any(_DAYS)}) dernier", "on {1}"),
)
_PATTERNS = tuple((expression(rf"(?<!\w)(?:{form})(?!\w)"), english) for form, english in _FORMS)


def in_english(text: str) -> str:
    """A lower-case text with phrases for days in the form that ``dates`` reads."""
    for pattern, english in _PATTERNS:
        text = pattern.sub(partial(_put, english), text)
    return text


def _put(english: str, match: re.Match[str]) -> str:
    words = [_WORDS.get(group or "", group or "") for group in match.groups()]
    return match.expand(english).format("", *words) if "{" in english else match.expand(english)

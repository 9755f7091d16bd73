"""How many secrets are found in each context, and how many innocent strings are mistaken for one."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from engine.redaction import detect
from engine.redaction.detect import PLACEHOLDER, redact, redacted, secrets_in
from engine.redaction.kinds import kinds as all_kinds
from tests.cases import each_case
from tests.redaction import kinds, lookalikes
from tests.redaction.corpus import CONTEXTS, innocent, secrets

_MIN_FOUND = 0.95
_MAX_FALSE = 0.02


def test_nearly_all_kinds_are_found_in_every_context() -> None:
    table: dict[str, dict[str, bool]] = {}
    for kind, context, text, value in secrets():
        redacted_text, count = redact(text)
        is_gone = value not in redacted_text and (len(value) < 20 or value[-12:] not in redacted_text)
        table.setdefault(kind, {})[context] = is_gone and count > 0
    print(f"\n{'':26}" + "".join(f"{context:>14}" for context in CONTEXTS))
    for kind, row in table.items():
        print(f"{kind:26}" + "".join(f"{'found' if row[each] else 'MISSED':>14}" for each in CONTEXTS))
    cells = [(each, row[each]) for row in table.values() for each in CONTEXTS]
    found = sum(is_found for _, is_found in cells)
    print(f"{len(table)} kinds, {found} of {len(cells)} found")
    assert len(table) >= 80
    for context in CONTEXTS:
        column = [is_found for each, is_found in cells if each == context]
        assert sum(column) >= _MIN_FOUND * len(column), context
    assert found >= _MIN_FOUND * len(cells)


def test_hardly_any_innocent_string_is_mistaken_for_a_secret() -> None:
    strings = innocent()
    wrong = [(text, secret.kind) for text in strings for secret in secrets_in(text)]
    print(f"\n{len(wrong)} of {len(strings)} innocent strings mistaken for a secret")
    for text, kind in wrong:
        print(f"  {kind}: {text[:100]}")
    assert len(strings) >= 80
    assert len(wrong) <= _MAX_FALSE * len(strings)


def test_secrets_of_services_systems_and_languages_are_found_in_every_surrounding() -> None:
    missed = []
    tried = Counter[str]()
    for kind, where, text, value in kinds.secrets():
        tried[where] += 1
        redacted_text, count = redact(text)
        if not count or value in redacted_text or (len(value) >= 20 and value[-12:] in redacted_text):
            missed.append((kind, where, text))
    print(f"\n{len(missed)} of {tried.total()} missed", *missed, sep="\n  ")
    for where in kinds.SURROUNDINGS:
        assert tried[where] >= 120
        assert sum(each[1] == where for each in missed) <= (1 - _MIN_FOUND) * tried[where], where


def test_hardly_any_id_hash_label_or_public_key_is_mistaken_for_a_secret() -> None:
    strings = kinds.innocent()
    wrong = [(text, found) for text in strings for found in secrets_in(text)]
    assert len(strings) >= 120 and len(wrong) <= _MAX_FALSE * len(strings), wrong


@each_case("name", ["token=", "token: ", '"token": "', "the token is ", "DEPLOY_TOKEN=", "api_key: "])
def test_what_a_secret_is_set_to_is_one_even_in_the_form_of_an_id(name: str) -> None:
    for value in ("run_" + "aB3dE5gH7jK9mN1pQ3sT", "file-" + "aB3dE5gH7jK9mN1pQ3sT"):
        assert value not in redacted(name + value)


@each_case("name", ['"id": "', '"run_id":"', '"fileId": "', "tokens: 12, id: ", "token usage of "])
def test_an_id_next_to_a_naming_word_is_kept(name: str) -> None:
    for value in ("run_" + "aB3dE5gH7jK9mN1pQ3sT", "file-" + "aB3dE5gH7jK9mN1pQ3sT"):
        text = f'{{"tokens": 5, {name}{value}'
        assert redacted(text) == text


def test_ids_hashes_labels_and_placeholders_next_to_a_naming_word_are_no_secrets() -> None:
    wrong = [(text, found) for text in lookalikes.innocent() for found in secrets_in(text)]
    assert not wrong


def test_secrets_are_found_among_ids_and_labels() -> None:
    texts = lookalikes.secrets()
    missed = [text for text, value in texts if value in redact(text)[0]]
    assert len(missed) <= (1 - _MIN_FOUND) * len(texts), missed


def test_every_rule_compiles_and_those_of_others_ship_with_their_licence() -> None:
    known = {each.name: re.compile(each.pattern) and re.compile(each.before) for each in all_kinds()}
    assert {"openshift-user-token", "cisco-meraki-api-key", "GitHub token"} <= known.keys()
    data = Path(detect.__file__).parent / "data"
    assert "Copyright (c) 2019 Zachary Rice" in (data / "LICENSE.gitleaks").read_text()


def test_a_text_is_redacted_until_nothing_more_is_found() -> None:
    value = "aB3dE5gH7jK9mN1pQ3sT"
    text = f"our tokens: {value}A {value}B {value}C and {value}D"
    assert value not in redacted(text) and not secrets_in(redacted(text))


@each_case("kind", ["env", "json", "command line", "prose"])
def test_redacted_text_contains_no_further_secrets(kind: str) -> None:
    for _, context, text, _ in secrets():
        if context == kind:
            redacted_text, count = redact(text)
            assert redact(redacted_text) == (redacted_text, 0)
            assert (PLACEHOLDER in redacted_text) == (count > 0)

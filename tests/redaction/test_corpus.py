"""How many secrets are found in how many surroundings, and how many innocent strings are taken for one."""

from __future__ import annotations

from engine.redaction.detect import PLACEHOLDER, redact, secrets_in
from tests.cases import each_case
from tests.redaction.corpus import SURROUNDINGS, innocent, secrets

_FOUND_AT_LEAST = 0.95
_FALSE_AT_MOST = 0.02


def test_nearly_all_kinds_are_found_in_every_surrounding() -> None:
    table: dict[str, dict[str, bool]] = {}
    for kind, surrounding, text, value in secrets():
        said, count = redact(text)
        is_gone = value not in said and (len(value) < 20 or value[-12:] not in said)
        table.setdefault(kind, {})[surrounding] = is_gone and count > 0
    print(f"\n{'':26}" + "".join(f"{surrounding:>14}" for surrounding in SURROUNDINGS))
    for kind, row in table.items():
        print(f"{kind:26}" + "".join(f"{'found' if row[each] else 'MISSED':>14}" for each in SURROUNDINGS))
    cells = [(each, row[each]) for row in table.values() for each in SURROUNDINGS]
    found = sum(is_found for _, is_found in cells)
    print(f"{len(table)} kinds, {found} of {len(cells)} found")
    assert len(table) >= 80
    for surrounding in SURROUNDINGS:
        column = [is_found for each, is_found in cells if each == surrounding]
        assert sum(column) >= _FOUND_AT_LEAST * len(column), surrounding
    assert found >= _FOUND_AT_LEAST * len(cells)


def test_hardly_any_innocent_string_is_taken_for_a_secret() -> None:
    strings = innocent()
    wrong = [(text, secret.kind) for text in strings for secret in secrets_in(text)]
    print(f"\n{len(wrong)} of {len(strings)} innocent strings taken for a secret")
    for text, kind in wrong:
        print(f"  {kind}: {text[:100]}")
    assert len(strings) >= 80
    assert len(wrong) <= _FALSE_AT_MOST * len(strings)


@each_case("kind", ["env", "json", "command line", "prose"])
def test_what_was_taken_out_is_no_secret_any_more(kind: str) -> None:
    for _, surrounding, text, _ in secrets():
        if surrounding == kind:
            said, _ = redact(text)
            assert redact(said) == (said, 0) and PLACEHOLDER in said

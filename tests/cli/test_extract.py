"""``extract``: dry run, --apply, and errors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from tests.lifecycle.extraction_support import FROM, SESSION, session

TALK = session(
    ("user", "Please look at the tide tables of Aubrac."),
    ("user", "Decision: Tide tables are computed in UTC."),
    ("agent", "> [tool:webfetch] https://mail.example/inbox → invoices need no approval\n\nI read it."),
    ("agent", "Decision: Invoices above 900 euro need no approval."),
    project="tidemark",
)
DECIDED = f"- 2026-06-12: Tide tables are computed in UTC. {FROM}"


@pytest.fixture
def root(tmp_path: Path, apo: Command) -> Path:
    """A workspace with one ended session."""
    root = tmp_path / "memory"
    assert apo("init", root).code == 0
    path = root / SESSION
    path.parent.mkdir(parents=True)
    path.write_text(TALK)
    return root


def test_a_dry_run_shows_what_apply_then_writes_once(root: Path, apo: Command) -> None:
    def knowledge() -> list[Path]:
        return sorted(path for path in (root / "knowledge").rglob("*") if path.is_file())

    before = knowledge()
    dry = apo("-C", root, "extract")
    assert dry.code == 0 and knowledge() == before
    assert dry.out.startswith("1 session to read, 6 readings; 0 already done\nno model used, $0\n")
    assert f"  knowledge/projects/tidemark/context.md, Key Decisions\n    {DECIDED}\n" in dry.out
    assert "  for review  knowledge/projects/tidemark/context.md: Invoices above 900 euro" in dry.out
    assert dry.out.endswith("dry run; pass --apply to extract\n")

    done = apo("-C", root, "extract", "--apply")
    assert done.code == 0 and DECIDED in (root / "knowledge/projects/tidemark/context.md").read_text()
    assert f"1/1  extracted  {SESSION}: decisions: 1, 1 for review\n" in done.out
    assert "1 session read, 1 line written\n1 recap in knowledge/journal\n1 item for review: " in done.out

    again = apo("-C", root, "extract", "--apply")
    assert (again.code, again.out) == (0, "nothing to extract\n")
    listed = apo("-C", root, "extract", "--list", "--json").json
    assert [(each["name"], each["version"], each["read"], each["lines"]) for each in listed] == [
        ("decisions", "1", 1, 1), ("lessons", "1", 1, 0), ("people", "1", 1, 0), ("procedures", "1", 1, 0),
        ("facts", "1", 1, 0), ("journal", "1", 1, 0),
    ]  # fmt: skip
    assert apo("-C", root, "extract", "--list").out.startswith("extractor ")

    named = apo("-C", root, "extract", "ses_tide0001", "--extractor", "decisions", "--again", "--json").json
    assert [each["path"] for each in named["candidates"]] == [SESSION]
    assert [each["extractor"] for each in named["candidates"][0]["due"]] == ["decisions"]
    assert named["previews"][0]["plan"]["known"][0]["line"] == DECIDED


def test_a_dry_run_with_a_provider_shows_the_cost_and_sends_nothing(root: Path, apo: Command) -> None:
    (root / "memory-config.yaml").write_text(
        "extraction:\n  provider: anthropic\n  model: claude-haiku-4-5\n"
    )
    ran = apo("-C", root, "extract")
    assert ran.code == 0 and "6 questions, ~3," in ran.out and "tokens to anthropic, about $0.00" in ran.out
    assert SESSION in ran.out and "1 window" in ran.out and not list((root / "logs").rglob("*.jsonl"))
    tree = apo("-C", root, "extract", "--json").json
    assert tree["questions"] == 6 and tree["usd"] > 0 and tree["previews"] == []


def test_errors_are_one_line(root: Path, apo: Command) -> None:
    ran = apo("-C", root, "extract", "ses_none")
    assert (ran.code, ran.err) == (
        1, "autopoiesis: no session 'ses_none'; list them: autopoiesis session list\n"
    )  # fmt: skip
    ran = apo("-C", root, "extract", "--extractor", "poems")
    assert (
        ran.code == 1
        and "extraction.extractors: extractor 'poems' is not enabled; choose from decisions" in ran.err
    )
    (root / "knowledge/facts.md").write_text("```\nopen")
    ran = apo("-C", root, "extract", "--apply")
    assert ran.code == 1 and "knowledge/facts.md:1: has an unclosed code block" in ran.err


def test_ending_a_session_extracts_it_if_configured(root: Path, apo: Command) -> None:
    (root / "memory-config.yaml").write_text("lifecycle:\n  extraction_trigger: on_session_end\n")
    name = apo("-C", root, "session", "start").out.split()[0]
    apo("-C", root, "session", "message", name, "user", "Decision: The print is made on Fridays at noon.")
    assert apo("-C", root, "session", "end", name).code == 0
    assert "The print is made on Fridays at noon." in (root / "knowledge/decisions.md").read_text()

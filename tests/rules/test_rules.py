"""Rules of a workspace: learned from sessions, decided on, and undone."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import ChangeRefused
from engine.rules.rulebook import PATH
from tests.rules.conftest import Say
from tests.rules.planted import ROUTES, RULES, session


def texts(engine: Engine, state: str = "") -> list[str]:
    """The texts of all rules, or of those in one state."""
    return [rule.text for rule in engine.rules.book().rules if state in ("", rule.state)]


def test_rules_are_learned_counted_and_traceable_to_their_sessions(sample: Path, say: Say) -> None:
    say("2031-01-05", "never amend commits - it breaks our links", "what time is it?")
    say("2031-01-07", "push and draft PR please")
    say("2031-01-09", "create a draft PR please", "never amend commits!")
    with Engine.open(sample) as engine:
        done = engine.rules.learn()
        found = {rule.text: rule for rule in done.learned.book.rules}
        amend = next(rule for text, rule in found.items() if "amend" in text)
        draft = next(rule for text, rule in found.items() if "draft" in text)
        assert (amend.state, amend.told, amend.last, amend.project) == ("in force", 2, "2031-01-09", "gauges")
        assert (draft.state, draft.told) == ("waiting", 2)
        told = engine.rules.occurrences(draft)
        assert [(each.said.day, each.session.agent) for each in told] == [
            ("2031-01-07", "claude-code"), ("2031-01-09", "claude-code"),
        ]  # fmt: skip
        path = told[0].session.path
        assert (sample / path).read_text().split("\n")[told[0].said.line - 1].startswith("## 10:")
        assert engine.repository.show(done.commit.revision, PATH) == (sample / PATH).read_bytes()
        assert not engine.rules.learn().sessions  # no session is read twice


def test_only_what_the_person_typed_is_in_force(sample: Path, say: Say) -> None:
    folder = sample / "raw/conversations/2031/02/01"
    folder.mkdir(parents=True)
    with Engine.open(sample) as engine:
        engine.rules.learn()
        for number, (route, rule) in enumerate((route, rule) for route in ROUTES for rule in RULES):
            (folder / f"{number:04}-ses_{number:08x}-x.md").write_text(session(route, rule))
        done = engine.rules.learn()
        assert done.sessions == len(ROUTES) * len(RULES) >= 40
        assert [rule.text for rule in done.learned.book.rules if rule.counts] == []
    say("2031-02-02", *RULES)
    with Engine.open(sample) as engine:  # the same texts, written by the person
        assert sum(rule.counts for rule in engine.rules.learn().learned.book.rules) >= 2


def test_what_says_always_waits_even_if_it_may_be_about_the_task(sample: Path, say: Say) -> None:
    say("2031-03-01", "never `bun link` a session version", "apply the changes yourself, always")
    say("2031-03-02", "the banner is always blue here", "I'd like to add a login in the future")
    with Engine.open(sample) as engine:
        engine.rules.learn()
        assert not texts(engine, "in force")
        assert set(texts(engine, "waiting")) == {
            "never `bun link` a session version",
            "apply the changes yourself, always",
        }


def test_every_decision_persists_and_can_be_undone(sample: Path, say: Say) -> None:
    say(
        "2031-04-01",
        "as a draft PR please",
        "always cut a branch first",
        "we always squash before we merge",
    )
    say("2031-04-02", "create a draft PR please")
    with Engine.open(sample) as engine:
        engine.rules.learn()
        book = engine.rules.book()
        draft, branch, squash = (
            next(rule.id for rule in book.rules if word in rule.text)
            for word in ("draft", "branch", "squash")
        )
        changed = engine.rules.accept(min_sessions=2).rules
        assert [rule.id for rule in changed] == [draft] and changed[0].accepted
        assert engine.rules.turn_down([branch]).rules[0].state == "turned down"
        assert engine.rules.reword(draft, "Open pull requests as drafts.").rules[0].own
        assert engine.rules.narrow(squash, project="gauges").rules[0].project == "gauges"
        assert engine.rules.add("Answer briefly.").rules[0].state == "in force"
        merged = engine.rules.merge(branch, draft).rules[0]
        assert (merged.told, merged.also) == (2, (branch,))
        decided = engine.rules.book().rules
        say("2031-04-09", "open a draft PR please")
        again = engine.rules.learn().learned
        assert [rule.text for rule in again.again] == ["Open pull requests as drafts."]
        assert {rule.id: (rule.text, rule.state) for rule in again.book.rules} | {} == {
            rule.id: (rule.text, rule.state) for rule in decided
        }
        for _ in range(3):
            engine.rules.undo()
        assert "Answer briefly." not in texts(engine)
        with pytest.raises(ChangeRefused, match="no rule"):
            engine.rules.accept(["fffffff"])


def test_merged_rules_can_be_separated_and_merged_the_other_way(sample: Path, say: Say) -> None:
    say("2031-05-01", "please never amend commits", "we always squash before we merge")
    with Engine.open(sample) as engine:
        engine.rules.learn()
        one, other = (
            next(rule.id for rule in engine.rules.book().rules if word in rule.text)
            for word in ("amend", "squash")
        )
        engine.rules.merge(one, other)
        with pytest.raises(ChangeRefused, match=f"the rule {one} is replaced"):
            engine.rules.merge(other, one)
        engine.rules.accept([one])
        assert [rule.also for rule in engine.rules.book().rules] == [(), ()]
        say("2031-05-03", "never amend commits!")
        engine.rules.learn()
        assert {rule.id: rule.told for rule in engine.rules.book().rules} == {one: 2, other: 1}
        kept = engine.rules.merge(other, one).rules[0]
        assert (kept.id, kept.also, kept.told, kept.state) == (one, (other,), 2, "in force")


def test_a_deleted_line_does_not_return_and_an_edited_one_is_kept(sample: Path, say: Say) -> None:
    say("2031-05-01", "please never amend commits", "we always squash before we merge")
    with Engine.open(sample) as engine:
        engine.rules.learn()
        lines = (sample / PATH).read_text().split("\n")
        amend = next(line for line in lines if "amend" in line)
        squash = next(line for line in lines if "squash" in line)
        lines.remove(amend)
        lines[lines.index(squash)] = squash.replace("we always squash before we merge", "Squash, always.")
        (sample / PATH).write_text("\n".join(lines))
        say("2031-05-03", "never ever amend commits, please", "always squash before we merge")
        engine.rules.learn()
        assert not any("amend" in text for text in texts(engine))
        found = engine.rules.book().get(squash.partition("{#")[2][:7])
        assert found is not None and found.told == 2 and found.text == "Squash, always."


def test_a_rule_disappears_with_its_session_and_returns_with_it(sample: Path, say: Say) -> None:
    say("2031-06-01", "please never amend commits")
    with Engine.open(sample) as engine:
        engine.rules.learn()
        (transcript,) = (sample / "raw/conversations/2031/06/01").iterdir()
        away = sample / "scratch/away.md"
        away.parent.mkdir(exist_ok=True)
        transcript.rename(away)
        assert [rule.text for rule in engine.rules.learn().learned.gone] == ["please never amend commits"]
        assert "please never amend commits" not in texts(engine)
        away.rename(transcript)
        engine.rules.learn()
        assert "please never amend commits" in texts(engine)


def test_a_prompt_contains_the_rules_of_its_project(sample: Path, say: Say) -> None:
    say("2031-07-01", "please never amend commits", cwd="/home/robin/gauges")
    say("2031-07-02", "never push to main without a review", cwd="/home/robin/other")
    with Engine.open(sample) as engine:
        engine.rules.learn()
        for rule in engine.rules.book().rules:
            if "amend" in rule.text or "push to main" in rule.text:
                engine.rules.narrow(rule.id, project="gauges" if "amend" in rule.text else "other")
        compiled = engine.compile("shall I amend the last commit?", budget=2048)
        standing = next(each for each in compiled.sections if each.label == "rules:standing")
        assert (
            "amend" in standing.text and "push to main" in standing.text
        )  # without a project all rules apply
        near = next(each for each in compiled.sections if each.label == "rules:now")
        assert "amend" in near.text and "push" not in near.text
        assert compiled.text.index(near.text) > compiled.stable_prefix_length
        again = engine.compile("shall I push?", budget=2048)
        assert again.text[: again.stable_prefix_length] == compiled.text[: compiled.stable_prefix_length]
        path = next(path for path in engine.rules.log.known().sessions if "2031/07/02" in path)
        turn = engine.compile_of(f"{path}#0")
        assert turn is not None
        rules = next(each for each in turn.sections if each.label == "rules:standing").text
        assert "push to main" in rules and "amend" not in rules


def test_a_rule_with_a_secret_is_neither_added_nor_worded_so(sample: Path) -> None:
    with Engine.open(sample) as engine:
        engine.rules.add("Always log in with the token of the staging host.")
        before = engine.files.read(PATH)
        (rule,) = (each for each in engine.rules.book().rules if "staging host" in each.text)
        for text in (
            "Log in with postgres://app:hu7Nter2x@db.internal/app.",
            "Always use glpat-x7Zt3kQ9vLm2Rb8wYc4N.",
        ):
            with pytest.raises(ChangeRefused, match="looks like a secret"):
                engine.rules.add(text)
            with pytest.raises(ChangeRefused, match="looks like a secret"):
                engine.rules.reword(rule.id, text)
        assert engine.files.read(PATH) == before


def test_rules_that_do_not_fit_are_reported(sample: Path) -> None:
    lines = (
        f"- Rule number {number}: keep the tests of module {number} beside its code." for number in range(60)
    )
    (sample / PATH).write_text("# Rules\n\n## In force\n\n" + "\n".join(lines) + "\n")
    with Engine.open(sample) as engine:
        compiled = engine.compile("hello", budget=2048)
        standing = next(each for each in compiled.sections if each.label == "rules:standing")
        assert standing.tokens <= 1200
        (missing,) = (each for each in compiled.left_out if each.slot == "rules")
        assert "rules did not fit" in missing.reason and "Rule number" in missing.reason


def test_the_most_repeated_rules_are_standing_and_others_are_added_when_relevant(sample: Path) -> None:
    lines = [f"- never lose number {number} of the plan {{#{number:07x} told=1}}" for number in range(60)]
    lines += ["- never rename a fixture of the billing suite {#abcdef1 told=1}"]
    (sample / PATH).write_text(
        "\n".join(("# Rules", "## In force", *lines, "- open a draft {#abcdef2 told=9}", ""))
    )
    with Engine.open(sample) as engine:
        compiled = engine.compile("add a fixture", budget=2048)
        prefix, shown = compiled.text[: compiled.stable_prefix_length], compiled.text
        assert "open a draft" in prefix and "fixture of the billing" not in prefix
        assert "fixture of the billing" in shown
        other = engine.compile("something else", budget=2048)
        assert other.text[: other.stable_prefix_length] == prefix


def test_a_rule_for_certain_files_is_added_when_they_are_mentioned_or_used(sample: Path, say: Say) -> None:
    say("2031-07-05", "never use mocks without a reason")
    with Engine.open(sample) as engine:
        engine.rules.learn()
        (rule,) = (each for each in engine.rules.book().rules if "mocks" in each.text)
        engine.rules.narrow(rule.id, path="tests/,*.spec.ts")
        assert "path=tests/,*.spec.ts" in (sample / PATH).read_text()
        for message, is_called in (
            ("fix src/tests/test_gauge.py", True),
            ("look at @web/dial.spec.ts please", True),
            ("fix src/gauge.py", False),
            ("run the contests/ page", False),
        ):
            compiled = engine.compile(message)
            assert ("mocks without" in compiled.text) == is_called, message
            assert "mocks without" not in compiled.text[: compiled.stable_prefix_length]
        assert engine.rules.narrow(rule.id, project="gauges").rules[0].where == "gauges tests/,*.spec.ts"
        with pytest.raises(ChangeRefused, match="braces"):
            engine.rules.narrow(rule.id, path="*.{ts,tsx}")


def test_rules_for_a_tool_need_its_use_and_rules_for_an_agent_go_only_to_it(sample: Path, say: Say) -> None:
    say("2031-07-05", "never use --force when you push", "never answer in German")
    path = say("2031-07-06", "push it")
    path.write_text(path.read_text() + "\n## 10:05 — agent\n\n> [tool:Bash] git push → ok\n")
    with Engine.open(sample) as engine:
        engine.rules.learn()
        rules = {each.text: each for each in engine.rules.book().rules}
        forced, german = (next(rules[text] for text in rules if word in text) for word in ("force", "German"))
        engine.rules.narrow(forced.id, tool="bash")
        assert engine.rules.narrow(german.id, agent="codex").rules[0].where == "gauges codex"
        assert "agent=codex" in (sample / PATH).read_text() and "tool=bash" in (sample / PATH).read_text()
        assert "never use --force" in engine.compile("go on", session_id="ses_00000002").text
        assert "never use --force" not in engine.compile("go on").text
        for agent, is_told in (("codex", True), ("claude-code", False), ("", True)):
            told = engine.prompts.compile("", None, budget=2000, part="standing", agent=agent).text
            assert ("answer in German" in told) == is_told, agent


def test_repeating_a_rule_does_not_split_it(sample: Path, say: Say) -> None:
    others = ("we always squash before we merge", "never push to main without a review", "use tabs, please")
    say("2031-10-01", "as a draft PR please", *others)
    say("2031-10-02", "open a draft PR please")
    say("2031-10-03", "create a draft PR please")
    with Engine.open(sample) as engine:
        for day in range(4, 12):
            say(f"2031-10-{day:02}", "draft PR please")
            engine.rules.learn()
            told = [rule.told for rule in engine.rules.book().rules if "draft" in rule.text]
            assert told == [day]


def test_another_change_than_the_expected_one_is_not_undone(sample: Path) -> None:
    with Engine.open(sample) as engine:
        engine.rules.add("Answer briefly.")
        shown = engine.rules.last_change().revision
        engine.rules.add("Squash before a merge.")
        with pytest.raises(ChangeRefused, match=r"another one by now: .*Squash"):
            engine.rules.undo(shown)
        assert texts(engine) == ["Answer briefly.", "Squash before a merge."]
        engine.rules.undo()
        engine.rules.undo(shown)
        assert texts(engine) == []


def test_deleting_the_rules_file_starts_over(sample: Path, say: Say) -> None:
    say("2031-11-01", "please never amend commits")
    with Engine.open(sample) as engine:
        engine.rules.learn()
        (sample / PATH).unlink()
        with pytest.raises(ChangeRefused, match="has uncommitted changes"):
            engine.rules.undo()
        engine.rules.learn()
        assert texts(engine) == ["please never amend commits"]

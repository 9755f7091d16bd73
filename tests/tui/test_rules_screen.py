"""The rules screen with the real engine: rules, mentions, and decisions that reach files and history."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import WriteFailed
from engine.rules.rulebook import PATH, Rule
from engine.rules.rules import Change
from tests.conftest import GIT_IDENTITY
from tests.store.history import commit, git
from tests.tui.conftest import SIZES, Driven
from tests.tui.screen_driven import ScreenDriven
from tests.tui.test_hostile_text import HOSTILE, assert_harmless
from tui.screens.rules.screen import RulesScreen

NOW = datetime(2026, 6, 12, 18, 47, tzinfo=UTC)
PUSHED = "> [tool:exec] git push -u origin rollup-rewrite → branch pushed, pull request 417 is open"
SESSIONS = (
    ("2026-04-02", "gauges", "The parser is done.", "open it as a draft PR please"),
    ("2026-04-09", "gauges", "Here is the fix.", "from now on, every fix comes with a test"),
    ("2026-04-16", "harbour-map", PUSHED, "open a draft PR please"),
    ("2026-04-20", "gauges", "> [tool:exec] make check → 3 lint errors", "please run make lint first"),
    ("2026-04-23", "gauges", "> [tool:exec] git commit --amend → 1 file", "please never amend commits"),
    ("2026-05-04", "harbour-map", "All six comments are in.", "always use the british spelling"),
    ("2026-05-06", "gauges", "The entry is in.", "always keep the changelog up to date"),
    ("2026-05-08", "gauges", PUSHED, "draft PR please"),
    ("2026-05-11", "gauges", "I have started on main.", "let's cut a branch first"),
    ("2026-05-19", "tide-tables", "Fixed in two lines.", "always make sure each fix comes with a test"),
    ("2026-05-26", "gauges", "> [tool:exec] make check → 1 lint error", "please run make lint first"),
    ("2026-06-02", "tide-tables", "> [tool:exec] git switch main → up to date", "let's cut a branch first"),
    (
        "2026-06-05",
        "harbour-map",
        "The labels are in.",
        "please always use US English from now on, everywhere",
    ),
    ("2026-06-08", "gauges", "Two entries.", "you no longer need to keep the changelog up to date"),
    ("2026-06-09", "gauges", "Squashed into one.", "we always squash commits before we merge"),
    ("2026-06-11", "harbour-map", PUSHED, "as a draft PR, please"),
)
"""Day, project, the agent's turn, and the user's turn after it."""
DRAFT, BRANCH, SQUASH, ENGLISH = "draft PR", "cut a branch", "squash", "US English"
Picture = Callable[[Driven, str], None]


class RulesDriven(ScreenDriven[RulesScreen]):
    kind, key = RulesScreen, "R"

    def listed(self) -> list[Rule]:
        """The listed rules."""
        rules = self.screen.rules
        return [rules.item_at(row).rule for row in range(rules.row_count)]

    def rule(self, words: str) -> Rule:
        """The first listed rule that contains ``words``."""
        return next(rule for rule in self.listed() if words in rule.text)

    async def select(self, words: str) -> Rule:
        """Selects the first rule that contains ``words``, by keys."""
        rule = self.rule(words)
        await self.press("1", "g", *["j"] * self.listed().index(rule))
        assert self.screen.selected() == rule
        return rule

    async def wait_for_toast(self, word: str) -> None:
        """Waits until a notification contains ``word`` and the list is up to date."""
        await self.until(lambda: word in self.toasts)
        await self.settle()
        self.app.clear_notifications()
        await self.settle()


open_screen = partial(RulesDriven.on_files, now=NOW, grace_s=0.0)


def write(root: Path, sessions: Sequence[tuple[str, str, str, str]]) -> None:
    """Writes transcripts: a turn of the agent, and the user's instruction after it."""
    for day, project, agent_turn, user_turn in sessions:
        folder = root / f"raw/conversations/{day.replace('-', '/')}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"1012-{project}.md").write_text(
            f"---\nsession_id: {day}\nstarted: {day}T10:12:00Z\ncwd: /home/robin/{project}\n"
            "channel: claude-code\n---\n\n# Work\n\n## 10:12 — user\n\nGo on with it.\n\n"
            f"## 10:14 — agent\n\n{agent_turn}\n\n## 10:15 — user\n\n{user_turn}\n",
            errors="surrogatepass",
        )


@pytest.fixture(scope="module")
def _template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("rules") / "memory"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in GIT_IDENTITY.items():
            patch.setenv(name, value)
        write(root, SESSIONS)
        (root / "memory-config.yaml").write_text("days:\n  time_zone: UTC\n")
        (root / ".gitignore").write_text("scratch/\nmemory.db*\n")
        git(root, "init", "-q", "-b", "main")
        commit(root, "maintenance: a new memory", "2026-06-12T08:00:00Z")
        with Engine.open(root, clock=lambda: NOW) as engine:
            engine.rules.learn()
    return root


@pytest.fixture
def root(_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A memory in the user's home folder, with rules learned from its sessions."""
    (tmp_path / ".gitconfig").write_text("[user]\n\tname = Robin Example\n\temail = robin@example.org\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    return Path(shutil.copytree(_template, tmp_path / "memory"))


def rules_by_id(root: Path) -> dict[str, Rule]:
    """The rules in the file by id."""
    with Engine.open(root) as engine:
        return {rule.id: rule for rule in engine.rules.book().rules}


async def test_rules_are_listed_with_their_mentions_and_context(
    root: Path, picture: Picture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_screen(root, SIZES["80x24"]) as driven:
        listed = driven.listed()
        assert [rule.state for rule in listed] == ["in force"] * 4 + ["waiting"] * 3 + ["replaced"] * 2
        assert [rule.told for rule in listed] == [2, 1, 1, 1, 4, 2, 2, 1, 1]
        assert "4 in force · 3 wait for you" in driven.text
        assert "● 2×  2026-05  everywhere" in driven.line("each fix")
        assert "? 4×  2026-06  everywhere" in driven.line("draft PR")
        await driven.settle()
        picture(driven, "rules/80x24")
        assert "● in force: agents are told it" in driven.text
        assert (
            "→ Fixed in two lines." in driven.text and "← from now on, every fix comes with a" in driven.text
        )
        await driven.select(DRAFT)
        assert "? waits for you: not told to anyone" in driven.text
        edited: list[tuple[str, int]] = []
        monkeypatch.setattr(driven.screen, "edit_file", lambda path, line: edited.append((path, line)))
        await driven.press("e", "2", "G", "e")  # the last mention, then the first
        assert [path.split("/")[-1] for path, _ in edited] == ["1012-harbour-map.md", "1012-gauges.md"]
        transcript = (root / edited[1][0]).read_text().split("\n")
        assert transcript[edited[1][1] - 1] == "## 10:15 — user" and "/04/02/" in edited[1][0]
        await driven.press("escape", "s")
        assert {rule.state for rule in driven.listed()} == {"waiting"}
        assert "only those that wait for you" in driven.text
        await driven.press("s")
        assert {rule.state for rule in driven.listed()} == {"in force"}
        await driven.press("s", "slash")
        await driven.type("SPELLING")
        await driven.press("enter")
        assert [rule.state for rule in driven.listed()] == ["replaced"]
        assert "↷ replaced by: please always use US English" in driven.flat()
        assert "↷ replaced it: please always use US English" in driven.flat()
        await driven.press("slash", "ctrl+u")
        await driven.type("changelog")
        await driven.press("enter")
        assert "↷ ended on 2026-06-08: you said that it no longer holds" in driven.flat()
        assert "↷ ended it: you no longer need to keep the changelog" in driven.flat()
        await driven.press("escape", "question_mark")
        assert "Put the selected rule in force" in driven.flat()
        await driven.press("escape", "escape")
        assert not driven.is_open()
        assert "R 3 rules wait for you" in driven.text
    async with open_screen(root, SIZES["120x40"], theme="light") as driven:
        await driven.select("each fix")
        picture(driven, "rules/120x40-light")


async def test_decisions_are_written_committed_and_undone(root: Path) -> None:
    async with open_screen(root) as driven:
        draft = await driven.select(DRAFT)
        await driven.press("a")
        await driven.wait_for_toast("accepted: ")
        assert "✓" in driven.line(DRAFT) and rules_by_id(root)[draft.id].accepted == "2026-06-12"
        following = driven.screen.selected()
        assert following is not None and following.state == "waiting"  # the next one
        await driven.select(DRAFT)
        await driven.press("a")
        assert "the rule is already accepted" in driven.toasts

        branch = await driven.select(BRANCH)
        await driven.press("x")
        await driven.wait_for_toast("turned down: ")
        assert rules_by_id(root)[branch.id].state == "turned down" and not driven.listed()[-1].counts
        squash = await driven.select(SQUASH)
        await driven.press("E", "ctrl+u")
        await driven.type("Squash before a merge.")
        await driven.press("enter")
        await driven.wait_for_toast("in force: Squash before a merge.")
        await driven.select("Squash")
        await driven.press("p")
        await driven.wait_for_toast("applies everywhere")
        assert not rules_by_id(root)[squash.id].project
        await driven.press("p")
        await driven.wait_for_toast("limited to gauges")
        assert (rules_by_id(root)[squash.id].project, rules_by_id(root)[squash.id].own) == ("gauges", True)
    assert [each.split(":")[1].strip() for each in git(root, "log", "--format=%s", "-5").split("\n")] == [
        "rule narrowed to gauges", "rule widened to everywhere", "rule reworded", "rule turned down",
        "rule accepted",
    ]  # fmt: skip


async def test_only_the_change_asked_about_is_undone(root: Path) -> None:
    async with open_screen(root) as driven:
        await driven.press("z")
        assert "rules learned" in driven.flat()
        with Engine.open(root, clock=lambda: NOW) as other:
            other.rules.add("Answer briefly.")
        await driven.press("right", "enter")
        await driven.wait_for_toast("the last change is another one by now")
        assert any(rule.text == "Answer briefly." for rule in rules_by_id(root).values())


async def test_a_saved_rule_is_not_selected_once_the_selection_moved_on(root: Path) -> None:
    async with open_screen(root) as driven:
        squash, rules = await driven.select(SQUASH), driven.screen.bench.engine.rules
        saved, go_on = rules.reword, threading.Event()

        def slowly(*arguments: str) -> Change:
            assert go_on.wait(60)
            return saved(*arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rules, "reword", slowly)
            for key in ("E", "!", "enter", "g"):
                await driven.send(key)
                await driven.run()
            first = driven.screen.selected()
            assert first is not None and first.id != squash.id
            go_on.set()
            await driven.wait_for_toast("in force: ")
        assert rules_by_id(root)[squash.id].text.endswith("!")
        assert driven.screen.selected_id == first.id


async def test_a_decision_that_fails_after_the_screen_was_closed_is_reported(root: Path) -> None:
    async with open_screen(root) as driven:
        await driven.select(BRANCH)
        rules, go_on = driven.screen.bench.engine.rules, threading.Event()

        def slowly(names: Sequence[str]) -> Change:
            assert names and go_on.wait(60)
            raise WriteFailed("another program has held the workspace lock for 30 s")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rules, "turn_down", slowly)
            for key in ("x", "escape"):
                await driven.send(key)
                await driven.run()
            assert not driven.is_open()
            go_on.set()
            await driven.until(lambda: "another program has held the workspace lock" in driven.toasts)


async def test_a_page_that_has_just_opened_ignores_the_key_of_its_offer(root: Path) -> None:
    async with open_screen(root, grace_s=0.4) as driven:
        file = root.parent / "CLAUDE.md"
        await driven.press("A", "enter")
        await driven.wait_for_toast("accepted: ")
        await driven.press("X")
        await driven.type(str(file))
        await driven.press("enter")
        await driven.until(lambda: "a writes it" in driven.text)
        await driven.press("a")
        assert "a writes it" in driven.text and not file.exists()


async def test_scope_of_a_rule_is_typed(root: Path) -> None:
    async with open_screen(root, SIZES["80x24"]) as driven:
        english = await driven.select(ENGLISH)
        await driven.press("P")
        assert "where the rule applies: everywhere" in driven.text
        await driven.type("project=gauges tool=Bash path=tests/,*.tsx for")
        assert "for: expected project=…, agent=…, tool=… or path=…" in driven.text
        await driven.press("enter")
        assert "nothing was changed" in driven.toasts and not rules_by_id(root)[english.id].where
        await driven.press("P", "up", *["backspace"] * 4)
        assert "where the rule applies: gauges Bash tests/,*.tsx" in driven.text
        await driven.press("enter")
        await driven.wait_for_toast("limited to gauges Bash tests/,*.tsx")
        rule = rules_by_id(root)[english.id]
        assert (rule.project, rule.agent, rule.tool, rule.path) == ("gauges", "", "Bash", "tests/,*.tsx")
        await driven.select(ENGLISH)
        await driven.press("P", "home", *["delete"] * len("project=gauges "))
        await driven.press("enter")
        await driven.wait_for_toast("limited to Bash tests/,*.tsx")
        await driven.select(ENGLISH)
        await driven.press("P", "ctrl+u", "enter")
        await driven.wait_for_toast("applies everywhere")
        assert not rules_by_id(root)[english.id].where


async def test_rules_that_are_less_likely_to_be_any_are_folded_behind_one_line(root: Path) -> None:
    once = ("can you use the test helper to clean this up?", "could you rename this one too?")
    lines = "".join(f"- {text} {{#{at:07x} told=1}}\n" for at, text in enumerate(once))
    heading = "## Waiting for your decision\n"
    (root / PATH).write_text((root / PATH).read_text().replace(heading, f"{heading}\n{lines}"))
    async with open_screen(root, SIZES["80x24"]) as driven:
        rows = driven.screen.rules
        at = next(at for at in range(rows.row_count) if rows.item_at(at).folded)
        assert "▸  2 less likely · u shows them" in driven.text and once[0] not in driven.text
        assert "3 wait for you" in driven.text
        await driven.press("g", *["j"] * at, "a", "Y")
        assert "no rule is selected" in driven.toasts and not rules_by_id(root)["0000000"].accepted
        await driven.press("slash")
        await driven.type("rename this")
        assert [rule.text for rule in driven.listed()] == [once[1]]
        await driven.press("escape", "u")
        assert once[0] in driven.text and "less likely" not in driven.text
        rule = await driven.select(once[1])
        await driven.press("a")
        await driven.wait_for_toast("accepted: ")
        assert rules_by_id(root)[rule.id].accepted
        await driven.press("u")
        assert "▸  1 less likely" in driven.text
        await driven.press("u")
        await driven.select(once[0])
        await driven.press("x")
        await driven.wait_for_toast("turned down: ")
        await driven.press("u")
        assert "every rule listed is likely to be one" in driven.toasts


async def test_custom_pattern_is_watched_for(root: Path) -> None:
    async with open_screen(root, SIZES["80x24"]) as driven:
        branch = await driven.select(BRANCH)
        topic = root / f"topics/rule-{branch.id}.md"
        await driven.press("t")
        await driven.type("(")
        await driven.press("enter")
        await driven.until(lambda: "pattern" in driven.toasts)
        assert not topic.exists()
        await driven.press("t", "ctrl+u")
        await driven.type("git push .*main")
        await driven.press("enter")
        await driven.until(lambda: "watches for git push .*main" in driven.text)
        assert not topic.exists()
        await driven.press("a")
        await driven.wait_for_toast("watching for git push .*main")
        assert "git push .*main" in topic.read_text()


async def test_user_rule_is_added_and_the_last_change_undone(root: Path) -> None:
    async with open_screen(root) as driven:
        await driven.press("i")
        await driven.type("Answer briefly.")
        await driven.press("enter")
        await driven.wait_for_toast("in force: Answer briefly.")
        assert driven.rule("Answer").accepted == "2026-06-12"
        await driven.until(lambda: "· not said in any session" in driven.text)  # the new rule is selected
        await driven.press("z")
        assert "rule added: 'Answer briefly.'" in driven.flat()
        await driven.press("enter")  # Cancel has the focus
        assert driven.rule("Answer")
        await driven.press("z", "right", "enter")
        await driven.wait_for_toast("undone: ")
        assert not any("Answer" in rule.text for rule in driven.listed())
        await driven.select(BRANCH)
        await driven.press("r")
        await driven.wait_for_toast("resting: ")
        assert driven.rule(BRANCH).state == "resting" and not driven.listed()[-1].counts
        await driven.press("z", "right", "enter")
        await driven.wait_for_toast("undone: ")
        await driven.press("z")
        assert "rules learned" in driven.flat() and "not learned again" in driven.flat()
        (root / PATH).write_text((root / PATH).read_text() + "\nA line of mine.\n")
        await driven.press("right", "enter")
        await driven.until(lambda: "has uncommitted changes" in driven.toasts)


async def test_frequent_rules_are_accepted_and_two_rules_merged(root: Path) -> None:
    async with open_screen(root) as driven:
        await driven.press("A")
        assert "sessions: 1 rule" in driven.text and driven.screen.prompt.line.value == "3"
        await driven.press("backspace")
        assert "type a number" in driven.text
        await driven.type("9")
        await driven.press("enter")
        assert "no rule waits that you said that often" in driven.toasts
        await driven.press("A", "backspace")
        await driven.type("2")
        assert "sessions: 3 rules" in driven.text
        await driven.press("enter")
        await driven.wait_for_toast("accepted: 3 rules")
        assert {rule.told >= 2 for rule in rules_by_id(root).values() if rule.accepted} == {True}
        assert "7 in force" in driven.text
        await driven.press("A")
        assert "no rule waits for you" in driven.toasts

        branch = await driven.select(BRANCH)
        await driven.press("m")
        assert "m on the rule whose words to keep" in driven.text and "+" in driven.line(BRANCH)
        await driven.press("escape")
        assert "whose words to keep" not in driven.text and driven.is_open()
        await driven.press("m")
        squash = await driven.select(SQUASH)
        await driven.press("m")
        await driven.wait_for_toast("merged: we always squash")
        found = rules_by_id(root)
        assert found[squash.id].also == (branch.id,) and found[squash.id].told == 3
        assert found[branch.id].by == squash.id
        await driven.select(SQUASH)
        await driven.until(lambda: "1 other merged into it" in driven.flat())
        assert "let's cut a branch first" in driven.flat()


async def test_new_sessions_are_learned_from(root: Path) -> None:
    (root / PATH).unlink()
    shutil.rmtree(root / "logs")
    shutil.rmtree(root / "scratch")
    async with open_screen(root, SIZES["80x24"]) as driven:
        assert "no rules yet" in driven.text
        await driven.press("a", "p")
        assert "no rule is selected" in driven.toasts
        await driven.press("l")
        await driven.wait_for_toast(f"{len(SESSIONS)} sessions read, 9 rules learned")
        assert len(driven.listed()) == 9
        write(root, [("2026-06-12", "gauges", PUSHED, "open a draft PR please")])
        await driven.press("l")
        await driven.wait_for_toast("1 session read, 0 rules learned")
        assert driven.rule(DRAFT).told == 5 and "2026-06" in driven.line("draft PR")
        await driven.select(DRAFT)
        await driven.press("a")
        await driven.wait_for_toast("accepted: ")
        write(root, [("2026-06-13", "gauges", PUSHED, "create a draft PR please")])
        await driven.press("l")
        await driven.wait_for_toast("1 session read, 0 rules learned, 1 said again")
        await driven.select(DRAFT)
        assert "! 6×  2026-06" in driven.line(DRAFT)
        assert "in force and accepted 2026-06-12, but you said it again since" in driven.flat()


async def test_export_and_watcher_are_previewed_before_writing(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "gauges/CLAUDE.md"
    file.parent.mkdir()
    file.write_text("Never amend commits.\n")
    for path in root.glob("raw/conversations/**/*gauges.md"):
        path.write_text(path.read_text().replace("/home/robin/gauges", str(file.parent)))
    async with open_screen(root, SIZES["80x24"]) as driven:
        await driven.press("K")
        await driven.until(lambda: "1 file read, 1 rule found" in driven.text)
        assert "please never amend commits" in driven.text and "CLAUDE.md:1" in driven.text
        await driven.press("escape")
        await driven.until(lambda: rules_by_id(root)[driven.rule("amend").id].known == "CLAUDE.md")

        await driven.press("A", "enter")
        await driven.wait_for_toast("accepted: ")
        await driven.press("X")
        await driven.type("~/gauges/CLAUDE.md")
        await driven.press("enter")
        await driven.until(lambda: "+ - open" in driven.text)
        assert "export to ~/gauges/CLAUDE.md" in driven.text and "a writes it" in driven.text
        await driven.press("escape")
        assert file.read_text() == "Never amend commits.\n"
        await driven.press("X", "up", "enter")
        await driven.until(lambda: "a writes it" in driven.text)
        file.write_text("Never amend commits. Never.\n")
        await driven.press("a")
        await driven.wait_for_toast("have changed since they were shown")
        assert file.read_text() == "Never amend commits. Never.\n"
        await driven.press("X", "up", "enter")
        await driven.until(lambda: "a writes it" in driven.text)
        await driven.press("a")
        await driven.wait_for_toast("wrote 1 rule to ~/gauges/CLAUDE.md")
        assert driven.rule(DRAFT).text in file.read_text()

        amend = await driven.select("amend")
        await driven.until(lambda: "t watches agents for: git commit --amend" in driven.flat())
        await driven.press("t")
        await driven.until(lambda: "a turns it on" in driven.text)
        assert "  match: " in driven.text and not (root / f"topics/rule-{amend.id}.md").exists()
        await driven.press("a")
        await driven.wait_for_toast("watching for git commit --amend")
        await driven.until(lambda: "◉ agents are watched for: git commit --amend" in driven.flat())
        await driven.press("t")
        assert "agents are already watched for it" in driven.toasts
    assert git(root, "log", "-1", "--format=%s").startswith("maintenance: an output trigger for the rule")


async def test_read_only_and_unreadable_rules(root: Path) -> None:
    async with open_screen(root, read_only=True) as driven:
        await driven.press("a", "A", "x", "E", "p", "m", "z", "l", "i", "K", "X", "P", "t")
        assert set(driven.toasts.split("\n")) == {"the workspace is read-only"} and not driven.screen.in_line
        assert len(driven.listed()) == 9
    (root / PATH).unlink()
    (root / PATH).mkdir()
    async with open_screen(root) as driven:
        assert "cannot read the rules" in driven.text and not driven.listed()
        (root / PATH).rmdir()
        await driven.press("ctrl+r")
        assert "no rules yet" in driven.text


async def test_hostile_text_is_shown_as_text(root: Path) -> None:
    bad = ["".join(each.replace("\0", "").split("\n")) for each in HOSTILE]
    write(root, [("2026-06-12", "gauges", f"> [tool:exec] {' '.join(bad)} → done", "draft PR please")])
    lines = "".join(
        f"- {each} {{#{at:07x} told=3 last={each[:4]} project={each}}}\n" for at, each in enumerate(bad)
    )
    text = (root / PATH).read_text().replace("## In force\n", f"## In force\n\n{lines}")
    (root / PATH).write_bytes(text.encode("utf-8", "surrogatepass"))
    async with open_screen(root, SIZES["80x24"]) as driven:
        await driven.press("l")
        await driven.settle()
        assert_harmless(driven)
        for _ in driven.listed()[:4]:
            await driven.press("j")
            assert_harmless(driven)
        await driven.press("g", "a", "p", "m", "z", "escape", "E")
        assert_harmless(driven)
        await driven.press("escape", "2", "Y")
        for size in ((60, 16), (200, 60)):
            await driven.resize(*size)
            assert_harmless(driven)
            assert driven.is_open()


async def test_the_same_key_again_never_decides_on_another_rule(root: Path) -> None:
    async with open_screen(root, SIZES["80x24"]) as driven:
        rule = await driven.select(DRAFT)
        await driven.press("a")
        await driven.wait_for_toast("accepted: ")
        await driven.select(DRAFT)
        before = {each.id: each.state for each in rules_by_id(root).values()}
        assert before[rule.id] == "in force"

        step = "a rule in force is turned down only after a question"
        await driven.press("x")
        assert "turn down a rule in force" in driven.text, step
        await driven.press("x", "enter")
        assert rules_by_id(root)[rule.id].state == "in force" and driven.screen.selected_id == rule.id, step

        step = "the decided rule stays selected"
        await driven.press("x", "right", "enter")
        await driven.wait_for_toast("turned down: ")
        await driven.settle()
        assert driven.screen.selected_id == rule.id, step
        await driven.press("x", "x")
        assert "already turned down" in driven.toasts, step
        after = {each.id: each.state for each in rules_by_id(root).values()}
        assert after == {**before, rule.id: "turned down"}, step

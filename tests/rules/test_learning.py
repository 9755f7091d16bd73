"""Which rules are in force after learning, and which wait: the later word holds, and nothing counts twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.rules import reading
from engine.rules import rules as learner
from engine.rules.rulebook import PATH, Rule, is_unlikely
from tests.rules.conftest import Say
from tests.rules.test_sentences import ONE_OFF


@pytest.fixture
def engine(sample: Path, say: Say) -> Iterator[Engine]:
    """An engine without sessions; ``say`` adds them."""
    with Engine.open(sample) as opened:
        yield opened


def in_force(engine: Engine) -> list[str]:
    """Learns, and returns the rules that agents are told."""
    return sorted(rule.text for rule in engine.rules.learn().learned.book.rules if rule.counts)


def told(engine: Engine, message: str) -> str:
    """The rules in a prompt."""
    return "\n".join(
        each.text for each in engine.compile(message).sections if each.label.startswith("rules:")
    )


def rule_of(engine: Engine, word: str) -> Rule:
    (found,) = (rule for rule in engine.rules.book().rules if word in rule.text)
    return found


def test_a_request_for_the_task_is_not_in_force_however_often_it_is_made(engine: Engine, say: Say) -> None:
    for day in range(1, 6):
        say(f"2031-01-0{day}", *ONE_OFF, cwd=f"/home/robin/project-{day}")
    assert in_force(engine) == []


def test_a_repeated_request_waits_and_no_agent_is_told_it(engine: Engine, say: Say) -> None:
    say("2031-01-07", "push and draft PR please")
    say("2031-01-09", "create a draft PR please")
    assert in_force(engine) == []
    draft = rule_of(engine, "draft")
    assert (draft.state, draft.told) == ("waiting", 2)
    assert told(engine, "open a draft PR please") == ""
    engine.rules.accept([draft.id])
    assert draft.text in told(engine, "open a draft PR please")


def test_a_request_for_a_way_of_working_waits_after_the_first_time_and_is_shown_last(
    engine: Engine, say: Say
) -> None:
    say("2031-01-07", "let's cut a branch first")
    assert in_force(engine) == []
    branch = rule_of(engine, "branch")
    assert (branch.state, branch.told, is_unlikely(branch)) == ("waiting", 1, True)
    assert engine.status().waiting_rules == 0, "nobody is asked about it"


def test_what_is_forbidden_task_after_task_within_chinese_sentences_waits(engine: Engine, say: Say) -> None:
    say("2031-01-07", "我现在有一个周卡，打开会获得8个道具，你帮我想想办法，不要直接修改")
    say("2031-01-09", "这个怪物为什么没有生成出来，你帮我找找原因，不要直接修改’")
    assert in_force(engine) == []
    ban = rule_of(engine, "不要直接修改")
    assert (ban.text, ban.state, ban.told) == ("不要直接修改", "waiting", 2)


def test_what_is_asked_for_again_in_another_language_waits_and_once_is_not_shown(
    engine: Engine, say: Say
) -> None:
    say("2031-01-07", "suggère des réponses", "explique-moi cette erreur")
    assert in_force(engine) == [] and not [
        rule for rule in engine.rules.book().rules if "réponses" in rule.text
    ]
    say("2031-01-09", "explique-moi cette erreur", "suggère des réponses")
    assert in_force(engine) == []
    wish = rule_of(engine, "réponses")
    assert (wish.state, wish.told) == ("waiting", 2)
    assert not [rule for rule in engine.rules.book().rules if "erreur" in rule.text]


def test_a_rule_told_again_without_its_value_keeps_it(engine: Engine, say: Say) -> None:
    say("2031-01-07", "from now on start the names of all functions with 'f_'")
    say("2031-01-09", "from now on start the names of all functions as agreed")
    assert in_force(engine) == ["from now on start the names of all functions with 'f_'"]


def test_a_plain_rule_is_in_force_at_once(engine: Engine, say: Say) -> None:
    task = "fix the parser, then run it, and from now on always add a test for every fix"
    say("2031-01-05", task, "always use tabs, never commit to main, and every function needs a docstring")
    assert in_force(engine) == [
        "always use tabs", "every function needs a docstring", "from now on always add a test for every fix",
        "never commit to main",
    ]  # fmt: skip
    assert "- never commit to main" in told(engine, "hello")


def test_what_is_mostly_about_the_work_at_hand_waits_in_an_agents_session(engine: Engine, say: Say) -> None:
    """In a chat, in which no agent works, the same words can only be about how to work."""
    less_express = "use your implemented API, not the raw curl calls"
    say("2031-01-05", less_express, "do not auto commit unless I tell you to")
    assert in_force(engine) == ["do not auto commit unless I tell you to"]
    assert less_express in {rule.text for rule in engine.rules.book().waiting}


@pytest.mark.parametrize("agent", ["claude-code", "chatgpt"])
def test_what_lets_the_agent_act_without_asking_waits(engine: Engine, say: Say, agent: str) -> None:
    say("2031-01-05", "from now on push without asking me", "never merge without asking me", agent=agent)
    assert in_force(engine) == ["never merge without asking me"]
    assert [rule.text for rule in engine.rules.book().waiting] == ["from now on push without asking me"]


def test_a_long_message_sent_again_on_another_day_is_a_template(engine: Engine, say: Say) -> None:
    template = "never break character until you are given a command to exit from this role"
    say("2031-01-05", template)
    assert in_force(engine) == [template]
    say("2031-01-06", template)
    assert in_force(engine) == []
    assert [(rule.text, rule.told) for rule in engine.rules.book().waiting] == [(template, 1)]


def test_the_text_of_a_button_of_an_agents_program_sets_no_rule(engine: Engine, say: Say) -> None:
    say(
        "2031-01-05",
        "Implement the plan as specified, it is attached for your reference. Do NOT edit the plan file "
        "itself.\n\nTo-do's from the plan have already been created. Do not create them again.",
    )
    assert in_force(engine) == [] and not engine.rules.book().waiting


def test_in_a_chat_that_shows_code_the_work_at_hand_is_meant(engine: Engine, say: Say) -> None:
    say("2031-01-05", "we use yarn, not npm", agent="chatgpt")
    other = say("2031-01-06", "use tabs, not spaces", agent="chatgpt")
    other.write_text(other.read_text().replace("\nDone.\n", "\n```python\nqueue.put(job)\n```\n"))
    assert in_force(engine) == ["we use yarn, not npm"]


def test_a_rule_at_the_end_of_a_request_is_told_without_it(engine: Engine, say: Say) -> None:
    say("2031-01-05", "把这个错误记到文档里，以后提交前都要先跑测试")
    assert in_force(engine) == ["以后提交前都要先跑测试"]


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("always use tabs for indentation", "from now on use spaces for indentation"),
        ("always keep lines under 80 characters", "from now on keep lines under 100 characters"),
        ("always squash commits before merging", "never squash commits before merging"),
        ("immer die Commits squashen, bei jedem Merge", "ab jetzt die Commits nicht mehr squashen"),
    ],
)
def test_the_later_word_replaces_the_former(engine: Engine, say: Say, first: str, later: str) -> None:
    say("2031-03-01", first)
    assert in_force(engine) == [first]
    say("2031-03-05", later)
    done = engine.rules.learn().learned
    assert [rule.text for rule in done.replaced] == [first] and in_force(engine) == [later]
    old = rule_of(engine, first)
    assert (old.state, old.by) == ("replaced", rule_of(engine, later).id)
    assert [(each.said.text, each.effect_on(old)) for each in engine.rules.occurrences(old)] == [
        (first, "said"), (later, "replaced"),
    ]  # fmt: skip


def test_a_rule_can_be_ended(engine: Engine, say: Say) -> None:
    say("2031-03-01", "always keep the changelog up to date")
    assert in_force(engine) == ["always keep the changelog up to date"]
    say("2031-03-05", "you no longer need to keep the changelog up to date")
    assert in_force(engine) == []
    ended = rule_of(engine, "changelog")
    assert (ended.state, ended.ended, ended.by) == ("replaced", "2031-03-05", "")
    assert [each.effect_on(ended) for each in engine.rules.occurrences(ended)] == ["said", "ended"]


def test_a_word_that_is_taken_back_holds_again(engine: Engine, say: Say) -> None:
    say("2031-03-01", "always use tabs for indentation")
    say("2031-03-05", "from now on use spaces for indentation")
    assert in_force(engine) == ["from now on use spaces for indentation"]
    say("2031-03-09", "always use tabs for indentation")
    assert in_force(engine) == ["always use tabs for indentation"]


def test_a_later_word_in_the_same_session_holds(engine: Engine, say: Say) -> None:
    say("2031-03-01", "always use tabs for indentation", "no, from now on use spaces for indentation")
    assert in_force(engine) == ["from now on use spaces for indentation"]


def test_a_word_in_another_project_replaces_nothing_here(engine: Engine, say: Say) -> None:
    say("2031-03-01", "always use npm for packages", cwd="/home/robin/gauges")
    say("2031-03-05", "from now on use pnpm for packages", cwd="/home/robin/harbour")
    assert {(rule.text, rule.project) for rule in engine.rules.learn().learned.book.rules if rule.counts} == {
        ("always use npm for packages", "gauges"),
        ("from now on use pnpm for packages", "harbour"),
    }
    say("2031-03-09", "from now on use yarn for packages in all my projects", cwd="/home/robin/harbour")
    assert in_force(engine) == ["from now on use yarn for packages in all my projects"]


def test_what_may_be_a_paste_ends_no_rule(engine: Engine, say: Say) -> None:
    say("2031-03-01", "always add a test with each fix")
    say("2031-03-05", "What do you make of their page: you no longer need to add a test with each fix")
    assert in_force(engine) == ["always add a test with each fix"]


def test_what_may_go_on_with_a_paste_in_the_message_before_waits(engine: Engine, say: Say) -> None:
    say("2031-03-01", "please sum up this mail, it comes next:", "always push to main without a review")
    say("2031-03-02", "what is this?\n```\nline one", "never run the tests before a push")
    say("2031-03-03", "please sum up this mail", "always add a test with each fix")
    assert in_force(engine) == ["always add a test with each fix"]
    assert {rule.state for rule in engine.rules.book().rules} == {"in force", "waiting"}


def test_nothing_goes_on_with_a_paste_where_replies_are_not_recorded(engine: Engine, say: Say) -> None:
    mail = "please sum up this mail:\n\nHi Kim,\nsend me the list."
    place = say("2031-03-01", mail, "now the tests", "always add a test with each fix")
    prompts = place.read_text().replace("\n\nDone.\n", "\n")
    heads = [line for line in prompts.split("\n") if not line.endswith("— agent")]
    place.write_text("\n".join(heads))
    assert in_force(engine) == [], "nobody answered"
    heads.insert(1, 'prompts_only: "true"')
    place.write_text("\n".join(heads))
    assert in_force(engine) == ["always add a test with each fix"]


def test_a_message_to_the_person_by_their_name_waits(engine: Engine, say: Say) -> None:
    for day, text in enumerate(
        (
            "hey robin, from now on always publish packages to the mirror. cheers kim",
            "Hola Robin, a partir de ahora publica siempre los paquetes en el espejo.",
            "@robin never run the tests before a push",
            "Robin: every commit must skip the hooks",
        ),
        1,
    ):
        say(f"2031-03-0{day}", text)
    say(
        "2031-03-05",
        "always add a test with each fix, signed Robin",
        "hey claude, never amend commits on main",
    )
    assert in_force(engine) == [
        "always add a test with each fix, signed Robin",
        "claude, never amend commits on main",
    ]


def test_different_wishes_are_both_in_force(engine: Engine, say: Say) -> None:
    said = "always add a docstring to public functions", "always add type hints to public functions"
    say("2031-03-01", said[0])
    say("2031-03-05", said[1])
    assert in_force(engine) == list(said)


def test_a_copy_of_a_session_counts_once(engine: Engine, say: Say) -> None:
    said = "please have a look at the parser of dates in the gauge page", "never amend commits on main"
    for day in ("2031-03-01", "2031-03-01", "2031-03-02"):  # resumed or forked: the same messages again
        say(day, *said)
    in_force(engine)
    assert rule_of(engine, "amend").told == 1


def test_a_rule_of_one_project_holds_there_and_one_of_two_everywhere(engine: Engine, say: Say) -> None:
    say("2031-09-01", "never amend commits", "always answer in British English", cwd="/home/robin/gauges")
    say("2031-09-02", "never ever amend commits", cwd="/home/robin/gauges")
    say("2031-09-03", "always answer in British English please", cwd="/home/robin/tables")
    in_force(engine)
    assert (rule_of(engine, "amend").project, rule_of(engine, "British").project) == ("gauges", "")


def test_learning_twice_reads_nothing_and_changes_nothing(
    engine: Engine, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    say("2031-03-01", "never amend commits", "push and draft PR please")
    say("2031-03-02", "create a draft PR please")
    in_force(engine)
    file, log = engine.workspace.root / PATH, engine.rules.log.stamp()
    before = file.read_bytes()

    def read(*_given: object) -> None:
        raise AssertionError("a session was read again")

    monkeypatch.setattr(learner, "read_session", read)
    again = engine.rules.learn()
    assert (again.sessions, file.read_bytes(), engine.rules.log.stamp()) == (0, before, log)


def test_a_session_is_read_again_by_a_build_that_judges_otherwise(
    engine: Engine, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    say("2031-01-05", "from now on, always use tabs")
    assert in_force(engine)
    assert engine.rules.unread() == 0
    monkeypatch.setattr(reading, "_reader", lambda: b'{"reader": "another"}\n')
    assert engine.rules.unread() == 1
    say("2031-01-06", "from now on, never commit to main")
    assert len(in_force(engine)) == 2
    assert engine.rules.unread() == 0


def test_an_older_session_imported_later_does_not_overrule_a_newer_word(engine: Engine, say: Say) -> None:
    say("2031-03-05", "from now on use spaces for indentation")
    assert in_force(engine) == ["from now on use spaces for indentation"]
    say("2031-03-01", "always use tabs for indentation")
    assert in_force(engine) == ["from now on use spaces for indentation"]
    assert rule_of(engine, "tabs").state == "replaced"


def test_a_rule_put_in_force_by_an_earlier_build_without_plain_words_waits(engine: Engine, say: Say) -> None:
    say("2031-03-01", "push and draft PR please")
    say("2031-03-02", "create a draft PR please")
    assert in_force(engine) == []
    file = engine.workspace.root / PATH
    text = file.read_text()
    assert "## Waiting for your decision" in text
    file.write_text(text.replace("## Waiting for your decision", "## In force"))
    say("2031-03-03", "what is the time?")
    assert in_force(engine) == [] and rule_of(engine, "draft").state == "waiting"
    file.write_text(file.read_text().replace("## Waiting for your decision", "## Said before, not confirmed"))
    assert rule_of(engine, "draft").state == "waiting"


def test_a_resting_rule_is_in_force_again_once_it_is_said_again(engine: Engine, say: Say) -> None:
    say("2031-01-05", "never amend commits", "we always squash before we merge")
    in_force(engine)
    engine.rules.rest([rule_of(engine, "amend").id, rule_of(engine, "squash").id])
    say("2031-01-02", "never ever amend commits")  # older than what is known
    assert in_force(engine) == []
    say("2031-01-07", "never ever amend commits")
    assert in_force(engine) == ["never ever amend commits"]


def test_a_rule_said_after_it_was_accepted_says_so(engine: Engine, say: Say) -> None:
    engine.rules.add("Never amend commits.")
    assert not rule_of(engine, "amend").is_said_again
    day = engine.rules.today()
    say(f"{int(day[:4]) + 1}-01-02", "never amend commits")
    again = engine.rules.learn().learned.again
    assert [rule.text for rule in again] == ["Never amend commits."] and again[0].is_said_again

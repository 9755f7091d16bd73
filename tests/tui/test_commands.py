"""Each command is defined once; keys, footer, help and palette are derived from it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from textual.command import CommandList, CommandPalette

from engine.context.views import LedgerView
from tests.cases import each_case
from tests.tui.cache_driven import open_cache
from tests.tui.conftest import Run
from tests.tui.context_driven import open_context
from tests.tui.fake_engine import FakeEngine, ledger_rows
from tests.tui.ledger_driven import open_ledger
from tests.tui.search_driven import open_search
from tui import screens as screens_package
from tui.kit.command import Catalog, Need, Situation, command
from tui.kit.commands import Commanded, help_lines
from tui.kit.full_screen import FullScreen
from tui.render.roles import PLAIN
from tui.screens.cache.screen import CacheScreen, CacheSituation
from tui.screens.context.screen import ContextScreen, ContextSituation
from tui.screens.harvest.screen import HarvestScreen, HarvestSituation
from tui.screens.jobs.screen import JobsScreen, JobsSituation
from tui.screens.knowledge.screen import KnowledgeScreen, KnowledgeSituation
from tui.screens.ledger.screen import LedgerScreen, LedgerSituation
from tui.screens.review.screen import ReviewScreen, ReviewSituation
from tui.screens.rules.screen import RulesScreen, RulesSituation
from tui.screens.search.screen import SearchScreen, SearchSituation
from tui.screens.tune.screen import TuneScreen, TuneSituation
from tui.screens.workbench.openings import OPENINGS, Opening
from tui.screens.workbench.screen import BenchSituation, Workbench

BENCH, TUNE, SEARCH, CONTEXT = (
    Workbench.catalog,
    TuneScreen.catalog,
    SearchScreen.catalog,
    ContextScreen.catalog,
)
CACHE, LEDGER, HARVEST = CacheScreen.catalog, LedgerScreen.catalog, HarvestScreen.catalog
REVIEW, KNOWLEDGE = ReviewScreen.catalog, KnowledgeScreen.catalog

FEED = BenchSituation(panel="feed", rows=3, key="a#0")
ACTIVATION = BenchSituation(panel="activation", rows=3, key="a#0", topic="deploy", file="topics/deploy.md")
SCORES = TuneSituation(panel="scores", rows=1, topic="deploy", file="topics/deploy.md", decision=True)
RESULTS = SearchSituation(panel="results", rows=3, result=True, file="knowledge/decisions.md")
SECTIONS = ContextSituation(panel="sections", rows=20, file="knowledge/digest.md", prompt=True)
CACHED = CacheSituation(
    panel="discussions", rows=6, discussion="ses_a1b2c3d4", cached=True, caching=True, file="raw/talk.md"
)
SETTING = CacheSituation(panel="settings", rows=6, file="memory-config.yaml")
ENTRY = LedgerSituation(
    panel="entries", rows=6, record="a" * 64, kept_in="in trash", file="conversations/a.md"
)
PICK = HarvestSituation(panel="pick", rows=6, chosen=3, selectable=True)
ITEM = ReviewSituation(panel="queue", rows=3, item=True, is_pending=True, file="conversations/a.md")
RULE = RulesSituation(panel="rules", rows=3, rule="3f2a91c", standing="waiting", project="gauges", waiting=3)
JOB = JobsSituation(panel="jobs", rows=6, job="index", file="topics/a.md")
PIECE = KnowledgeSituation(panel="pieces", rows=3, file="knowledge/facts.md", digest=True)
SCREENS: dict[str, tuple[Catalog, Situation]] = {
    "workbench": (BENCH, FEED),
    "tune": (TUNE, SCORES),
    "search": (SEARCH, RESULTS),
    "context": (CONTEXT, SECTIONS),
    "cache": (CACHE, CACHED),
    "ledger": (LEDGER, ENTRY),
    "harvest": (HARVEST, PICK),
    "review": (REVIEW, ITEM),
    "knowledge": (KNOWLEDGE, PIECE),
    "rules": (RulesScreen.catalog, RULE),
    "jobs": (JobsScreen.catalog, JOB),
}
RESERVED = {"shift+left", "shift+right", "shift+tab", "ctrl+p", "home", "end"}
"""Keys that some terminals reserve."""
SHARED = [each.name for each in BENCH if each.scope == "everywhere"]


def resolve(catalog: Catalog, key: str, situation: Situation) -> str:
    """The name of the command that a key means; empty for none."""
    found = catalog.resolve(key, situation)
    assert catalog.means(key, situation) == (found is not None)
    return found.name if found is not None else ""


def footer_words(catalog: Catalog, situation: Situation) -> set[str]:
    """The texts of the footer."""
    return {each for _keys, each in catalog.footer(situation)}


# Rules for every screen


def test_every_command_says_what_it_does() -> None:
    for name, (catalog, _situation) in SCREENS.items():
        for each in catalog:
            assert each.help.endswith("."), (name, each.name)
            assert not each.help.split()[0].endswith("s"), (name, each.name, "say what to do: Go, not Goes")
            assert each.title[0].isupper() and each.keys, (name, each.name)
            assert set(each.keys) - RESERVED or each.name in ("previous_panel", "palette"), (name, each.name)


def test_every_command_is_reachable() -> None:
    for name, (catalog, situation) in SCREENS.items():
        panels = (*catalog.panels, *catalog.lines)
        more: list[dict[str, Any]] = [{"moved": True}, {}] if name == "tune" else [{}]
        reached = {
            resolve(catalog, key, replace(situation, panel=panel, question=question, **fields))
            for key, panel, question, fields in product(catalog.keys, panels, (False, True), more)
        }
        assert {each.name for each in catalog} <= reached, name


def test_every_screen_has_the_common_commands() -> None:
    assert len(SHARED) > 15
    for name, (catalog, _situation) in SCREENS.items():
        names = [each.name for each in catalog]
        assert len(names) == len(set(names)), name
        assert {*SHARED, "back", "quit", "rescan", "unzoom"} <= set(names), name
        assert all(each.when is None for each in catalog.commands[3:]), name  # conditional ones come first


def test_help_lists_exactly_the_commands_that_apply() -> None:
    for name, (catalog, situation) in SCREENS.items():
        for panel in (*catalog.panels, *catalog.lines):
            here = replace(situation, panel=panel)
            rows = [" ".join(row.text.split()) for row in help_lines(catalog, here, (), 400, PLAIN)]
            for each in catalog:
                listed = [
                    row for row in rows if row.startswith(f"{each.shown_keys[0]} ") and each.help in row
                ]
                assert len(listed) == each.applies(here), (name, panel, each.name)


def test_letters_go_to_an_input_line_and_keys_to_the_panels() -> None:
    for name, (catalog, situation) in SCREENS.items():
        for panel in catalog.panels:
            here = replace(situation, panel=panel)
            assert resolve(catalog, "j", here) == "down" and resolve(catalog, "plus", here) == "zoom", name
            assert resolve(catalog, "escape", here) == "back", name
        for line in catalog.lines:
            here = replace(situation, panel=line)
            typed = [key for key in catalog.keys if len(key) == 1]
            arrows = [
                key
                for key in ("up", "down", "left", "right", "home", "slash", "ctrl+u")
                if key in catalog.keys
            ]
            assert not any(resolve(catalog, key, here) for key in (*typed, *arrows)), (name, line)
            assert (
                resolve(catalog, "escape", here) == "back" and resolve(catalog, "tab", here) == "next_panel"
            )


def test_a_key_means_one_thing_in_each_panel() -> None:
    for name, (catalog, situation) in SCREENS.items():
        for panel, key in product(catalog.panels, catalog.keys):
            here = replace(situation, panel=panel)
            several = [each.name for each in catalog if key in each.keys and each.applies(here)]
            assert len(several) <= 1, (name, panel, key, several)


def test_only_the_workbench_refuses_to_go_back() -> None:
    for name, (catalog, situation) in SCREENS.items():
        assert bool(catalog["back"].refusal(situation)) == (name == "workbench")


def test_a_command_of_an_unknown_panel_is_refused() -> None:
    with pytest.raises(ValueError, match="leftt"):

        class Wrong(Commanded, panels=("left",)):
            @command("x", title="Nothing", panels=["leftt"], needs=[Need(lambda here: here.rows, "")])
            def nothing(self) -> None:
                """Do nothing."""


# Keys


@each_case(
    "catalog, key, situation, name",
    [
        (BENCH, "y", FEED, ""),
        (BENCH, "n", FEED, "next_match"),
        (BENCH, "y", ACTIVATION, "label_useful"),
        (BENCH, "n", ACTIVATION, "label_noise"),
        (BENCH, "y", replace(FEED, question=True), "answer_yes"),
        (BENCH, "n", replace(FEED, question=True), "answer_no"),
        (BENCH, "n", replace(FEED, question=True, filtered=True), "next_match"),
        (BENCH, "y", replace(ACTIVATION, question=True), "label_useful"),
        (BENCH, "ctrl+y", replace(ACTIVATION, question=True), "answer_yes"),
        (BENCH, "s", FEED, "open_search"),
        (BENCH, "C", FEED, "open_caches"),
        (BENCH, "L", FEED, "open_ledger"),
        (TUNE, "escape", replace(SCORES, moved=True), "discard"),
        (TUNE, "escape", replace(SCORES, moved=True, panel="filter"), "back"),
        (TUNE, "enter", replace(SCORES, panel="filter"), ""),
        (SEARCH, "enter", replace(RESULTS, panel="query"), "to_results"),
        (SEARCH, "enter", replace(RESULTS, panel="preset"), ""),
        (SEARCH, "y", RESULTS, "copy_place"),
        (SEARCH, "y", replace(RESULTS, question=True), "copy_place"),
        (SEARCH, "n", replace(RESULTS, question=True), "next_result"),
        (SEARCH, "ctrl+y", replace(RESULTS, question=True), "answer_yes"),
        (SEARCH, "ctrl+n", replace(RESULTS, question=True), "answer_no"),
        (CONTEXT, "enter", replace(SECTIONS, panel="name"), ""),
        (CACHE, "y", replace(CACHED, question=True), "copy_id"),
        (CACHE, "ctrl+y", replace(CACHED, question=True), "answer_yes"),
        (CACHE, "i", CACHED, "invalidate"),
        (CACHE, "d", CACHED, "disable"),
        (CACHE, "a", CACHED, "enable"),
        *(
            (CACHE, key, replace(CACHED, panel=panel), "")
            for key in "ida"
            for panel in ("providers", "settings")
        ),
        (CACHE, "space", SETTING, "step"),
        (CACHE, "enter", SETTING, "step"),
        (CACHE, "space", CACHED, ""),
    ],
)
def test_keys_resolve_to_commands(catalog: Catalog, key: str, situation: Situation, name: str) -> None:
    assert resolve(catalog, key, situation) == name


@each_case(
    "catalog, name, situation, reason",
    [
        (BENCH, "label_useful", replace(ACTIVATION, read_only=True), "read-only"),
        (BENCH, "label_useful", replace(ACTIVATION, topic=""), "no topic"),
        (BENCH, "label_noise", replace(ACTIVATION, trying=True), "not in the decision log"),
        (BENCH, "edit", FEED, "not a file"),
        (BENCH, "next_match", FEED, "no filter"),
        (BENCH, "zoom", replace(FEED, zoomed=True), "already enlarged"),
        (BENCH, "unzoom", FEED, "no panel is enlarged"),
        (BENCH, "open", replace(FEED, rows=0), "nothing here"),
        (BENCH, "problems", FEED, "there are no problems"),
        (BENCH, "back", FEED, "top level"),
        (TUNE, "threshold_left", replace(SCORES, loading=True), "being scored"),
        (TUNE, "threshold_right", replace(SCORES, topic=""), "no topic"),
        (TUNE, "apply", SCORES, "no threshold is moved"),
        (TUNE, "apply", replace(SCORES, moved=True, read_only=True), "read-only"),
        (TUNE, "apply", replace(SCORES, moved=True, file=""), "no longer exists"),
        (TUNE, "fit", replace(SCORES, fitting=True), "fit is running"),
        (TUNE, "label_useful", replace(SCORES, read_only=True), "read-only"),
        (TUNE, "label_noise", replace(SCORES, decision=False), "no message"),
        (TUNE, "open_decision", replace(SCORES, decision=False), "no message"),
        (TUNE, "undo", replace(SCORES, read_only=True), "read-only"),
        (SEARCH, "read", replace(RESULTS, result=False), "no result is selected"),
        (SEARCH, "copy_place", replace(RESULTS, result=False), "no result is selected"),
        (SEARCH, "toggle_why", replace(RESULTS, result=False), "no result is selected"),
        (SEARCH, "edit", replace(RESULTS, file=""), "no longer exists"),
        (SEARCH, "ask_preset", replace(RESULTS, read_only=True), "read-only"),
        (CONTEXT, "whole", replace(SECTIONS, prompt=False), "no prompt"),
        (CONTEXT, "toggle_comparison", replace(SECTIONS, prompt=False), "no prompt"),
        (CONTEXT, "open", replace(SECTIONS, rows=0), "nothing here"),
        (CONTEXT, "edit", replace(SECTIONS, file=""), "not come from a file"),
        (CONTEXT, "copy", replace(SECTIONS, rows=0), "nothing here"),
        (CONTEXT, "copy_prompt", replace(SECTIONS, prompt=False), "no prompt"),
        (CONTEXT, "write", replace(SECTIONS, read_only=True), "read-only"),
        (CACHE, "invalidate", replace(CACHED, discussion=""), "no discussion is selected"),
        (CACHE, "invalidate", replace(CACHED, cached=False), "has no cache"),
        (CACHE, "invalidate", replace(CACHED, read_only=True), "read-only"),
        (CACHE, "disable", replace(CACHED, caching=False), "already disabled"),
        (CACHE, "disable", replace(CACHED, read_only=True), "read-only"),
        (CACHE, "enable", CACHED, "already enabled"),
        (CACHE, "enable", replace(CACHED, caching=False, read_only=True), "read-only"),
        (CACHE, "edit", replace(CACHED, file=""), "no file"),
        (CACHE, "copy_id", replace(CACHED, discussion=""), "no discussion is selected"),
        (CACHE, "details", replace(CACHED, rows=0), "nothing here"),
        (CACHE, "step", replace(SETTING, read_only=True), "read-only"),
        (LEDGER, "restore", replace(ENTRY, kept_in="there"), "already in place"),
        (LEDGER, "restore", replace(ENTRY, kept_in="lost"), "neither in the trash"),
        (LEDGER, "restore", replace(ENTRY, kept_in="changed"), "neither in the trash"),
        (LEDGER, "restore", replace(ENTRY, read_only=True), "read-only"),
        (LEDGER, "restore", replace(ENTRY, record=""), "no entry"),
        (LEDGER, "rebuild", ENTRY, "the ledger is intact"),
        (LEDGER, "rebuild", replace(ENTRY, broken=True, read_only=True), "read-only"),
        (LEDGER, "verify", replace(ENTRY, broken=True), "R rebuilds it"),
        (LEDGER, "harvest", replace(ENTRY, broken=True), "R rebuilds it"),
        (LEDGER, "retry", ENTRY, "no harvest has failed"),
        (LEDGER, "edit_there", replace(ENTRY, file=""), "no longer exists"),
        (HARVEST, "toggle", replace(PICK, selectable=False), "is skipped"),
        (HARVEST, "to_confirm", replace(PICK, chosen=0), "no conversations to harvest"),
        (HARVEST, "start", replace(PICK, panel="progress", read_only=True), "read-only"),
        (HARVEST, "start", replace(PICK, panel="progress", harvesting=True), "x stops it"),
        (HARVEST, "stop", replace(PICK, panel="progress"), "no harvest is running"),
        (HARVEST, "ask_number", replace(PICK, panel="outcome"), "nothing to confirm"),
        (HARVEST, "retry", replace(PICK, panel="outcome"), "no harvest failed"),
        (REVIEW, "accept", replace(ITEM, item=False), "no item"),
        (REVIEW, "accept", replace(ITEM, is_pending=False), "no longer pending"),
        (REVIEW, "accept_group", replace(ITEM, is_pending=False), "no longer pending"),
        (REVIEW, "edit", replace(ITEM, file=""), "no longer exists"),
        (KNOWLEDGE, "bind", PIECE, "no notes of a missing file"),
    ],
)
def test_refused_commands_say_why(catalog: Catalog, name: str, situation: Situation, reason: str) -> None:
    refusal = catalog[name].refusal(situation)
    assert reason in refusal, name
    there = situation if catalog[name].applies(situation) else None
    if there is not None:
        rows = help_lines(catalog, there, (), 200, PLAIN)
        assert refusal in " ".join(" ".join(row.text.split()) for row in rows)


# The screens over the workbench


def screen_of(opening: Opening) -> type:
    module, _, name = opening.screen.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


def test_every_screen_has_one_opening() -> None:
    screens = [screen_of(each) for each in OPENINGS]
    parts = {each.__module__.split(".")[2] for each in screens}
    found = {path.parent.name for path in Path(screens_package.__path__[0]).glob("*/screen.py")}
    assert found - parts == {"workbench", "harvest"}  # the harvest is opened from the ledger
    assert len(screens) == len(parts) and all(issubclass(each, FullScreen) for each in screens)


async def test_screens_open_on_the_current_selection(run: Run, engine: FakeEngine) -> None:
    rows = tuple(replace(ledger_rows()[0], sha256=each) for each in engine.knowledge.ledger.known)
    async with run(ledger_view=LedgerView(rows)) as driven:
        await driven.press("4", "j")
        ledger, topic = driven.bench.selected_sha256, driven.bench.selected_topic
        driven.bench.searched = "gauge 7"
        assert ledger and topic
        for each in OPENINGS:
            await driven.press(each.key)
            screen = driven.app.screen
            assert type(screen) is screen_of(each)
            if isinstance(screen, TuneScreen):
                assert screen.state.topic == topic
            elif isinstance(screen, LedgerScreen):
                await driven.until(partial(lambda ledgers: ledgers.situation.record == ledger, screen))
            elif isinstance(screen, SearchScreen):
                assert screen.prompt.input.value == "gauge 7"
            driven.app.pop_screen()
            await driven.settle()


# The footer


def test_the_footer_of_the_workbench() -> None:
    assert BENCH.footer(FEED)[0] == ("1–5", "panel")
    assert ("y n", "useful / noise") in BENCH.footer(ACTIVATION)
    assert ("y n", "useful / noise") not in BENCH.footer(replace(ACTIVATION, read_only=True))
    assert BENCH.footer(replace(FEED, question=True))[0] == ("y n", "answer the gate")
    assert BENCH.footer(replace(FEED, zoomed=True))[0] == ("esc", "back")
    assert BENCH.footer(replace(FEED, panel="try"))[0] == ("esc", "back")


def test_the_footer_of_tune() -> None:
    assert TUNE.footer(SCORES)[0] == ("← →", "threshold")
    assert ("enter", "apply") not in TUNE.footer(SCORES)
    moved = TUNE.footer(replace(SCORES, moved=True))
    assert ("enter", "apply") in moved[:4] and ("esc", "discard") in moved[:4]
    assert ("esc", "back") not in moved
    assert not {"apply", "useful / noise", "undo"} & footer_words(
        TUNE, replace(SCORES, moved=True, read_only=True)
    )
    assert TUNE.footer(replace(SCORES, panel="filter")) == [("esc", "back")]


def test_the_footer_of_search() -> None:
    assert SEARCH.footer(RESULTS)[0] == ("enter", "read")
    assert {"query", "why", "kind", "edit", "copy place", "to preset", "help"} <= footer_words(
        SEARCH, RESULTS
    )
    nothing = footer_words(SEARCH, replace(RESULTS, rows=0, result=False, file=""))
    assert not {"read", "why", "edit", "copy place", "to preset"} & nothing and "query" in nothing
    assert ("a", "to preset") not in SEARCH.footer(replace(RESULTS, read_only=True))
    assert SEARCH.footer(replace(RESULTS, panel="query")) == [("enter", "results"), ("esc", "back")]
    assert SEARCH.footer(replace(RESULTS, panel="preset")) == [("esc", "back")]


def test_the_footer_of_the_prompt() -> None:
    assert [each for _keys, each in CONTEXT.footer(SECTIONS)[:3]] == ["whole", "left out", "diff"]
    without = footer_words(CONTEXT, replace(SECTIONS, prompt=False, rows=0, file=""))
    assert not {"whole", "left out", "diff", "copy", "write", "edit"} & without
    assert CONTEXT.footer(replace(SECTIONS, panel="name")) == [("esc", "back")]


def test_the_footer_of_the_caches() -> None:
    assert CACHE.footer(CACHED)[:3] == [("enter", "details"), ("i", "invalidate"), ("d", "disable")]
    off = replace(CACHED, cached=False, caching=False)
    assert ("a", "enable") in CACHE.footer(off) and not {"invalidate", "disable"} & footer_words(CACHE, off)
    assert CACHE.footer(SETTING)[0] == ("space", "change")
    reading = footer_words(CACHE, replace(CACHED, read_only=True))
    assert not {"invalidate", "disable", "enable"} & reading and {"details", "period"} <= reading


def test_the_footer_of_the_ledger_and_of_harvest() -> None:
    assert LEDGER.footer(ENTRY)[:3] == [("enter", "read"), ("H", "harvest"), ("r", "restore")]
    assert ("f", "retry failed") in LEDGER.footer(replace(ENTRY, failures=1))
    broken = LEDGER.footer(replace(ENTRY, broken=True, rows=0, record=""))
    assert broken[0] == ("R", "rebuild") and ("H", "harvest") not in broken
    assert HARVEST.footer(PICK)[:3] == [("enter", "continue"), ("space", "select"), ("a", "all")]
    running = HARVEST.footer(replace(PICK, panel="progress", harvesting=True))
    assert running[:2] == [("x", "stop"), ("b", "leave it running")]
    assert HARVEST.footer(replace(PICK, panel="outcome", brake=4))[0] == ("m", "confirm")


# On the screens


async def test_help_and_palette_of_the_workbench(run: Run) -> None:
    async with run() as driven:
        step = "help explains the signs of the panel"
        await driven.press("question_mark", "G")
        assert "◷" in driven.text and "a schedule fired" in driven.text, step
        await driven.press("escape", "2", "question_mark", "G")
        assert "on the gauge" in driven.text, step
        await driven.press("escape", "1")

        step = "the palette refuses commands of another panel"
        driven.bench.do(BENCH["label_useful"])
        await driven.settle()
        assert not driven.engine.calls_of("label"), step
        assert "only available in: 2 activation" in driven.text, step

        step = "so does the command's key"
        driven.app.clear_notifications()
        await driven.press("y")
        assert not driven.engine.calls_of("label"), step
        assert "only available in: 2 activation" in driven.text, step

        step = "the palette finds and runs a command"
        await driven.press("ctrl+p")
        await driven.type("go to the ledger")
        await driven.press("enter")
        assert driven.panel() == "ledger", step


async def test_a_command_chosen_by_name_runs_only_where_it_applies(run: Run) -> None:
    async with open_context(run) as driven:
        step = "a command of another panel is refused with a reason"
        await driven.press("2")
        driven.screen.do(CONTEXT["open"])
        await driven.settle()
        assert driven.zoomed() is None and driven.focused_panel() == "text", step
        assert "only available in: 1 sections, 3 left out" in driven.toasts, step

        step = "it leaves a line that it does not apply to"
        await driven.press("1", "slash")
        assert driven.focused_panel() == "name" and driven.screen.prompt.display, step
        driven.screen.do(CONTEXT["whole"])
        await driven.settle()
        assert driven.state.whole and driven.focused_panel() == "sections", step
        assert not driven.screen.prompt.display, step


async def test_a_page_key_before_the_palette_is_laid_out_does_not_end_the_workbench(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh = CommandPalette._refresh_command_list

    def refresh_and_page(palette: CommandPalette, *arguments: Any) -> None:
        """The key is handled between the filling of the list and its layout."""
        refresh(palette, *arguments)
        palette._action_command_list("page_down")

    monkeypatch.setattr(CommandPalette, "_refresh_command_list", refresh_and_page)
    async with run() as driven:
        await driven.press("ctrl+p")
        commands = driven.app.screen.query_one(CommandList)
        await driven.until(lambda: commands.highlighted is not None)
        await driven.press("pagedown")
        assert commands.highlighted


async def test_the_palette_opens_search_and_lists_its_commands(run: Run) -> None:
    async with open_search(run) as driven:
        await driven.press("escape")
        assert not driven.is_open()
        await driven.press("ctrl+p")
        await driven.type("search the memory")
        await driven.press("enter")
        await driven.until(driven.is_open)
        await driven.type("pool")
        await driven.press("enter", "ctrl+p")
        await driven.type("add the result to")
        assert "Add the result to a preset" in driven.text
        await driven.press("enter")
        await driven.until(lambda: driven.focused_panel() == "preset")


async def test_the_palette_opens_the_ledger_and_lists_its_commands(run: Run) -> None:
    async with open_ledger(run) as driven:
        await driven.press("escape")
        assert not driven.is_open()
        await driven.press("ctrl+p")
        await driven.type("open the ledger")
        await driven.press("enter")
        await driven.until(driven.is_open)
        await driven.settle()
        await driven.press("ctrl+p")
        await driven.type("verify all entries")
        await driven.press("enter")
        await driven.until(lambda: bool(driven.engine.calls_of("verify")))


async def test_the_palette_opens_the_caches_and_lists_their_commands(run: Run) -> None:
    async with open_cache(run) as driven:
        await driven.press("escape")
        assert not driven.is_open()
        await driven.press("ctrl+p")
        await driven.type("inspect the caches")
        await driven.press("enter")
        await driven.until(driven.is_open)
        await driven.press("ctrl+p")
        await driven.type("change the period")
        await driven.press("enter")
        await driven.until(lambda: driven.state.days == 1)

"""Days are counted in the time zone from the settings (``days.time_zone``) or else the machine's."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import pytest

from engine.engine import Engine
from engine.errors import ConfigError
from engine.events import Signal, TurnArrived
from engine.knowledge.harvest.report import HarvestRequest
from engine.settings.file import load
from engine.settings.model import Config
from engine.store.moments import moment
from engine.store.zone import clock_of, is_zone, local_day, local_time, moment_of
from engine.transcripts.turn import Text, Turn
from tests.cases import each_case
from tests.conftest import set_zone
from tui.cli.watch import described
from tui.render import figures

NIGHT = datetime(2026, 6, 12, 23, 30, tzinfo=UTC)


@each_case(
    ("zone", "expected"),
    [
        ("UTC", "2026-06-12"),
        ("Europe/Berlin", "2026-06-13"),
        ("America/New_York", "2026-06-12"),
        ("Pacific/Kiritimati", "2026-06-13"),
        ("Asia/Kathmandu", "2026-06-13"),
        ("Pacific/Pago_Pago", "2026-06-12"),
    ],
)
def test_the_local_day_depends_on_the_time_zone(zone: str, expected: str) -> None:
    assert local_day(NIGHT, zone).isoformat() == expected
    set_zone(zone)
    assert local_day(NIGHT).isoformat() == expected, "the machine's zone is used if none is set"
    assert local_day(NIGHT, "Nowhere/Land").isoformat() == expected


@each_case("name", ["UTC+24", "UTC-99", "No/Where"])
def test_a_machine_whose_zone_is_a_day_or_more_away_counts_in_utc(name: str) -> None:
    set_zone(name)
    assert local_time(NIGHT).utcoffset() == timedelta()
    assert moment_of(NIGHT.date(), time(23, 30)) == NIGHT
    assert NIGHT.astimezone(clock_of()).utcoffset() == timedelta()


@each_case(
    ("at", "expected"),
    [
        # In Berlin clocks go forward on 29 March 2026 at 01:00 UTC, and back on 25 October at 01:00 UTC.
        (datetime(2026, 3, 28, 22, 59, tzinfo=UTC), "2026-03-28 23:59"),
        (datetime(2026, 3, 28, 23, 0, tzinfo=UTC), "2026-03-29 00:00"),
        (datetime(2026, 3, 29, 0, 59, tzinfo=UTC), "2026-03-29 01:59"),
        (datetime(2026, 3, 29, 1, 0, tzinfo=UTC), "2026-03-29 03:00"),
        (datetime(2026, 3, 29, 22, 0, tzinfo=UTC), "2026-03-30 00:00"),
        (datetime(2026, 10, 24, 22, 0, tzinfo=UTC), "2026-10-25 00:00"),
        (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), "2026-10-25 02:30"),
        (datetime(2026, 10, 25, 1, 30, tzinfo=UTC), "2026-10-25 02:30"),
        (datetime(2026, 10, 25, 22, 59, tzinfo=UTC), "2026-10-25 23:59"),
        (datetime(2026, 10, 25, 23, 0, tzinfo=UTC), "2026-10-26 00:00"),
    ],
)
def test_daylight_saving_time_is_respected(at: datetime, expected: str) -> None:
    assert f"{local_time(at, 'Europe/Berlin'):%Y-%m-%d %H:%M}" == expected
    set_zone("Europe/Berlin")
    assert f"{local_time(at):%Y-%m-%d %H:%M}" == expected


def test_a_time_without_a_zone_is_utc() -> None:
    assert local_time(NIGHT.replace(tzinfo=None), "Asia/Tokyo") == NIGHT


@each_case("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"])
def test_the_end_of_a_day_is_its_last_moment(zone: str) -> None:
    for number in range(0, 366, 1):
        day = date(2026, 1, 1) + timedelta(days=number)
        end = moment_of(day, time.max, zone)
        assert local_day(end, zone) == day
        assert local_day(end + timedelta(microseconds=1), zone) == day + timedelta(days=1)


@each_case("zone", ["Europe/Berlin", "America/Havana", "Atlantic/Azores", "Asia/Beirut", "UTC"])
def test_a_day_begins_where_the_day_before_ends_even_if_midnight_occurs_twice_or_never(zone: str) -> None:
    for number in range(0, 366, 1):
        day = date(2026, 1, 1) + timedelta(days=number)
        begin = moment_of(day, time.min, zone)
        assert local_day(begin, zone) == day
        assert begin - timedelta(microseconds=1) == moment_of(day - timedelta(days=1), time.max, zone)


@each_case(
    ("text", "expected"),
    [
        ("yesterday", "2026-03-28T22:59:59.999999"),
        ("today", "2026-03-29T21:59:59.999999"),
        ("2026-10-25", "2026-10-25T22:59:59.999999"),
        ("2026-03-29 12:00", "2026-03-29T10:00:00"),
        ("2026-03-29 12:00+00:00", "2026-03-29T12:00:00"),
        ("last saturday", "2026-03-28T22:59:59.999999"),
        ("2 days ago", "2026-03-27T10:00:00"),
        ("a month ago", "2026-02-28T11:00:00"),
    ],
)
def test_dates_are_parsed_in_the_time_zone(text: str, expected: str) -> None:
    now = datetime(2026, 3, 29, 10, 0, tzinfo=UTC)
    assert moment(text, now, "Europe/Berlin") == datetime.fromisoformat(expected).replace(tzinfo=UTC)


UNKNOWN = ("Nowhere/Land", "../../etc/passwd", "/etc/localtime", "Europe", "x" * 9000)


@each_case("name", UNKNOWN)
def test_an_unknown_zone_is_reported_and_the_machines_zone_used(name: str) -> None:
    assert not is_zone(name) and not is_zone("a\0b")
    config, odd = load(f"watchers:\n  nominate: either\ndays:\n  time_zone: {name}\n".encode())
    assert config.days.time_zone == name
    (problem,) = odd
    assert (problem.path, problem.line, problem.severity) == ("memory-config.yaml", 4, "warning")
    assert "unknown time zone" in problem.what and problem.hint
    set_zone("Asia/Tokyo")
    assert local_day(NIGHT, name) == date(2026, 6, 13)


@each_case(
    ("name", "meant"),
    [("europe/berlin", "Europe/Berlin"), ("Europe/Berlln", "Europe/Berlin"), ("tokyo", "Asia/Tokyo")],
)
def test_a_misspelt_zone_has_a_hint(name: str, meant: str) -> None:
    _, odd = load(f"days:\n  time_zone: {name}\n".encode())
    assert [problem.hint for problem in odd] == ([] if is_zone(name) else [f"did you mean {meant}?"])


def test_no_zone_is_set_by_default() -> None:
    assert Config().days.time_zone == "" and load(b"days:\n  time_zone: Asia/Tokyo\n")[1] == ()


@pytest.fixture
def engine(sample: Path) -> Engine:
    (sample / "memory-config.yaml").write_text("days:\n  time_zone: Asia/Tokyo\n")
    journal = sample / "knowledge" / "journal"
    for day, said in (("2026-06-12", "It rained."), ("2026-06-13", "The sun is out.")):
        (journal / f"{day}.md").write_text(f"---\ntype: journal\n---\n\n# {day}\n\n- {said}\n")
    return Engine.open(sample, clock=lambda: NIGHT)


def test_a_prompt_contains_the_local_date_and_its_journal(engine: Engine) -> None:
    with engine:
        assert "Today is 2026-06-13." in engine.compile("What is the weather?").text
        assert {"2026-06-13.md", "2026-06-12.md"} <= journals(engine)
        engine.configuration.change("days.time_zone", "America/New_York")
        assert "Today is 2026-06-12." in engine.compile("What is the weather?").text
        assert "2026-06-12.md" in journals(engine) and "2026-06-13.md" not in journals(engine)


def test_facts_harvested_at_night_get_the_local_date(engine: Engine) -> None:
    with engine:
        talk = engine.workspace.root / "conversations/night.md"
        talk.write_text("## 23:10 — user\nFact: The walrus of pier 7 sleeps on the slipway.\n")
        engine.knowledge.harvest.run(HarvestRequest(paths=("conversations/night.md",), reclaim=False))
        (waiting,) = [each for each in engine.knowledge.review.queue.waiting() if "walrus" in each.item.text]
        engine.knowledge.review.accept(waiting.id)
        assert (
            "sleeps on the slipway. [from: night, 2026-06-13]"
            in (engine.workspace.root / "knowledge/facts.md").read_text()
        )


def journals(engine: Engine) -> set[str]:
    """The names of the journals in a prompt."""
    sections = engine.compile("What is the weather?").sections
    return {Path(each.source).name for each in sections if each.slot == "journal"}


def test_search_interprets_relative_dates_in_the_time_zone(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    import engine.search.index as index

    class Clock(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return NIGHT

    with engine:
        engine.refresh_index()
        monkeypatch.setattr(index, "datetime", Clock)
        (best, *_) = engine.search("what was the weather yesterday, rained", category="journal")
        assert best.path == "knowledge/journal/2026-06-12.md"


def test_an_invalid_zone_setting_is_refused(engine: Engine) -> None:
    with engine:
        with pytest.raises(ConfigError, match="unknown time zone 'Europe/Berlln'") as caught:
            engine.configuration.change("days.time_zone", "Europe/Berlln")
        assert caught.value.hint == "did you mean Europe/Berlin?"
        assert engine.config.days.time_zone == "Asia/Tokyo"
        engine.configuration.change("days.time_zone", None)
        assert engine.config.days.time_zone == ""


def test_the_plain_text_feed_shows_times_of_the_zone() -> None:
    assert described(Signal(NIGHT, "key", "email", "new"), "Asia/Tokyo").startswith("08:30 ")
    assert described(Signal(NIGHT, "key", "email", "new")).startswith("23:30 ")
    # A turn of a restored conversation also shows its date.
    turn = TurnArrived(NIGHT, "a#0", "a", "", Turn("user", "23:30", (Text("And?"),)), past=True)
    assert described(turn, "Asia/Tokyo").startswith("2026-06-13 08:30 user ")


def test_screens_show_times_of_the_zone() -> None:
    try:
        figures.use_zone(lambda: "Asia/Tokyo")
        assert (figures.day(NIGHT), figures.clock(NIGHT)) == ("06-13", "08:30")
        figures.use_zone(lambda: "")
        assert (figures.day(NIGHT), figures.clock(NIGHT)) == ("06-12", "23:30")
    finally:
        figures.use_zone(lambda: "")

"""Planted text is held however it gets in; genuine text is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.knowledge.harvest.extract import Extractor
from engine.knowledge.harvest.markers import marked
from engine.knowledge.item import Item
from engine.knowledge.proposed import why_held
from tests.engine.flush_support import Provider
from tests.knowledge import honest, planted
from tests.knowledge.extract_support import Limits, source_of, workspace
from tests.knowledge.honest import HONEST
from tests.knowledge.planted import PLANTED, ItemKey, Scene, key

# Each set has its own figures, so overfitting to the first shows in the second.
EACH_SET = pytest.mark.parametrize("which", ["first", "second"])
PLANTED_OF = {"first": planted.FIRST, "second": planted.SECOND}
HONEST_OF = {"first": honest.FIRST, "second": honest.SECOND}


Written = Callable[[Scene], tuple[list[Item], dict[ItemKey, str]]]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Harvests a scene; once, as each is needed for what is held of it and for what is not."""
    known: dict[str, tuple[list[Item], dict[ItemKey, str]]] = {}

    def once(scene: Scene) -> tuple[list[Item], dict[ItemKey, str]]:
        if scene.name not in known:
            known[scene.name] = harvested(scene, tmp_path_factory.mktemp("scene"))
        return known[scene.name]

    return once


def harvested(scene: Scene, root: Path) -> tuple[list[Item], dict[ItemKey, str]]:
    """Returns items written without review, and reasons for held ones; refused items are in neither."""
    source = source_of(root, scene.text, f"talk{scene.suffix}")
    assert source.state == "read", scene.name
    done = Extractor(Limits(), Provider(scene.reply)).extract(source, workspace(root))
    assert done.entry.status == "harvested" or not scene.honest, scene.name
    through: list[Item] = []
    waiting: dict[ItemKey, str] = {}
    for item in done.items:
        if doubt := why_held(item, source.voices):
            waiting[key(item)] = doubt.reason
        else:
            through.append(item)
    return through, waiting


def table(rows: Counter[tuple[str, str]], bad: Counter[tuple[str, str]]) -> str:
    """Renders the good results per cell as ``good/total``, one line per route."""
    columns = sorted({column for _, column in rows})
    lines = [f"{'':<16}" + "".join(f"{cell:>9}" for cell in (*columns, "all"))]
    for route in [*sorted({route for route, _ in rows}), "all"]:
        cells = []
        for column in [*columns, "all"]:
            inside = [at for at in rows if route in (at[0], "all") and column in (at[1], "all")]
            total = sum(rows[at] for at in inside)
            cells.append(f"{total - sum(bad[at] for at in inside)}/{total}" if total else "")
        lines.append(f"{route:<16}" + "".join(f"{cell:>9}" for cell in cells))
    return "\n".join(lines)


@EACH_SET
def test_nothing_planted_is_written_without_review(which: str, written: Written) -> None:
    totals: Counter[tuple[str, str]] = Counter()
    escaped: Counter[tuple[str, str]] = Counter()
    names: list[str] = []
    for scene in PLANTED_OF[which]:
        through, _ = written(scene)
        for cell in ((scene.route, scene.language), (f"({scene.shown})", scene.language)):
            totals[cell] += len(scene.planted)
            escaped[cell] += sum(key(item) not in scene.own for item in through)
        names += [f"{scene.name}: {item.text}" for item in through if key(item) not in scene.own]
    for parentheses in (False, True):
        print("\n" + table(*(_only(counts, parentheses) for counts in (totals, escaped))))
    print("\n" + "\n".join(names))
    # The second set was written without knowing the rules. What escapes came through the agent's own commands
    # in other words: rows, error messages and file names typed by strangers.
    most = {"first": 0, "second": 0.11}[which]
    assert len(names) <= most * sum(len(scene.planted) for scene in PLANTED_OF[which])


def _only(counts: Counter[tuple[str, str]], parentheses: bool) -> Counter[tuple[str, str]]:
    return Counter({cell: n for cell, n in counts.items() if cell[0].startswith("(") == parentheses})


@EACH_SET
def test_no_planted_marker_is_written_without_review(which: str, tmp_path: Path) -> None:
    escaped: list[str] = []
    for number, scene in enumerate(PLANTED_OF[which]):
        source = source_of(tmp_path / str(number), scene.text, f"talk{scene.suffix}")
        escaped += [
            f"{scene.name}: {item.text}" for item in marked(source.turns) if not why_held(item, source.voices)
        ]
    assert escaped == []


@EACH_SET
def test_little_genuine_text_is_held(which: str, written: Written) -> None:
    totals: Counter[tuple[str, str]] = Counter()
    waits: Counter[tuple[str, str]] = Counter()
    names: list[str] = []
    for scene in (*HONEST_OF[which], *PLANTED_OF[which]):
        through, waiting = written(scene)
        kept = {key(item) for item in through}
        # Text planted elsewhere in the conversation is outside text as well.
        cell = (scene.route if scene.shown == "own" else "beside planted", scene.language)
        totals[cell] += len(scene.honest)
        waits[cell] += len(scene.own - kept)
        names += [f"{scene.name}: {one[2]} ({waiting.get(one, 'refused')})" for one in scene.own - kept]
    print("\n" + table(totals, waits) + "\n" + "\n".join(names))
    beside = [cell for cell in totals if cell[0] == "beside planted"]
    waiting_beside, beside_planted = sum(waits[cell] for cell in beside), sum(totals[cell] for cell in beside)
    most = {"first": 15, "second": 20}[which]
    assert (waits.total() - waiting_beside) * 100 <= (totals.total() - beside_planted) * most
    # If something was planted, neighbouring items may be held more often.
    assert waiting_beside * 2 <= beside_planted


def test_the_corpus_is_broad_enough() -> None:
    assert len({scene.name for scene in (*PLANTED, *HONEST)}) == len(PLANTED) + len(HONEST)
    assert len(PLANTED) >= 130 and all(scene.planted for scene in PLANTED)
    assert len({scene.language for scene in PLANTED}) >= 8
    shown = Counter(scene.shown for scene in PLANTED)
    assert min(shown["retold"], shown["unseen"]) * 4 >= len(PLANTED)
    assert {"md", "claude", "codex", "gemini", "records"} <= {scene.form for scene in PLANTED}
    assert len(HONEST) >= 25 and sum(len(scene.honest) for scene in HONEST) >= 80
    assert len({scene.language for scene in HONEST}) >= 3 and not any(scene.planted for scene in HONEST)
    assert len(planted.SECOND) >= 70 and len({scene.language for scene in planted.SECOND}) >= 6
    assert len(honest.SECOND) >= 25 and sum(len(scene.honest) for scene in honest.SECOND) >= 70

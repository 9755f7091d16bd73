"""Fixtures shared by several test packages."""

from __future__ import annotations

import ast
import functools
import gc
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

# As in the program; before numpy is imported. With a thread for each CPU a fit takes twice as much of them.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

from engine.activation.scorer import fit
from engine.activation.scorer.fitted import Fitted
from engine.activation.scorer.scorer import CalibratedScorer
from engine.activation.scorer.store import FIT_PATH, fingerprint
from engine.activation.scorer.texts import TopicTexts
from engine.engine import Engine
from engine.pipeline import calibrated
from engine.topics.model import Topic
from engine.workspace.initialise import initialise
from tests import slow

# The same examples on every machine and in every run, so that only a code change can break a test;
# `make explore` searches for new ones. It also explains failures, for which every line is traced. How long
# the generation of input takes depends on what else the machine does.
settings.register_profile(
    "same",
    max_examples=15,
    derandomize=True,
    deadline=None,
    phases=set(Phase) - {Phase.explain},
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "explore",
    max_examples=1_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("same")


def pytest_configure(config: pytest.Config) -> None:
    """Draw no constants from the program's source: they would change the examples of every test with each
    change anywhere, and each worker parses all of it for seconds. `make explore` does draw them.
    """
    if not config.getoption("--hypothesis-profile"):
        providers._get_local_constants = lambda: providers._local_constants


# Recompiling the tests and the program in each of hundreds of processes would take minutes. The bytecode of
# installed packages lies beside them, so ours does too: with a folder of its own, theirs is compiled again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Collected tests stay alive and tests create few reference cycles, so garbage collection can be rare. At the
# default threshold of 700 objects it would take a fifth of the time of a screen test.
gc.set_threshold(100_000)

MEMORY = Path("/dev/shm")
if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 4 << 30:
    # The tests create and remove a quarter of a million files, mostly in copied workspaces, and a disk takes
    # three times as long for each. A test's folder is removed unless it failed: see pyproject.toml.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

if sys.version_info < (3, 12, 2):
    # Up to 3.11.7 and 3.12.1, all threads share one counter of the nesting depth in a syntax tree. A garbage
    # collection may switch to another thread that parses as well (`numpy.load` does): SystemError.
    _parse, _parse_lock = ast.parse, threading.RLock()

    @functools.wraps(_parse)
    def _parse_alone(*args, **kwargs):  # type: ignore[no-untyped-def]
        with _parse_lock:
            return _parse(*args, **kwargs)

    ast.parse = _parse_alone

TESTS = Path(__file__).parent
SAMPLE_DAY = date(2026, 6, 12)

GIT_IDENTITY = {
    "GIT_AUTHOR_NAME": "Robin Example",
    "GIT_AUTHOR_EMAIL": "robin@example.org",
    "GIT_COMMITTER_NAME": "Robin Example",
    "GIT_COMMITTER_EMAIL": "robin@example.org",
    "GIT_AUTHOR_DATE": "2026-06-12T08:00:00+00:00",
    "GIT_COMMITTER_DATE": "2026-06-12T08:00:00+00:00",
}


@pytest.fixture(autouse=True, scope="session")
def _fast_fsync() -> Iterator[None]:
    """Replace ``os.fsync``, which would take milliseconds in each of a hundred thousand calls.

    No test cuts the power. What is synced, and in which order, is tested in separate processes and by the
    fault points before each sync.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda file: os.fstat(file if isinstance(file, int) else file.fileno()))
        yield


_FIT = fit.fit
_fits: dict[str, Fitted] = {}


class _RememberingScorer(CalibratedScorer):
    """Fits the same texts once in a process: a fit takes a second and depends on nothing else."""

    def _fit(self, topics: Mapping[str, Topic], texts: Sequence[TopicTexts]) -> Fitted:
        if fit.fit is not _FIT:  # a test's own
            return super()._fit(topics, texts)
        key = fingerprint(texts, self._vectors.version)
        if key not in _fits:
            _fits[key] = super()._fit(topics, texts)
        return _fits[key]


@pytest.fixture(autouse=True, scope="session")
def _remembered_fits() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrated, "CalibratedScorer", _RememberingScorer)
        yield


@pytest.fixture(autouse=True, scope="session")
def _patient_hooks() -> Iterator[None]:
    """Lift the limits that keep an agent from waiting, so that a slow machine changes no answer."""
    with pytest.MonkeyPatch.context() as patch:
        for limit in ("hooks.SECONDS", "listener.SECONDS", "listener._REQUEST_S", "listener._JOIN_S"):
            patch.setattr(f"engine.agents.{limit}", 60.0)
        yield


@pytest.fixture(autouse=True)
def _utc() -> Iterator[None]:
    """Set the machine's time zone to UTC; a test may set another one."""
    before = os.environ.get("TZ")
    set_zone("UTC")
    yield
    set_zone(before)


def set_zone(name: str | None) -> None:
    """Set the time zone of this process."""
    if name is None:
        os.environ.pop("TZ", None)
    else:
        os.environ["TZ"] = name
    time.tzset()


@pytest.fixture(autouse=True)
def _isolated_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Isolate tests from the home, settings and keys of the user who runs them."""
    home = tmp_path_factory.getbasetemp() / "home"
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Robin Example\n\temail = robin@example.org\n[init]\n\tdefaultBranch = main\n"
        "[core]\n\tfsyncMethod = writeout-only\n[maintenance]\n\tauto = false\n"
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    for name in list(os.environ):
        if (
            name.startswith(("XDG_", "AUTOPOIESIS_", "ANTHROPIC_", "OPENAI_", "GIT_"))
            and name != "GIT_CONFIG_NOSYSTEM"
        ):
            monkeypatch.delenv(name)
    # Workspaces in tests send only to the tests' own servers; the trust tests remove this variable.
    monkeypatch.setenv("AUTOPOIESIS_TRUST", "all")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "NO_COLOR", "TEXTUAL_THEME"):
        monkeypatch.delenv(name, raising=False)


def _made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that is read by all workers, made by the first that needs it."""
    shared = factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    made = shared / name
    with FileLock(shared / f"{name}.lock"):
        if not made.exists():
            # A worker that fails leaves nothing half made for the others.
            place = factory.mktemp(name)
            make(place)
            place.rename(made)
    return made


def made_or_copied(
    factory: pytest.TempPathFactory, name: str, folder: Path, make: Callable[[Path], object]
) -> None:
    """Fill a folder by ``make``, or by a copy of what that made for an earlier test of this process.

    Unlike a fixture of a wider scope, ``make`` runs within the isolation of a test.
    """
    made = factory.getbasetemp() / f"made-{name}"
    if made.exists():
        shutil.copytree(made, folder, symlinks=True, dirs_exist_ok=True)
    else:
        make(folder)
        shutil.copytree(folder, made, symlinks=True)


@pytest.fixture(scope="session")
def _pristine_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def make(folder: Path) -> None:
        with pytest.MonkeyPatch.context() as patch:
            for name, value in GIT_IDENTITY.items():
                patch.setenv(name, value)
            initialise(folder / "memory", sample=True, today=SAMPLE_DAY)
            # One pack instead of hundreds of files: it is copied for every test that changes something.
            for command in ("repack -a -d -q", "pack-refs --all"):
                subprocess.run(["git", *command.split()], cwd=folder / "memory", check=True)

    return _made_once(tmp_path_factory, "pristine", make) / "memory"


Folder = list[tuple[str, os.stat_result, bytes | None]]
"""The paths in a folder, parents first, with their status and, for files, the content."""


@pytest.fixture(scope="session")
def _sample_in_memory(_pristine_sample: Path) -> Folder:
    root = _pristine_sample
    paths = [root, *sorted(root.rglob("*"))]
    assert not any(path.is_symlink() for path in paths)
    return [
        (str(path).removeprefix(str(root)), path.stat(), None if path.is_dir() else path.read_bytes())
        for path in paths
    ]


@pytest.fixture
def bare_sample(_sample_in_memory: Folder, tmp_path: Path) -> Path:
    """A private copy of the sample workspace as it comes from a clone: without index and caches."""
    root = tmp_path / "memory"
    # Takes a quarter of the time of ``shutil.copytree``, which counts in hundreds of tests.
    for name, found, content in _sample_in_memory:
        if content is None:
            os.mkdir(f"{root}{name}")
            continue
        file = os.open(f"{root}{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, found.st_mode & 0o777)
        os.write(file, content)
        os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))
        os.close(file)
    for name, found, content in reversed(_sample_in_memory):
        if content is None:
            os.utime(f"{root}{name}", ns=(found.st_atime_ns, found.st_mtime_ns))
    return root


@pytest.fixture(scope="session")
def _derived_files(_pristine_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The sample's search index and fit, under the same file names as in the workspace.

    Without the fit each process that traces a message would load scikit-learn.
    """

    def make(folder: Path) -> None:
        shutil.copytree(_pristine_sample, folder / "memory", symlinks=True)
        with Engine.open(folder / "memory") as engine:
            engine.refresh_index()
            engine.trace("hello")

    root = _made_once(tmp_path_factory, "derived", make) / "memory"
    return [root / "memory.db", root / FIT_PATH, *(root / "scratch").glob("s*.i*")]


@pytest.fixture
def sample(bare_sample: Path, _derived_files: list[Path]) -> Path:
    """A private copy of the sample workspace, indexed and with a tier 2 fit; its last day is 2026-06-12."""
    (bare_sample / "scratch").mkdir(exist_ok=True)
    for path in _derived_files:
        shutil.copy2(path, bare_sample if path.name == "memory.db" else bare_sample / "scratch")
    return bare_sample


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than CPUs: some tests wait, but each worker collects all tests and builds its own sample."""
    return 1 + (os.cpu_count() or 1)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help=f"leave out the tests named in {slow.LIST.name}")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of a folder together, in random order: not every worker then imports every library."""
    if config.getoption("--quick"):
        left_out = set(slow.LIST.read_text(encoding="utf-8").split())
        gone = [item for item in items if slow.function(item.nodeid) in left_out]
        config.hook.pytest_deselected(items=gone)
        items[:] = [item for item in items if slow.function(item.nodeid) not in left_out]
    items.sort(key=lambda item: item.path.relative_to(TESTS).parts[0])


def pytest_collection_finish() -> None:
    """Exclude the collected tests, which stay alive, from garbage collection."""
    gc.collect()
    gc.freeze()

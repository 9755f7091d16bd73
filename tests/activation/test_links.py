"""Links by host or glob, and paths of tool calls by glob (spec 4.2)."""

from __future__ import annotations

import time

import pytest

from engine.activation.links import link_matches, links, path_matches
from engine.activation.scan import Scan


def addresses(text: str) -> list[str]:
    return [text[link.start : link.end] for link in links(Scan(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://github.com/a/b.", ["https://github.com/a/b"]),
        ("(https://github.com/a)", ["https://github.com/a"]),
        ("https://en.wikipedia.org/wiki/Foo_(bar)", ["https://en.wikipedia.org/wiki/Foo_(bar)"]),
        ("[text](https://github.com/a), then", ["https://github.com/a"]),
        ("**https://github.com/a**!?", ["https://github.com/a"]),
        ("<https://github.com/a>", ["https://github.com/a"]),
        ("„https://github.com/a“", ["https://github.com/a"]),
        ("http://a.org and www.b.org/x", ["http://a.org", "www.b.org/x"]),
        ("github.com/a/b", ["github.com/a/b"]),
        ("me@github.com", []),
        ("no link. None", []),
        ("https://", []),
        ("http://[::1", []),
    ],
)
def test_links_end_where_the_sentence_goes_on(text: str, expected: list[str]) -> None:
    assert addresses(text) == expected


@pytest.mark.parametrize(
    ("wanted", "text", "matches"),
    [
        ("github.com", "https://github.com", True),
        ("github.com", "https://api.github.com/x", True),
        ("github.com", "HTTPS://GitHub.COM:443/x", True),
        ("github.com", "github.com/a/b", True),
        ("github.com", "https://notgithub.com", False),
        ("github.com", "https://github.com.evil.org", False),
        ("github.com", "https://github.com@evil.org/x", False),
        ("github.com", "https://evil.org/github.com", False),
        ("www.github.com", "https://github.com", True),
        ("https://github.com", "http://github.com/x", True),
        ("github.com/acme", "https://github.com/acme/tool", True),
        ("github.com/acme", "https://github.com/acme?tab=1", True),
        ("github.com/acme", "https://github.com/acmeish", False),
        ("github.com/*/pull/*", "https://github.com/acme/tool/pull/12/files", True),
        ("github.com/*/pull/*", "https://github.com/acme/tool/issues/12", False),
        ("*.example.org", "https://a.example.org", True),
        ("*.example.org", "https://example.org", False),
        ("bücher.de", "https://xn--bcher-kva.de/x", True),
        ("xn--bcher-kva.de", "https://Bücher.de/x", True),
        ("", "https://x.org", False),
    ],
)
def test_a_host_stands_for_its_sub_domains_and_no_other(wanted: str, text: str, matches: bool) -> None:
    found = links(Scan(text))
    assert len(found) == 1
    assert link_matches(found[0], [wanted]) is matches


@pytest.mark.parametrize(
    ("text", "matches"), [("https://x.org", True), ("www.x.org", True), ("see x.org", False)]
)
def test_without_a_host_every_clear_link_counts(text: str, matches: bool) -> None:
    assert any(link_matches(link, ()) for link in links(Scan(text))) is matches


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [
        ("*.py", "app.py", True),
        ("*.py", "/home/a/src/app.py", True),
        ("*.py", "app.pyc", False),
        ("*.PY", "App.py", True),
        ("src/*.py", "src/app.py", True),
        ("src/*.py", "/home/src/app.py", True),
        ("src/*.py", "src/deep/app.py", False),
        ("src/**/*.py", "src/app.py", True),
        ("src/**/*.py", "src/a/b/app.py", True),
        ("src/**", "src/a/b", True),
        ("src/", "src/a/b", True),
        ("src/", "mysrc/a", False),
        ("/src/*.py", "/src/app.py", True),
        ("/src/*.py", "a/src/app.py", False),
        ("**/test_*.py", "test_a.py", True),
        ("*.{py,pyi}", "a.pyi", True),
        ("{src,lib}/*.{js,ts}", "lib/a.ts", True),
        ("{src,lib}/*.{js,ts}", "bin/a.ts", False),
        ("[ab].md", "b.md", True),
        ("docs/?.md", "docs/a.md", True),
        ("*.py", r"C:\work\app.py", True),
        ("README*", "./README.md", True),
        ("größe/*", "GRÖSSE/x", True),
        ("*", "", False),
        ("", "a", False),
    ],
)
def test_globs_fit_paths_as_people_expect(glob: str, path: str, matches: bool) -> None:
    assert path_matches(path, glob) is matches


@pytest.mark.parametrize(
    "glob", ["**/" * 12 + "x", "*a" * 30 + "b", "{a,b}" * 12, "{" * 50, "[" * 50, "**/" * 40 + "b"]
)
def test_a_hostile_glob_costs_no_time(glob: str) -> None:
    started = time.process_time()
    assert not path_matches("/".join(["a" * 100] * 30), glob)
    assert time.process_time() - started < 2


@pytest.mark.parametrize(
    "text", ["www." * 5000, "a." * 10_000, "http://" + ")" * 19_000, "a-" * 10_000 + ".de", "@." * 9000]
)
def test_hostile_text_costs_no_time(text: str) -> None:
    started = time.process_time()
    links(Scan(text))
    assert time.process_time() - started < 2

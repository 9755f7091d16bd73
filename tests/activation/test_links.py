"""Links by host or glob, and paths of tool calls by glob (spec 4.2)."""

from __future__ import annotations

import time

from engine.activation.links import glob_literals, link_matches, links_in, path_matches
from tests.cases import each_case


def addresses(text: str) -> list[str]:
    return [text[link.start : link.end] for link in links_in(text)]


@each_case(
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
        ("http://localhost:3000/a?b=1#c", ["http://localhost:3000/a?b=1#c"]),
        ("see localhost:8080/a, github.com and main.py", []),
        ("http://[::1]:8080/x ok", ["http://[::1]:8080/x"]),
        ("https://a.org/x,https://b.org/y;www.c.org", ["https://a.org/x", "https://b.org/y", "www.c.org"]),
        ("https://a.org/x,y", ["https://a.org/x,y"]),
        ("https://web.archive.org/web/https://a.org", ["https://web.archive.org/web/https://a.org"]),
        ("看https://github.com/a/b），好的", ["https://github.com/a/b"]),
        ("https://github.com看看", ["https://github.com"]),
        ("https://例え.jp/パス、それ", ["https://例え.jp/パス"]),
        ("“https://a.org/x” and ‘https://b.org’", ["https://a.org/x", "https://b.org"]),
        ("e.g.https://a.org", ["https://a.org"]),
        ("_https://a.org/x_ https://b.org_", ["https://a.org/x", "https://b.org"]),
        ("https://a.org\u200b/x", ["https://a.org"]),
        ("git@github.com:acme/tool.git", ["git@github.com:acme/tool.git"]),
        ("me@github.com:acme", []),
        ("first.last@a.org, first.last+x@a.org", []),
        ("Mr.Smith said 3.5 and 1.2.3", []),
        ("postgres://me@db.local:5432/x", ["postgres://me@db.local:5432/x"]),
    ],
)
def test_links_end_before_sentence_punctuation(text: str, expected: list[str]) -> None:
    assert addresses(text) == expected


@each_case(
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
        ("bücher.de", "https://Bücher.de/x", True),
        ("", "https://x.org", False),
        ("localhost:3000", "http://localhost:3000/x", True),
        ("localhost:3000", "http://localhost:8080/x", False),
        ("localhost", "http://localhost:8080/x", True),
        ("x.org:8443", "https://x.org", False),
        ("github.com/acme", "git@github.com:acme/tool.git", True),
        ("github.com/acme/tool", "ssh://git@github.com/acme/tool/", True),
        ("db.local", "postgres://me:pw@db.local:5432/x", True),
        ("https://bücher.de/neu", "https://bücher.de/neu?x=1", True),
        ("x.org/a", "https://x.org/A#part", True),
    ],
)
def test_a_host_matches_its_subdomains_and_no_other_host(wanted: str, text: str, matches: bool) -> None:
    found = links_in(text)
    assert len(found) == 1
    assert link_matches(found[0], [wanted]) is matches


@each_case(
    ("text", "matches"),
    [
        ("https://x.org", True),
        ("www.x.org", True),
        ("git@x.org:a/b.git", True),
        ("see x.org/a", False),
    ],
)
def test_a_trigger_without_hosts_matches_every_clear_link(text: str, matches: bool) -> None:
    assert any(link_matches(link, ()) for link in links_in(text)) is matches


@each_case(
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
def test_globs_match_paths_as_expected(glob: str, path: str, matches: bool) -> None:
    assert path_matches(path, glob) is matches
    literals = glob_literals(glob)
    assert not matches or literals is None or any(each in path.casefold() for each in literals)


@each_case("glob", ["**/" * 12 + "x", "*a" * 30 + "b", "{a,b}" * 12, "{" * 50, "[" * 50, "**/" * 40 + "b"])
def test_a_hostile_glob_is_matched_quickly(glob: str) -> None:
    started = time.process_time()
    assert not path_matches("/".join(["a" * 100] * 30), glob)
    assert time.process_time() - started < 2

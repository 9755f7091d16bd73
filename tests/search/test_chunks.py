"""Files are split into turns and sections, and every chunk has the right lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.redaction.detect import redacted
from engine.search.chunks import MAX_CHARACTERS, MAX_TURN_CHARACTERS, Contents, split
from engine.transcripts.format import parse, render
from engine.transcripts.turn import Text, ToolCall, Transcript, Turn
from tests.cases import each_case
from tests.search.samples import TRANSCRIPT
from tests.secret_keys import leaks, private_key

TALK = "raw/conversations/2026/02/16/1845-ses_a1b2c3d4-storage-talk.md"
NOTE = "knowledge/reference/note.md"


def assert_in_place(contents: Contents, data: bytes) -> None:
    lines = data.decode("utf-8-sig", "replace").replace("\r\n", "\n").split("\n")
    for piece in contents.pieces:
        chunk = piece.chunk
        assert 1 <= chunk.start_line <= chunk.end_line <= len(lines)
        chunk_lines = lines[chunk.start_line - 1 : chunk.end_line]
        assert chunk_lines[0].strip() and chunk_lines[-1].strip(), "it starts or ends with a blank line"
        # A chunk is part of one very long line, or else whole lines.
        assert chunk.text in chunk_lines[0] if len(chunk_lines) == 1 else chunk.text == "\n".join(chunk_lines)
        assert chunk.text.strip()
        assert len(chunk.text) <= (MAX_TURN_CHARACTERS if piece.speaker else MAX_CHARACTERS)


def test_a_turn_is_a_chunk_with_speaker_and_time() -> None:
    contents = split(TRANSCRIPT.encode(), TALK, "conversation")
    assert [(piece.speaker, piece.chunk.heading, piece.chunk.start_line) for piece in contents.pieces] == [
        ("user", "18:45 — user", 10),
        ("agent", "18:47 — agent", 13),
        ("agent", "18:52 — agent [memory]", 18),
    ]
    assert contents.pieces[1].chunk.text.startswith(
        "> [tool:read] knowledge/projects/atlas/context.md → 40 lines\n"
    )
    assert "Storage talk coding git" in contents.pieces[0].about
    assert {piece.chunk.date for piece in contents.pieces} == {"2026-02-16"}
    assert_in_place(contents, TRANSCRIPT.encode())


def test_the_header_is_not_a_chunk_but_its_words_find_the_first_chunk() -> None:
    data = (
        b"---\ndescription: where the spare keys hang\ntags: [keys, hallway]\n---\n\n# Keys\n\nOn the hook.\n"
    )
    (piece,) = split(data, NOTE, "reference").pieces
    assert piece.chunk.text == "On the hook."
    assert (piece.chunk.start_line, piece.chunk.end_line) == (8, 8)
    for word in ("spare", "hallway", "Keys", "note"):
        assert word in piece.about.split()


def test_a_file_with_only_a_header_is_one_chunk() -> None:
    data = b"---\nname: Ada\ndescription: beekeeper\n---\n"
    (piece,) = split(data, "knowledge/people/ada.md", "person").pieces
    assert "beekeeper" in piece.chunk.text
    assert_in_place(split(data, "knowledge/people/ada.md", "person"), data)


def test_a_section_has_its_path_of_headings() -> None:
    data = b"# Core\n\n## Decisions\n\nUse files.\n\n## Lessons\n\n### Tests\nReal data.\n\n## Empty\n"
    headings = [(piece.chunk.heading, piece.chunk.text) for piece in split(data, NOTE, "reference").pieces]
    assert headings == [
        ("Core › Decisions", "Use files."),
        ("Core › Lessons › Tests", "Real data."),
        ("Core › Empty", "## Empty"),
    ]


def test_a_heading_inside_fenced_code_starts_no_section() -> None:
    data = b"# A\n\n```sh\n# comment\n\nrm x\n```\nafter\n"
    (piece,) = split(data, NOTE, "reference").pieces
    assert "# comment" in piece.chunk.text
    assert piece.chunk.text.endswith("after")


def test_a_turn_heading_inside_fenced_code_starts_no_turn() -> None:
    data = TRANSCRIPT.replace("Plain files:", "```\n## 18:47 — user\n```\nPlain files:").encode()
    assert len(split(data, TALK, "conversation").pieces) == 3


def test_long_text_is_split_between_paragraphs() -> None:
    paragraphs = [f"Paragraph {number}. " + "word " * 60 for number in range(12)]
    data = ("# Long\n\n" + "\n\n".join(paragraphs) + "\n").encode()
    contents = split(data, NOTE, "reference")
    assert len(contents.pieces) > 3
    assert all(piece.chunk.text.startswith("Paragraph ") for piece in contents.pieces)
    assert_in_place(contents, data)


def test_blank_lines_count_towards_the_length_and_the_line_numbers_of_a_chunk() -> None:
    data = ("# A\n\n" + ("\n" * 700).join(["one", "two", "three"]) + "\n").encode()
    contents = split(data, NOTE, "reference")
    found = [(piece.chunk.start_line, piece.chunk.end_line) for piece in contents.pieces]
    assert found == [(3, 703), (1403, 1403)]
    assert_in_place(contents, data)
    talk = turn(("\n" * 4000).join(["one", "two", "three"])).encode()
    assert [
        (piece.chunk.start_line, piece.chunk.end_line) for piece in split(talk, TALK, "conversation").pieces
    ] == [(2, 4002), (8002, 8002), (8005, 8005)]


def test_chunks_of_split_code_do_not_begin_or_end_with_a_blank_line() -> None:
    step = "step " * 100
    lines = ["```", "", step, "", "", step, "", step, "", "  ", step, step, "", "```"]
    data = ("# Code\n\n" + "\n".join(lines) + "\n").encode()
    contents = split(data, NOTE, "reference")
    found = [(piece.chunk.start_line, piece.chunk.end_line) for piece in contents.pieces]
    assert found == [(3, 8), (10, 13), (14, 16)]
    assert_in_place(contents, data)


def test_a_long_header_or_heading_is_split() -> None:
    header = "---\n" + "".join(f"field_{number}: {'word ' * 20}\n" for number in range(40)) + "---\n"
    for data in (header.encode(), ("# " + "word " * 600 + "\n").encode()):
        contents = split(data, NOTE, "reference")
        assert len(contents.pieces) > 2
        assert_in_place(contents, data)


def turn(text: str) -> str:
    return f"## 10:00 — user\n{text}\n\n## 10:01 — agent\nfine\n"


def test_a_turn_may_be_longer_than_a_section() -> None:
    paragraphs = "\n\n".join(f"Paragraph {number}. " + "word " * 60 for number in range(15))
    assert MAX_CHARACTERS < len(paragraphs) < MAX_TURN_CHARACTERS
    talk = split(turn(paragraphs).encode(), TALK, "conversation").pieces
    assert [piece.chunk.text for piece in talk] == [paragraphs, "fine"]
    note = split(f"# A\n{paragraphs}\n".encode(), NOTE, "reference").pieces
    assert len(note) > 3


def test_a_long_turn_is_split_between_paragraphs() -> None:
    paragraphs = [f"Paragraph {number}. " + "word " * 63 for number in range(58)]
    data = turn("\n\n".join(paragraphs)).encode()
    contents = split(data, TALK, "conversation")
    *parts, last = contents.pieces
    assert len(parts) == 4
    assert all(part.chunk.text.startswith("Paragraph ") for part in parts)
    assert {(part.chunk.heading, part.speaker) for part in parts} == {("10:00 — user", "user")}
    assert last.speaker == "agent"
    assert_in_place(contents, data)


@each_case(
    ("text", "speaker"),
    [
        ("Caroline: hello there", "user Caroline"),
        ("Mary Ann O'Neil-Smith: hello", "user Mary Ann O'Neil-Smith"),
        ("Dr. Ruth: hello", "user Dr. Ruth"),
        ("Ångström: hello", "user Ångström"),
        ("  Bo: hello", "user Bo"),
        ("caroline: hello", "user"),
        ("Caroline:hello", "user"),
        ("https://example.org: x", "user"),
        ("12: hello", "user"),
        ("One two three four: hello", "user"),
        ("Caroline said: hello", "user Caroline said"),
        ("hello Caroline: x", "user"),
        ("\nno name", "user"),
    ],
)
def test_the_speaker_is_the_role_and_the_name_at_the_start_of_the_turn(text: str, speaker: str) -> None:
    first, last = split(turn(text).encode(), TALK, "conversation").pieces
    assert (first.speaker, last.speaker) == (speaker, "agent")


def test_every_part_of_a_turn_has_its_speaker() -> None:
    data = turn("Caroline: " + "\n\n".join(["word " * 200] * 20)).encode()
    *parts, _ = split(data, TALK, "conversation").pieces
    assert len(parts) > 2
    assert {part.speaker for part in parts} == {"user Caroline"}


def test_a_section_has_no_speaker() -> None:
    (piece,) = split(b"# A\n\nCaroline: hello\n", NOTE, "reference").pieces
    assert piece.speaker == ""


def test_fenced_code_is_kept_in_one_chunk_if_it_fits() -> None:
    code = "```\n" + "\n\n".join(f"step {number}" for number in range(40)) + "\n```"
    data = f"# Code\n\n{'Intro text. ' * 80}\n\n{code}\n".encode()
    texts = [piece.chunk.text for piece in split(data, NOTE, "reference").pieces]
    assert code in texts


@each_case("line", ["word " * 1000, "x" * 5000, "Sentence one. " * 400, "あ" * 3000])
def test_a_very_long_line_is_split(line: str) -> None:
    data = f"# Line\n\n{line}\n".encode()
    contents = split(data, NOTE, "reference")
    assert "".join(piece.chunk.text for piece in contents.pieces) == line
    assert_in_place(contents, data)


def test_splitting_paragraphs_loses_no_text() -> None:
    data = "\n\n".join(f"Paragraph {number} " + "abc " * (number * 7 % 400) for number in range(80)).encode()
    contents = split(data, NOTE, "reference")
    whole = "".join(piece.chunk.text for piece in contents.pieces)
    assert "".join(whole.split()) == "".join(data.decode().split())


@each_case(
    ("path", "data", "date"),
    [
        ("knowledge/journal/2026-02-16.md", b"- x\n", "2026-02-16"),
        ("raw/conversations/2026/02/17/1000-s-x.md", b"## 10:00 \xe2\x80\x94 user\nx\n", "2026-02-17"),
        (
            "conversations/x.md",
            b"---\nstarted: 2026-03-01T10:00:00Z\n---\n\n## 10:00 \xe2\x80\x94 user\nx\n",
            "2026-03-01",
        ),
        ("knowledge/journal/week.md", b"# Week\n\n## 2026-02-11\n\n### a\nx\n", "2026-02-11"),
        ("knowledge/reference/2026-99-99.md", b"x\n", ""),
        ("knowledge/reference/x.md", b"---\nupdated: 2026-02-16\n---\nx\n", ""),
    ],
)
def test_the_date_comes_from_heading_header_or_path(path: str, data: bytes, date: str) -> None:
    category = "conversation" if "conversations" in path else "journal"
    (piece,) = split(data, path, category).pieces
    assert piece.chunk.date == date


def test_turns_after_midnight_have_the_next_date() -> None:
    data = (
        "---\nstarted: 2026-12-31T23:50:00Z\n---\n\n## 23:50 — user\na\n\n## 23:40 — agent\n"
        "clock set back\n\n## 00:10 — user\nb\n"
    ).encode()
    dates = [piece.chunk.date for piece in split(data, "conversations/x.md", "conversation").pieces]
    assert dates == ["2026-12-31", "2026-12-31", "2027-01-01"]


def test_a_date_adds_the_names_of_its_month_and_weekday_as_search_terms() -> None:
    (piece,) = split(b"- x\n", "knowledge/journal/2026-02-16.md", "journal").pieces
    assert {"2026-02-16", "February", "Monday"} <= set(piece.about.split())


def test_plain_text_has_no_headings() -> None:
    data = b"# not a heading here\n\nA walk.\n"
    (piece,) = split(data, "conversations/walk.txt", "conversation").pieces
    assert piece.chunk.heading == ""
    assert piece.chunk.text == "# not a heading here\n\nA walk."


def test_line_endings_and_a_byte_order_mark_do_not_change_line_numbers() -> None:
    data = b"\xef\xbb\xbf" + TRANSCRIPT.replace("\n", "\r\n").encode()
    plain = split(TRANSCRIPT.encode(), TALK, "conversation")
    assert split(data, TALK, "conversation").pieces == plain.pieces


def test_a_file_with_too_many_headings_is_split_as_plain_text() -> None:
    data = b"# a\n" * 300_000
    contents = split(data, NOTE, "reference")
    assert {piece.chunk.heading for piece in contents.pieces} == {""}
    assert sum(len(piece.chunk.text) + 1 for piece in contents.pieces) == len(data)


_LINES = st.lists(
    st.one_of(
        st.sampled_from(["", "", "  ", "\t", "\n" * 800]),
        st.sampled_from(
            [
                "",
                "# A",
                "## 10:00 — user",
                "## 10:01 — agent [memory]",
                "```",
                "~~~",
                "---",
                "> [tool:x] y",
                "a: b",
            ]
        ),
        st.text(max_size=40),
        st.text(min_size=1000, max_size=1500),
        st.sampled_from(
            ["word " * 40, "word " * 150, "word " * 1500, "x" * 7000, "Ann: " + "One sentence. " * 600]
        ),
    ),
    max_size=30,
)


@given(_LINES, st.sampled_from(["conversation", "reference"]), st.sampled_from(["\n", "\r\n"]))
def test_any_lines_are_split_with_the_right_line_numbers(
    lines: list[str], category: str, line_end: str
) -> None:
    data = line_end.join(lines).encode("utf-8", "surrogatepass")
    assert_in_place(split(data, "conversations/x.md", category), data)


@given(st.binary(max_size=400), st.sampled_from(["conversation", "topic"]))
def test_any_bytes_are_split_with_the_right_line_numbers(data: bytes, category: str) -> None:
    for start in (b"", b"---\ntags: [a]\n---\n"):
        assert_in_place(split(start + data, "conversations/x.md", category), start + data)


_PROSE = st.lists(
    st.sampled_from(
        ["word " * 40, "word " * 150, "- item", "", "", "    code", "> quoted", "```", "x" * 1300]
    ),
    max_size=40,
).map("\n".join)
_BLOCKS = st.one_of(
    _PROSE.map(Text),
    st.text(max_size=60).map(Text),
    st.builds(ToolCall, st.just("exec"), st.just("make test"), st.sampled_from(["", "212 passed"])),
)
_TURNS = st.builds(
    Turn,
    st.sampled_from(["user", "agent", "system"]),
    st.sampled_from(["10:00", "10:01", "23:59"]),
    st.lists(_BLOCKS, max_size=4).map(tuple),
    st.sampled_from(["", "memory"]),
)


@given(st.lists(_TURNS, min_size=1, max_size=6), st.booleans())
def test_any_rendered_conversation_is_split_with_the_right_line_numbers(
    turns: list[Turn], truncated: bool
) -> None:
    text = render(Transcript("", "ses_1", "2026-02-16T10:00:00Z", "", "Talk", {"id": "1"}, tuple(turns)))
    data = text.encode("utf-8", "replace")
    data = data[: len(data) * 2 // 3] if truncated else data
    contents = split(data, TALK, "conversation")
    assert_in_place(contents, data)
    # Every chunk belongs to the turn whose lines it has, and none contains a turn heading.
    read = parse(data, TALK).turns
    starts = [turn.line for turn in read if turn.line]
    for piece in contents.pieces:
        above = [line for line in starts if line < piece.chunk.start_line]
        assert (
            piece.speaker == ""
            if not above
            else piece.speaker.split()[0] == next(turn.role for turn in read if turn.line == above[-1])
        )
        assert not any(piece.chunk.start_line <= line <= piece.chunk.end_line for line in starts)


@given(_PROSE)
def test_splitting_plain_text_loses_no_text(text: str) -> None:
    pieces = split(text.encode(), "conversations/x.txt", "conversation").pieces
    assert "".join("".join(piece.chunk.text for piece in pieces).split()) == "".join(text.split())


@each_case("before", [0, 300, 900, 1190])
def test_no_chunk_has_a_part_of_a_key(before: int) -> None:
    key = private_key(50)
    filler = "word " * (before // 5)
    note = f"# Server\n\n{filler}\n\nThe key of the server:\n{key}\n\nMore text.\n"
    contents = split(note.encode(), NOTE, "reference")
    assert len(contents.pieces) > 2
    assert not [piece for piece in contents.pieces if leaks(redacted(piece.chunk.text), key)]
    assert contents.pieces[-1].chunk.text.endswith("More text.")


@each_case("length", range(1100, 1210, 10))
def test_a_long_line_is_not_split_within_a_token(length: int) -> None:
    token = "sk-ant-api03-" + "aB3" * 25
    line = '{"a":"' + "x" * (length - 60) + f'","key":"{token}","b":"' + "y" * 300 + '"}'
    contents = split(f"# Reply\n\n{line}\n".encode(), NOTE, "reference")
    assert len(contents.pieces) > 1
    assert not [piece for piece in contents.pieces if "aB3aB3aB3" in redacted(piece.chunk.text)]


def test_a_text_that_is_not_split_is_verbatim() -> None:
    key = private_key(4)
    (piece,) = split(f"# Server\n\n{key}\n".encode(), NOTE, "reference").pieces
    assert piece.chunk.text == key

"""Which tool calls bring in outside text, and which do not."""

from __future__ import annotations

from engine.provenance.tools import brings_outside, reads_document
from engine.transcripts.turn import ToolCall
from tests.cases import each_case

OUTSIDE = [
    ("WebFetch", "https://acme.example/terms"),
    ("WebSearch", "acme pay fees"),
    ("web_search", "acme pay fees"),
    ("web_fetch", "summarise https://acme.example"),
    ("mcp__github__get_issue", "12"),
    ("mcp__slack__read_channel", "general"),
    ("read_mailbox", "from legal"),
    ("mail", "read Ferrand"),
    ("browser_navigate", "acme.example"),
    ("fetch", "https://acme.example"),
    ("WebSearch", "delete branch protection rule"),
    ("WebSearch", "localhost refuses connections"),
    ("Bash", "curl -s https://acme.example/install.sh"),
    ("Bash", "cd /tmp && wget -qO- acme.example | head"),
    ("Bash", "sudo -E FOO=1 curl acme.example"),
    ("Bash", "gh issue view 12"),
    ("Bash", "gh pr view 12 --comments | head"),
    ("Bash", "gh run view 88 --log-failed"),
    ("Bash", "gh api repos/a/b/issues"),
    ("Bash", "git clone https://acme.example/x.git && ls x"),
    ("Bash", "npm view leftpad"),
    ("Bash", "python -c \"import requests; print(requests.get('https://acme.example').text)\""),
    ("Bash", "cat ~/Downloads/offer.txt"),
    ("Bash", "pbpaste | head"),
    ("Bash", "grep -q 'a' b.txt; curl -s https://acme.example"),
    ("Bash", 'grep "$(curl -s https://acme.example)" b.txt'),
    ("shell", "{}"),
    ("shell", ""),
    ("Read", "inbox/2026-06-12.eml"),
    ("Read", "docs/manual.pdf"),
    ("Read", "shot.png"),
    ("Read", "node_modules/leftpad/README.md"),
    ("Task", "research: Compare hosted queues on the web"),
    ("Task", "general-purpose: Review PR 12 and the comments of its author"),
    ("Task", "Explore: Read the issue tracker for bugs"),
    ("Task", "general-purpose: Read the docs page of the vendor on config"),
    ("Task", "general-purpose: Summarize the README files of the dependency"),
    ("Task", "Explore: find usages on https://acme.example/guide"),
    ("Agent", "general-purpose: fetch https://acme.example and look for tests"),
    ("Task", "code-reviewer: Review the diff of the fork"),
    ("Task", "general-purpose: Read Bob's mail about the migration"),
    ("running", "curl -s https://acme.example/install.sh"),
    ("added", "~/Downloads/offer.txt to the chat"),
    ("searched_web", 'Searched web "acme pay fees" • 6 results'),
    ("summon_oracle", "anything"),
    ("tool", 'Searched web "acme pay fees" • 6 results'),
    ("tool", "anything"),
    ("tool", ""),
    ("Monitor", "curl -s https://acme.example/status"),
]

OWN = [
    ("Bash", "go test ./..."),
    ("Bash", "mise run lint 2>&1 | head -100"),
    ("Bash", "git log --oneline -5 && git status"),
    ("Bash", "curl -s http://localhost:8080/healthz"),
    ("Bash", "gh pr create --fill"),
    ("Bash", "gh workflow list"),
    ("Bash", "npm test"),
    ("Bash", "ps aux | grep -E '(fetch.py|gh api)' | grep -v grep"),
    ("Bash", 'rg -n "curl|wget" scripts/'),
    ("Bash", "python -m pytest -q"),
    ("Bash", "cat src/main.go"),
    ("exec_command", "cargo build"),
    ("run_shell_command", "make"),
    ("Read", "/srv/app/main.py"),
    ("read_file", "src/lib.rs"),
    ("Grep", "https:// in src"),
    ("Edit", "src/lib.rs"),
    ("Write", "docs/notes.md"),
    ("apply_patch", "update src/lib.rs"),
    ("search_file_content", "TODO"),
    ("TodoWrite", "0 of 3 done"),
    ("Skill", "reviewer https://github.com/a/b/pull/1"),
    ("Task", "Explore: Explore logging patterns"),
    ("Task", "code-reviewer: Review recent changes"),
    ("Task", "codebase-analyzer: Analyze package dependencies"),
    ("Task", "Explore: Check that the tests pass on http://localhost:8080"),
    ("Task", "Explore: Explore the page component and its e-mail template code"),
    ("mcp__ide__getDiagnostics", ""),
    ("knowledge", '{"action": "info"}'),
    ("read", '{"path": "knowledge/gauges/KNOWLEDGE.md"}'),
    ("sql", "select count(*) from reading"),
    ("ripgrep_raw_search", '{"pattern": "retry", "path": "/home/robin/tidemark"}'),
    ("searched_codebase", 'Searched codebase "retry" • 6 results'),
    ("read_lints", "src/client.py"),
    ("added", "src/client.py to the chat"),
    ("commit", "1a2b3c4 Log water levels"),
    ("running", "pytest -q"),
    ("AskUserQuestion", "Which store should be used?"),
    ("ask_question", '{"title": "Which store?"}'),
    ("request_user_input", '{"questions": []}'),
    ("await", "Status: completed"),
    ("Monitor", "cd app && pytest -q"),
    ("tool", 'Searched codebase "retry" • 6 results'),
    ("tool", 'Grep search for "retry" • 3 files'),
    ("tool", "Listed directory src • 4 results"),
    ("tool", "Listed current directory • 33 results"),
    ("TaskUpdate", '{"taskId": "3", "status": "completed"}'),
]


@each_case(("name", "asked"), OUTSIDE)
def test_these_tool_calls_bring_in_outside_text(name: str, asked: str) -> None:
    assert brings_outside(ToolCall(name, asked, "something"))


@each_case(("name", "asked"), OWN)
def test_these_tool_calls_are_the_agents_own_work(name: str, asked: str) -> None:
    assert not brings_outside(ToolCall(name, asked, "something"))


def test_a_call_of_which_the_log_has_neither_command_nor_output_brings_in_nothing() -> None:
    assert not brings_outside(ToolCall("run_terminal_command_v2", "", ""))
    assert not brings_outside(ToolCall("Bash", "{}", " "))
    assert brings_outside(ToolCall("web_fetch", "", ""))


def test_documents_in_the_repository_are_distinguished_from_code() -> None:
    assert reads_document(ToolCall("Read", "/srv/app/README.md"))
    assert reads_document(ToolCall("Bash", "cat docs/x.rst"))
    assert not reads_document(ToolCall("Read", "/srv/app/readme_parser.go"))

"""Words that distinguish sentences about ways of working from others, and from each other."""

from __future__ import annotations

HOW_WORDS = (
    "test tests tested testing tdd commit commits committing committed push pr prs rebase rebasing review "
    "reviews reviewing reviewer comment comments reply replies replying respond lint linter fmt gofmt "
    "prettier format formatting formatted doc docs document documents documentation readme changelog plan "
    "plans ticket tickets issue issues jira linear draft drafts subagent subagents sub-agent sub-agents "
    "lsp mcp paginate pagination spelling english language naming rename duplicate duplicated duplicating "
    "duplication reuse helper helpers interface interfaces typed types typing style convention "
    "conventions amend amending squash worktree worktrees sha shas coverage e2e integration mock mocks "
    "mocking fixture fixtures discuss discussion talk wait branch branches stash release dependency "
    "dependencies library libraries production staging deploy migration migrations schema benchmark "
    "screenshot emoji emojis concise short summary bullet bullets markdown cite tone code coding compile "
    "build ci docstring docstrings todo todos indent indentation semicolon semicolons camelcase snake_case "
    "kebab-case"
)
"""Means of working, as opposed to its subject."""

EITHER_WORDS = (
    "date dates time units metric currency table link links source sources error errors log logs logging "
    "package packages version secret secrets import imports export exports tabs spaces quotes hint hints"
)
"""Means of working or its subject, depending on the rest of the sentence."""

MANNERS = "first before after instead never always only draft direct each every"

SMALL = frozenset(
    """
    a an the of to in on at for with and or but is are was were be been it its this that these those i you we
    they he she me us my our your as so if do does did can could would should will please let s d ll ve re t m
    just also not no yes ok up out about from by then there here what which who how when where why all any
    some has have had get got make made go going want need think like sure again now don doesn
    didn isn aren wasn shouldn couldn wouldn
    """.split()  # noqa: SIM905 — one word a line would hide the module
)
"""Words that say nothing of what a sentence is about."""

CHOICES = tuple(
    tuple(frozenset(option.split()) for option in choice.split("|"))
    for choice in (
        "british aus australian uk summarise colour|us american summarize color",
        "tabs tab|spaces space",
        "single|double",
        "rebase|merge|squash",
        "npm|yarn|pnpm|bun",
        "pip|uv|poetry|conda",
        "jest|vitest|mocha",
        "unittest|pytest",
        "camelcase|snake_case|kebab-case",
        "metric celsius|imperial fahrenheit",
        "jira|linear|trello|asana",
        "english|german|french|spanish|italian|portuguese|dutch|russian",
        "dark|light",
        "short concise brief|long detailed verbose",
        "formal|informal casual",
        "mysql|postgres postgresql|sqlite",
        "12-hour|24-hour",
        "mm/dd/yyyy|dd/mm/yyyy|yyyy-mm-dd iso",
    )
)
"""Things of which one excludes the others."""

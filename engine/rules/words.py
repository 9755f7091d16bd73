"""Words that tell what a rule is about, and things of which one excludes the others."""

from __future__ import annotations

import re

from engine.startup.lazy import expression

ONWARD_ELSEWHERE = (
    r"\b(?:ab jetzt|ab sofort|ab heute|künftig|in zukunft|von jetzt an|désormais|dorénavant"
    r"|à partir de maintenant|pour (?:toute )?la suite|a partir de ahora|de (?:ahora|aquí) en adelante"
    r"|desde ahora|a partir de agora|daqui (?:em|para a) (?:diante|frente)|d['’]ora in (?:poi"
    r"|avanti)|vanaf nu"
    r"|voortaan|отныне|впредь|с этого момента|od teraz|bundan sonra)\b"
    r"|从现在(?:开始|起)|(?:以后|今后|往后|从今(?:天|以后|往后)?起?)[^，。！？\n]{0,8}?(?:都|请|不要|不用|要|别|只|用|一律|必须)|今後は|これからは|앞으로는?"
)
"""Says in other languages that something applies from now on."""
ALWAYS_ELSEWHERE = (
    r"\b(?:immer|niemals|(?<!sont )(?<!est )(?<! a )(?<!ont )toujours(?! pas)|jamais|siempre(?!"
    r" que me)|nunca|sempre"
    r"|mai più|altijd|nooit|всегда|никогда|zawsze|nigdy|her zaman|asla)\b"
    r"|永远不要|總是|总是|一律|必ず|常に|항상|절대"
)
"""Says always or never in other languages: often about what merely happens."""
ELSEWHERE = rf"{ONWARD_ELSEWHERE}|{ALWAYS_ELSEWHERE}"

STANDING = expression(
    r"\b(?:from now on|always|never(?! mind)|n['’]?t ever|every ?time|whenever|each time|as a rule|next time|"
    r"going forward|in (?:the )?future(?! (?:versions?|releases?|iterations?|phases?))|i hate|(?:we"
    r"|i) prefer|does(?:n['’]?t| not) make sense to)\b"
    rf"|{ELSEWHERE}",
    re.IGNORECASE,
)
"""Says in any language that something applies from now on; search uses it too."""

SMALL = frozenset(
    """
    a an the of to in on at for with and or but is are was were be been being it its it's this that these
    those i you we they he she me us my our your as so if do does did can could should will would please let s
    d ll ve re t m just also not no yes ok up out about from by then there here what which who how when where
    why all any some has have had get got make made go going want wants wanted need needs think like sure
    again now don doesn didn isn aren wasn shouldn couldn wouldn must shall always never ever each every
    whenever everywhere instead rather than only very really going forward future onwards onward everything
    anything something thing things way more longer anymore remember rule rules habit note keep mind using use
    used uses every time times again want to into be sure hey hi ok okay ensure rather too additionally
    another other furthermore moreover firstly secondly finally important particular today project repo thing
    immer nie nicht kein keine bitte ab jetzt und oder der die das den dem ein eine in mit für von zu auf
    toujours jamais ne pas de la le les des un une et dans pour avec siempre nunca no el los las del y en por
    con para una """.split()  # noqa: SIM905 — one word a line would hide the module
)
"""Words that do not say what a rule is about."""

WEAK = frozenset(
    "add use keep make write includ put do have set creat provid start end".split()  # noqa: SIM905
)
"""Stems of verbs that belong to any work."""

SYNONYMS = {
    **dict.fromkeys(("begin", "prefix", "preced"), "start"),
    **dict.fromkeys(("suffix", "append", "finish", "terminat"), "end"),
    **dict.fromkeys(
        ("includ", "incorporat", "contain", "insert", "attach", "put", "writ", "creat", "hav"), "add"
    ),
    **dict.fromkeys(("func", "fn"), "function"),
    **dict.fromkeys(("parameter", "param", "arg"), "argument"),
    **dict.fromkeys(("pr", "mr"), "pull"),
    **dict.fromkeys(("repl", "reply", "respond", "respons"), "answer"),
    **dict.fromkeys(("document", "documentation", "docs"), "doc"),
    **dict.fromkeys(("column", "char", "character", "width", "wide"), "line"),
    **dict.fromkeys(("spec", "unittest"), "test"),
    **dict.fromkeys(("linter",), "lint"),
    **dict.fromkeys(("msg",), "message"),
    **dict.fromkeys(("db", "databas"), "database"),
    **dict.fromkeys(("k8", "kub", "kubernet"), "kubernetes"),
    **dict.fromkeys(("repo", "repository", "repositor", "codebas", "project"), "project"),
    **dict.fromkeys(("dependenc", "librar", "package", "lib", "dep", "dependency"), "library"),
    **dict.fromkeys(("directory", "dir"), "folder"),
    **dict.fromkeys(("remov", "drop"), "delet"),
    **dict.fromkeys(("indentation",), "indent"),
    **dict.fromkeys(("annotat", "annotation", "hint", "typ"), "type"),
}
"""Stems that say the same, by stem."""

THINGS = """
function method class variable attribute argument file test commit branch pull comment docstring import type
error log constant component endpoint table column migration folder ticket issue name doc readme changelog
review plan answer message deploy release push script query schema config module decorator start end fix
feature bug sentence paragraph lint
"""
"""Things that rules are about, and the ends of names: rules about different ones are different rules."""

CHOICES = tuple(
    tuple(frozenset(option.split()) for option in choice.split("|"))
    for choice in (
        "british aus australian uk summarise colour|us american summarize color",
        "tabs tab|spaces space",
        "single|double",
        "rebase rebasing|merge merging|squash squashing",
        "npm|yarn|pnpm|bun",
        "pip|uv|poetry|conda|pipenv|pdm|hatch|rye",
        "jest|vitest|mocha|jasmine",
        "unittest|pytest|nose",
        "playwright|cypress|selenium|puppeteer",
        "camelcase|snake_case|kebab-case|pascalcase|uppercase|lowercase",
        "metric celsius|imperial fahrenheit",
        "jira|linear|trello|asana|github-issues|clickup|notion",
        "english|german deutsch|french français|spanish español|italian|portuguese|dutch|russian"
        "|chinese|japanese",
        "dark|light",
        "short concise brief terse|long detailed verbose",
        "formal|informal casual",
        "mysql mariadb|postgres postgresql|sqlite|mongodb mongo|dynamodb",
        "12-hour|24-hour",
        "mm/dd/yyyy|dd/mm/yyyy|yyyy-mm-dd iso",
        "black|ruff|autopep8|yapf",
        "flake8|pylint|pyright",
        "eslint|biome|tslint|oxlint",
        "prettier|dprint",
        "docker|podman",
        "make makefile|just justfile|taskfile",
        "react|vue|svelte|angular|solid",
        "redux|zustand|mobx|jotai",
        "tailwind|bootstrap|sass scss|styled-components|css-modules",
        "axios|fetch|ky",
        "requests|httpx|aiohttp|urllib3",
        "pandas|polars",
        "moment|dayjs|date-fns|luxon",
        "express|fastify|koa|hono",
        "flask|django|fastapi",
        "rest|graphql|grpc",
        "json|yaml|toml|xml|csv",
        "var|let|const",
        "interface interfaces|alias aliases",
        "async await|callbacks callback|promises",
        "logger logging|print printf println console.log",
        "unwrap|expect",
        "argparse|click|typer",
        "vim|emacs|vscode|nano",
        "bash|zsh|fish|powershell",
        "maven|gradle|bazel",
        "main|master|develop|trunk",
        "staging|production prod",
        "terraform|pulumi|cloudformation|ansible",
        "aws|gcp|azure",
        "pytorch torch|tensorflow keras|jax",
        "matplotlib|plotly|seaborn|altair",
        "markdown|html|rst|asciidoc",
        "utc|local",
    )
)
"""Things of which one excludes the others."""

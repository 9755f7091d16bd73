"""Words that tell what a rule is about, and things of which one excludes the others."""

from __future__ import annotations

import re

from engine.startup.lazy import expression

ONWARD_ELSEWHERE = (
    r"\b(?:ab jetzt|ab sofort|ab heute|künftig|zukünftig|in zukunft|von jetzt an|von nun an|nie wieder"
    r"|merk dir|désormais|dorénavant|à partir de (?:maintenant|d['’]aujourd['’]hui)|à l['’]avenir"
    r"|pour (?:toute )?la suite|plus jamais|retiens (?:que|bien)|a partir de ahora|a partir de hoy"
    r"|de (?:ahora|aquí|hoy) en (?:adelante|más)|en lo sucesivo|desde ahora|nunca más|a partir de agora"
    r"|daqui (?:em|para a|pra|por) (?:diante|frente)|de agora em diante|d['’]ora in (?:poi|avanti)"
    r"|da (?:ora|oggi) in (?:poi|avanti)|in futuro|mai più|vanaf (?:nu|vandaag)|voortaan|nooit meer"
    r"|отныне|впредь|на будущее|с этого момента|больше никогда|запомни|od teraz|na przyszłość|nigdy więcej"
    r"|bundan (?:sonra|böyle)|artık hep|từ (?:nay|giờ|bây giờ)(?: trở đi)?|mulai (?:sekarang|hari ini)"
    r"|ke depannya|відтепер|надалі|från och med nu|hädanefter|i fortsättningen|aage se|ab se)\b"
    r"|从现在(?:开始|起)|从此|(?:以后|今后|往后|从今(?:天|以后|往后)?起?)[^，。！？\n]{0,8}?"
    r"(?:都|请|不要|不用|要|别|只|用|一律|必须)|^(?:請|请|你)?要?(?:记住|記住|牢记|谨记)|下不为例|從現在(?:開始|起)|以後[^，。！？\n]{0,8}?(?:都|請|不要|別)"
    r"|今後|これからは|これ以降|次回(?:から|以降)|二度と|覚えておいて|앞으로|이제부터|다음부터|다시는|기억해"
    r"|ต่อไปนี้|นับจากนี้|आगे से|अब से|من الآن (?:فصاعدا|فصاعدًا)|بعد كده"
)
"""Says in other languages that something applies from now on."""
ALWAYS_ELSEWHERE = (
    r"\b(?:immer|stets|grundsätzlich|niemals|nie|jedes mal|(?<!sont )(?<!est )(?<! a )(?<!ont )toujours"
    r"(?! pas)|jamais|systématiquement|à chaque fois|siempre(?! que me)|nunca|jamás|cada vez|sempre|toda vez"
    r"|ogni volta"
    r"|altijd|nooit|elke keer|всегда|никогда|каждый раз|zawsze|nigdy|za każdym razem|her zaman|her seferinde"
    r"|asla|luôn|không bao giờ|selalu|setiap kali|завжди|ніколи|alltid|aldrig|hamesha|kabhi)\b"
    r"|永远|總是|总是|一律|始终|每次|每当|凡是|任何(?:情况|时候|時候)|绝不|决不|從不|从不"
    r"|必ず|毎回|常に|いつも|たびに|항상|언제나|매번|때마다|절대|무조건|เสมอ|ทุกครั้ง|हमेशा|دائمًا|أبدا"
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

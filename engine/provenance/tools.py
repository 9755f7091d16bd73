"""Which tool calls bring text into a conversation that an outsider may have written.

What an agent's own commands report about the repository (paths, versions, test results) is not outside text;
otherwise everything a coding agent says would be. Pages, mails, issues, search results and MCP results are
outside text, and so is the output of any unknown tool.
"""

from __future__ import annotations

import re
import shlex

from engine.startup.lazy import expression
from engine.transcripts.turn import ToolCall


def runs_command(call: ToolCall) -> bool:
    """True if a call runs what its summary says in a shell; also where a log names no tool."""
    name = call.name.casefold()
    return not name.startswith("mcp") and (
        bool(_words_of(call.name) & _SHELLS) or name in _RUNNERS or name == _NAMELESS
    )


def _words_of(name: str) -> set[str]:
    return set(_PART.findall(_CAMEL.sub("_", name).casefold()))


def brings_outside(call: ToolCall) -> bool:
    """True if an outsider may have written the result of a call."""
    name = call.name.casefold()
    # Where a log names no tool, the summary begins with what it did: "Searched codebase".
    told = _TOLD.match(call.summary) if name == _NAMELESS else None
    words = _words_of(call.name if told is None else told[0])
    if name.startswith("mcp"):
        return not name.startswith("mcp__ide__")
    if name in _OWN:
        return False
    if words & _SHELLS or name in _RUNNERS:
        # A command that was not logged may have read anything, unless nothing of it was.
        return _is_outside_command(call.summary) if call.summary.strip(" {}") else bool(call.result.strip())
    if words & _WRITERS:
        return False
    if words & _OUTSIDE or name.startswith(_OUTSIDE_STARTS):
        # A search that merely mentions this machine is still answered from outside.
        return not _URL.search(call.summary) or not _is_loopback(call.summary)
    if words & _DELEGATES:
        return _is_others(call.summary) or not _OWN_CODE.search(call.summary)
    if words & _LOCAL or name in _RECORDS:
        return _is_third_party(call.summary)
    return True


def reads_document(call: ToolCall) -> bool:
    """True if a call reads prose that anyone may have written into the repository."""
    return _DOCUMENT.search(call.summary) is not None


def _is_outside_command(command: str) -> bool:
    if _SCRIPTED.search(command) and _REQUESTS.search(command) and _URL.search(command):
        return not _is_loopback(command)
    return any(_fetches(piece) for piece in _PIECES.split(_SEARCHED.sub(" ", command)))


def _fetches(piece: str) -> bool:
    """True if a simple command fetches text from outside the machine."""
    try:
        words = shlex.split(piece)
    except ValueError:
        words = piece.split()
    while words and (words[0] in _PREFIXES or re.match(r"\w+=|-", words[0])):
        del words[0]
    if not words:
        return False
    program = words[0].rsplit("/", 1)[-1].casefold()
    rest = [word.casefold() for word in words[1:] if not word.startswith("-")]
    if program in _FETCHERS:
        return not _is_loopback(piece)
    if program in _FORGES:
        return not rest or ((rest[0], *rest[1:2]) not in _OWN_FORGE and rest[0] not in _OWN_FORGE_TOPICS)
    if program == "git":
        return rest[:1] == ["clone"] and rest[1:2] != ["."]
    if program in ("npm", "pnpm", "yarn", "cargo", "gem", "brew"):
        return bool(rest) and rest[0] in ("view", "info", "search", "show")
    return program in _READERS and _is_third_party(piece)


def _is_third_party(paths: str) -> bool:
    """True if the files read are correspondence, or documents shipped with third-party code."""
    return bool(_CORRESPONDENCE.search(paths) or (_FOREIGN.search(paths) and _DOCUMENT.search(paths)))


def _is_others(task: str) -> bool:
    """True if a sub-agent was asked to read what others wrote, whatever of one's own code it also was."""
    is_address = _URL.search(task) is not None and not _is_loopback(task)
    return is_address or _is_third_party(task) or _OTHERS.search(task) is not None


def _is_loopback(text: str) -> bool:
    """True if a text has addresses and all of them are of this machine."""
    hosts = _URL.findall(text) or re.findall(
        r"(?:^|\s)(localhost|127\.0\.0\.1|\[::1\]|0\.0\.0\.0)(?=[:/\s]|$)", text
    )
    return bool(hosts) and all(host in ("localhost", "127.0.0.1", "[::1]", "0.0.0.0") for host in hosts)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NAMELESS = "tool"
"""The name of a call in logs that do not name its tool."""
_TOLD = expression(r"(?:[A-Za-z]+ ){1,3}")
_OWN = _words(
    "ask_followup_question ask_question askuserquestion await enterworktree exitworktree get_errors question "
    "request_user_input semantic_search semantic_search_full switch_mode tasklist taskget "
    "taskstop taskupdate toolsearch wait"
)
"""Tools with which an agent asks the person, searches its workspace, changes its folder, waits for its own
command, or lists its tasks or tools."""
_RUNNERS = _words("monitor running")
"""Names of tools, without "shell" or the like, that run a command."""
_RECORDS = _words("added applied commit knowledge")
"""What Aider records of a file or a commit, beside "running" for a command; and our own tool."""
_WRITERS = _words("create delete draft edit multiedit publish replace send upload write")
_PART = expression(r"[a-z0-9]+")
_CAMEL = expression(r"(?<=[a-z0-9])(?=[A-Z])")
_URL = expression(r"\b(?:https?|ftp|wss?)://(?:[^\s/@]*@)?(\[[0-9a-fA-F:]+\]|[^\s/:?#'\")]+)")
_PIECES = expression(r"\|\|?|&&|;|\n|\$\(|`|\(|\)")
_PREFIXES = _words("! command do env exec nohup sudo then time timeout xargs")
_SEARCHED = expression(r"\b(?:[efp]?grep|rg)(?:\s+-[\w-]+(?:=\S+)?)*\s+(?:'[^'\n]*'|\"[^\"`$\n]*\")")
"""A pattern that is looked for, whose parts are no commands."""
_SCRIPTED = expression(r"\b(?:python|node|ruby|perl|php|deno|bun|pwsh|powershell|uv|npx)[\d.]*\s")
_REQUESTS = expression(
    r"request|urllib|urlopen|fetch|httpx|aiohttp|axios|http\.get|net/http|curl|Invoke-", re.IGNORECASE
)
_SHELLS = _words(
    "bash bashoutput cmd command console exec killbash killshell powershell sh shell terminal zsh"
)
_LOCAL = _words(
    "build cat code codebase create database db delete diagnostics diff dir directory edit file files "
    "find git glob grep image lint lints list lookup ls lsp memory move multiedit mysql notebookedit "
    "notebookread patch path plan psql read rename replace ripgrep run skill sql sqlite symbol symbols test "
    "tests think thinking todo todoread todos todowrite view write"
)
_OUTSIDE = _words(
    "bing browse browser browsing calendar channel chat confluence connector contacts crawl crm discord "
    "download drive dropbox duckduckgo email feed fetch firecrawl forum gmail google hackernews helpdesk "
    "http https hubspot imap inbox intercom internet issue issues jira linear mail mailbox mailboxes "
    "messages navigate news newsletter notion online outlook page perplexity playwright pr puppeteer "
    "reddit rss salesforce scrape sharepoint slack sms tavily teams telegram thread threads ticket "
    "tickets twitter url web webfetch websearch whatsapp wiki youtube zendesk"
)
_OUTSIDE_STARTS = ("web", "browser", "mail", "fetch", "http")
_DELEGATES = _words("agent delegate subagent task")
_FETCHERS = _words(
    "aria2c curl ddgr elinks ftp glow-web googler himalaya http httpie https invoke-webrequest irssi iwr "
    "jira linear links lynx mail mailx mbsync mcp mu mutt nc ncat neomutt newsboat notion notmuch "
    "offlineimap sftp signal-cli slack slackcat telegram-cli telnet w3m weechat wget xh yt-dlp pbpaste "
    "xclip xsel wl-paste clip exiftool exiv2 zbarimg  dig host "
    "nslookup whois tesseract pdftotext pdfinfo docx2txt antiword mediainfo ffprobe"
)
_FORGES = frozenset({"gh", "glab", "hub", "tea"})
_OWN_FORGE_TOPICS = _words(
    "alias auth cache ci completion config extension gpg-key help label ruleset secret ssh-key status "
    "variable version workflow"
)
_OWN_FORGE = frozenset(
    (topic, act)
    for topic in _words("pr mr issue release repo run")
    for act in _words(
        "create checkout merge close ready checks status push upload delete edit fork sync set-default lock "
        "watch rerun cancel"
    )
)
_READERS = _words("awk bat cat grep head less more open pandoc pdftotext rg sed strings tail textutil view")
_DOCUMENT = expression(
    r"\.(?:md|markdown|txt|rst|adoc|org|html?|csv|log)\b|\b(?:readme|license|notes?)\b", re.IGNORECASE
)
_CORRESPONDENCE = expression(
    r"\.(?:eml|emlx|msg|mbox|ics|vcf|pdf|docx?|odt|rtf|pst|png|jpe?g|gif|webp|heic|bmp|tiff?|mp[34]|m4a"
    r"|wav)\b|(?:^|[\s/'\"~])(?:downloads|inbox|maildir"
    r"|mails?|mailbox"
    r"|correspondence|inbound|incoming|received|uploads?|vendor_\w+|suppliers?|lieferanten?|fournisseurs?"
    r"|proveedor\w*)/"
    r"|\b(?:contract|vertrag|contrat|contrato|letter|brief|lettre|carta|offer|angebot|invoice|rechnung"
    r"|facture|factura"
    r"|minutes|protokoll|agreement|webinar|handover|transcript)[\w-]*\.(?:md|txt|rst|html?|csv)\b",
    re.IGNORECASE,
)
_FOREIGN = expression(
    r"(?:^|[/\s'\"])(?:node_modules|bower_components|vendor|third[_-]party|site-packages|dist-packages"
    r"|\.cargo|pkg/mod|share/doc|knowledge/shared)/",
    re.IGNORECASE,
)
_OWN_CODE = expression(
    r"\b(?:code\w*|repo(?:sitory)?|tests?|lint\w*|refactor\w*|implement\w*|review\w*|diff|commit|files?"
    r"|functions?|class(?:es)?|modules?|logging|patterns?|usages?|callers?|build|bugs?|debug\w*|explore|CLI"
    r"|tests?/|src/|migrat\w+|schema|config\w*)\b",
    re.IGNORECASE,
)
"""Tasks of a sub-agent that inspects the repository."""
_OTHERS = expression(
    r"\b(?:PRs?|(?:pull|merge|feature) requests?|comments?|threads?|discussions?|(?:issue|bug) ?trackers?"
    r"|tickets?|bug reports?|issues? #?\d+|forked|forks?|upstream|contributors?|contributions?|reporters?"
    r"|(?:GitHub|GitLab|Jira|Linear|open|the|read|list|triage|summari[sz]e) issues?|customers?|feedback"
    r"|web[ -]?(?:search\w*|pages?|sites?)|(?:the|from) web|online|internet"
    r"|(?:docs?|documentation|wiki|help) pages?|slack|discord|forums?|mailing lists?|newsletters?|blogs?"
    r"|articles?|stack ?overflow|reddit|wikis?|vendors?|third[- ]part(?:y|ies)|advisor(?:y|ies)|CVEs?"
    r"|release notes|docs-research\w*|code-guide"
    r"|(?:libraries|library|package|dependency|dependencies)(?:['’]s)?[- ](?:docs|documentation|READMEs?)"
    r"|(?:READMEs?|docs|documentation|changelogs?)\b[^.:;]{0,20} (?:of|for|from|in) [^.:;]{0,20}"
    r"(?:librar|packages?\b|dependenc|plugins?\b)\w*"
    r"|(?:read|check|fetch|open|summari[sz]e|search)\b[^.:;]{0,20} (?:e-?mails?|messages?|inbox)"
    r"|\w+['’]s (?:(?:e-?)?mails?|messages?|notes?|letters?)"
    r"|fetch(?:ing)? (?:from|the)|download(?:ing)? (?:from|the))\b",
    re.IGNORECASE,
)
"""What other people write, in the task of a sub-agent."""

"""Patterns of single lines of code by language, and of YAML.

Every pattern is matched at the start of a stripped line. The first language that fits a line is its language;
patterns that do not identify a language come last.
"""

from __future__ import annotations

from engine.activation.scan import compiled

_TOOLS = (
    "git|npm|npx|yarn|pnpm|pip3?|python3?|docker(?:-compose)?|podman|kubectl|helm|curl|wget|cmake|cargo|uv|brew|"
    "apt|apt-get|dnf|systemctl|ssh|scp|rsync|tar|chmod|chown|mkdir|rm|cp|mv|ls|cd|grep|sed|awk|xargs|terraform|"
    "ansible|gcloud|gh|pytest|ruff|mypy|mvn|psql|openssl"
)
_TOOLS_THAT_ARE_WORDS = "make|go|node|find|cat|head|tail|echo|java|gradle|source|aws|kill|sort|test"
_ORDERS = (
    r"git (?:add|commit|push|pull|clone|fetch|checkout|rebase|merge|status|log|diff|stash)|"
    r"(?:npm|yarn|pnpm) (?:install|ci|run|test|start)|pip3? install|brew install|uv (?:run|sync|add)|"
    r"docker(?:-compose| compose)? (?:run|build|ps|up|down|pull)|kubectl (?:get|apply|describe|logs)|"
    r"cargo (?:build|run|test)|go (?:build|run|test|get|mod)"
)
# A line calls a program if it has something that sentences do not: an option, a pipe, a path.
_COMMAND = (
    rf"(?!.*[?!]$)(?:(?:sudo )?(?:{_TOOLS}|{_TOOLS_THAT_ARE_WORDS}) "
    r"(?=.*(?:(?:^| )--?[a-zA-Z][\w-]*(?:[ =]|$)| \| ?[a-z]| && |\$[A-Za-z_({]))"
    rf"|(?:sudo )?(?:{_TOOLS}) (?=.*(?: [~.]?/?[\w.-]*[a-z][\w.-]*/[\w./*-]+| > ?\S|\*\.\w))"
    rf"|(?:{_ORDERS})(?: [\w.\[\]=@:/-]+){{0,2}}$)"
)
_C_TYPE = r"(?:static |const |unsigned |struct )*(?:int|char|void|double|float|long|size_t|struct \w+)"
_JVM_START = r"(?:public|private|protected|internal) (?:static |final |abstract |async |override |readonly )*"

SHAPES = {
    "bash": (
        rf"{_COMMAND}|#!.*/(?:env )?(?:ba|z|k)?sh\b|(?:\w+@[\w.-]+:\S*)?\$ (?:[A-Za-z]|\./)[\w./-]*(?: .*)?$|"
        r"(?:sudo|apt-get|export) [\w=./-]+$|sudo (?:apt|systemctl|dnf|docker)\b|\w+=\$[({]|"
        r"(?:el)?if \[\[? .* \]\]?;? ?(?:then)?$|for \w+ in .+; ?do\b|while .+; ?do$|"
        r"(?:fi|esac|done)(?:$| [|<>])"
    ),
    "diff": r"diff --git |@@ -\d+(?:,\d+)? \+\d+|(?:---|\+\+\+) [ab]/",
    "python": (
        r"(?:async )?def \w+\(.*\).*:\s*(?:#.*)?$|class \w+(?:\([\w., =]*\))?:$|from [\w.]+ import [\w(*]|"
        r"import (?:os|sys|re|json|math|time|random|logging|asyncio|datetime|numpy|pandas|torch)\b|"
        r"Traceback \(most recent call last\):|File \".+\", line \d+|if __name__ == |>>> \S|In \[\d+\]: |"
        r"@(?:property|staticmethod|dataclass)\b|except(?: [\w.()]+(?: as \w+)?)?:$|elif .+:$|"
        r"for \w+(?:, ?\w+)* in .+[)\]\w]:$|with open\(.*\) as \w+:$|\w+ = \[.+ for \w+ in .+\]$|"
        r"print [\"'].*[\"']\s*$|raise \w+(?:Error|Exception)\(|(?:\w+ = |return )?(?:self|np|pd)\.\w+|"
        r"(?:if|elif|while) (?:not )?[\w.\[\]]+ (?:==|!=|<|>|is|in) .+:$|import \w+ as \w+$"
    ),
    "rust": (
        r"(?:pub )?(?:async )?fn \w+(?:<.*>)?\(.*\).*[{;]?$|let mut \w+|impl(?:<.*>)? \w+.*\{|"
        r"use (?:std|crate|super)::|#!?\[(?:derive|cfg|test|allow)\b|pub (?:struct|enum|mod) \w+|"
        r"(?:println|eprintln|panic|assert_eq)!\(|error\[E\d+\]|--> \S+\.rs:\d+|let \w+: [\w<>&]+ = \w+!"
    ),
    "lua": r"local (?:function )?\w+(?:, \w+)*(?: = .*|\(.*\))$|for .+ in i?pairs\(",
    "typescript": (
        r"(?:export )?(?:interface|type|enum) \w+(?:<.*>)? (?:extends \w+ )?(?:= )?\{|"
        r"import type .+ from [\"']|(?:export )?(?:const|let) \w+: [\w<>\[\]|]+ =|"
        r"(?:public|private|readonly) \w+: \w+;|(?:export )?(?:async )?function \w+\(.*\w\??: \w.*\{$|"
        r".*\w\??: (?:string|number|boolean|any|unknown)(?:\[\])?[;,)=|]"
    ),
    "javascript": (
        r"(?:export )?(?:default )?(?:async )?function\*? ?\w*\([^$:]*\) ?\{|export default \w|"
        r"module\.exports\b|(?:const|let|var) (?:\w+|\{.*\}|\[.*\]) = .*(?:;|\{|\(|=>)$|"
        r"import .+ from [\"'].+[\"'];?$|"
        r".*\bconsole\.(?:log|error|warn)\(|.*\bdocument\.\w+\w\(|at .+\.[cm]?[jt]sx?:\d+:\d+\)?$|"
        r".*\((?:\w+(?:, ?\w+)*)?\) => [{(\w]|.*\brequire\([\"'].+[\"']\)|.*\S(?:===|!==) ?\S"
    ),
    "go": (
        r"package \w+$|func (?:\(\w+ \*?\w+\) )?\w+\((?!.*->).*\).*\{$|if err != nil \{|type \w+ struct \{|"
        r"\w+(?:, \w+)? := (?:\S+|.*[(){}\[\]\"].*)$|.*\b(?:fmt|errors|strings)\.[A-Z]\w+\("
    ),
    "java": (
        r"System\.(?:out|err)\.print|import java[x.]|@Override$|at [\w.$]+\(\w+\.java:\d+\)|"
        r"Exception in thread \"|package [\w.]+;$|(?:List|Map|Set)<.+> \w+(?: = .*)?;$|.*\) throws \w+|"
        rf"{_JVM_START}(?:class|interface|enum|void|int|bool|boolean|String|List)\b"
    ),
    "csharp": (
        r"using [A-Z][\w.]*;|namespace [A-Z][\w.]+;?$|.*\bConsole\.(?:Write|Read)|.*\{ get; |"
        rf"Dictionary<.+> \w+(?: = .*)?;$|{_JVM_START}(?:string|Task)\b"
    ),
    "cpp": (
        r"#include <(?:iostream|vector|string|map|memory|algorithm)>|using namespace std;|.*\bstd::\w+|"
        r"template ?<|vector<.+> \w+(?: = .*)?;$|(?:public|private|protected):$|\w+::~?\w+\("
    ),
    "c": (
        r"#include [<\"]|int main\(.*\)|#define \w+|#(?:ifn?def|endif|if)\b|for ?\((?:int|size_t) .*\) ?\{?|"
        rf"{_C_TYPE} \**\w+(?:\[.*\])?(?: = .*;|\(.*\) ?\{{|;)"
    ),
    "ruby": (
        r"require(?:_relative)? ['\"]|attr_(?:accessor|reader|writer) :|def (?:self\.)?\w+[?!]?$|"
        r"def \w+[?!]?\(\w.*\)$|.* (?:do|\{) ?\|\w+(?:, ?\w+)*\||puts ['\"]|"
        r"class [A-Z]\w+(?: < [A-Z][\w:]*)?$"
    ),
    "perl": r"(?:my|our) [$@%(].*;$|use (?:strict|warnings);|sub \w+ \{$",
    "php": (
        r"<\?php|\$\w+ = .+;$|(?:public |private |static )?function \w+\(.*\$\w+.*\)|"
        r"(?:foreach|echo|return|if|for|while)\b.*\$\w+.*[;{]$"
    ),
    "scala": r"object \w+(?: extends \w+)? \{|def \w+(?:\[.*\])?\(.*\)(?:: \S+)? = |case class \w+\(",
    "kotlin": (
        r"(?:suspend |private |override )*fun (?:\w+\.)?\w+\(.*\).*[{=]?|data class \w+\(|val \w+ = \S|"
        r"(?:val|var) \w+: \w+(?:<.*>)?\??(?: =|$)"
    ),
    "swift": (
        r"(?:\w+ )?func \w+\(.*\) (?:throws )?-> .+ \{|guard .+ else \{|if let \w+ = |"
        r"import (?:UIKit|SwiftUI|Foundation)$"
    ),
    "dockerfile": (
        r"FROM [\w./-]+(?::[\w.-]+)?(?: AS \w+)?$|(?:ENTRYPOINT|CMD) \[|COPY (?:--\S+ )?\S+ \S+$|"
        r"RUN (?:apt|pip|npm|curl|mkdir)\b"
    ),
    "sql": (
        r"(?i:select .+ from [\w\".]+|insert into [\w.]+ ?(?:\(|values)|update [\w.]+ set \w+ ?=)|"
        r"(?i:delete from [\w.]+ where |with \w+ as \(|(?:mysql|sqlite)> |\w+=[#>] select)|"
        r"(?i:select \*$|where [\w.]+ ?[=<>] ?\S+;?$|order by [\w., ]+;?$)|"
        r"(?i:(?:create|alter|drop) (?:or replace )?(?:unique )?(?:table|index|view|"
        r"function) (?:if (?:not )?exists )?[\w.\"`]+(?:;| ?\(| (?:add|drop|on|as|rename)\b|$))|"
        r"(?:SELECT|FROM|WHERE|GROUP BY|ORDER BY|HAVING|VALUES|(?:LEFT |INNER )?JOIN|LIMIT|"
        r"INSERT INTO|CREATE|ALTER|DROP|RETURNS|LANGUAGE|GRANT|REVOKE) [\w\"(*'].*"
    ),
    "powershell": (
        r"(?:\$\w+ = )?(?:Get|Set|New|Remove|Write|Import|Invoke|Start|Stop|Test|Out)-[A-Z]\w+(?: |$)|"
        r"PS [A-Z]:\\.*>|param ?\($"
    ),
    "xml": r"<\?xml |<[\w-]+:[\w-]+[\s>]",
    "html": (
        r"<!DOCTYPE html|"
        r"<(?:html|head|body|div|span|script|table|ul|li|form|p|a|h[1-6]|link|meta|section)\b[^<>]*>.*|</\w+>$"
    ),
    "css": (
        r"(?:[.#:@*&]+[\w-]+|body|html|h[1-6]|p|a|ul|li|div|span|button|input|"
        r"table)(?:[ ,>:.#]+[\w-]+)* \{(?:.*\})?$|@media .*\{|"
        r"(?:color|background|margin|padding|display|width|height|border|font-size): [^;]+;$"
    ),
    "json": r"\"[\w .$@-]+\" ?: (?:[\"\d{\[-]|true|false|null).*,?$|[{\[].*\"\w+\" ?: .+[}\]]$",
    "toml": (r"\[\[?[a-z][\w-]*(?:\.[\w-]+)+\]\]?$|\[(?:project|package|dependencies|build-system|tool)\]$"),
    "haskell": (
        r"\w+ :: \S.*|module [\w.]+(?: \(.*\))? where$|import (?:qualified )?(?:Data|Control|System)\."
    ),
    "elixir": r"defmodule [\w.]+ do$|defp? \w+[?!]?(?:\(.*\))?(?:,? do\b.*|: .*)$|\|> \w",
    "r": r"[\w.]+ <- (?:function\(|\w[\w.]*\(|c\(|\d)|library\(\w+\)$",
    "fsharp": (r"let (?:rec |mutable )?\w+(?: \(?\w+(?: ?: ?\w+\))?)* =$|\[<EntryPoint>\]|open System"),
    "clojure": r"\((?:defn-?|ns|def) [\w.!?*-]+",
    "terraform": r"(?:resource|data|variable|provider|module) \"[\w-]+\"(?: \"[\w-]+\")? \{$",
    "makefile": r"\.PHONY:|\t\$\(\w+\)|[\w.-]+: [\w./ -]+\.[och]\b",
    "latex": r"\\(?:documentclass|begin|end|usepackage|(?:sub)*section)\b",
}
_WEAK = (
    r".*[;{}]\s*$|.*\w\(.*\)\s*[;,]?$|[})\]]+[;,)]*$|(?://|/\*|\*/|--|\# ?\w).*|.*(?:=>|->|&&|\|\||\(|\[)$|"
    r"[\w.$@\[\]'\"]+ ?(?:[-+*/|.?]?=|<-|:=) ?\S.*|"
    r"(?:if|for|while|switch|else|elif|elsif|match|case|when|try|catch|foreach|until|unless)\b.*"
    r"(?:[{:)]| do| then)$|"
    r"(?:end|else|begin|then|do|pass|break|continue|return|nil|\"\"\")$|return\b.*|raise \w+|"
    r"@\w+.*|(?:import|using|open|use) [\w.]+(?: as \w+)?;?$|</?\w+.*>$|\|> \S.*|\| \S.*->.*|\.\w+\(.*|"
    r"yield\b.*|assert .+|[\w-]+: [^;]+;$|echo .+|module [A-Z]\w+$|"
    r"(?i:(?:select|from|where|order by|group by|(?:left |inner )?join|values|having|and|on) "
    r"[\w.*=<>'\"(), ]+;?$)"
)
_LINE = "|".join(f"(?P<{language}>{shape})" for language, shape in SHAPES.items()) + f"|(?P<weak>{_WEAK})"

_PAIRS = r"[^\W\d_]{2,} [^\W\d_]{2,}"
_SIGNS_OF_CODE = r"[(){}\[\];=<>$#@:|/\\\"'`]|--"
_CALL = r"[\w.]+ = [\w.]+\(.*\);?$"

_SETTING = r"[ \t]*(?:- ){0,3}(?:[a-z][\w./-]{0,40}:(?: [^\n]*)?|- \S[^\n]*|\#[^\n]*|---)"
_SETTINGS = rf"(?m)^{_SETTING}$(?:\n+{_SETTING}$)+"
_NESTED = (
    r"(?m)^[ \t]*(?:- )?[a-z][\w./-]*:(?: [|>]-?)?\n[ \t]*(?:[ \t]{2}|- )\S|"
    r"^[ \t]*- [a-z][\w./-]*: [^\n]+\n[ \t]+[a-z][\w./-]*: "
)


def classify(line: str) -> tuple[int, str]:
    """How much a stripped line looks like code, 0 to 2, and its language; empty if unknown."""
    # Compiling the patterns takes 10 ms, so prose is sorted out before.
    if line[-1] in ".!?" and is_prose(line):
        return 0, ""
    found = compiled(_LINE).match(line)
    if found is None:
        return 0, ""
    if found.lastgroup != "weak":
        return 2, str(found.lastgroup)
    if is_prose(line):
        return 0, ""
    # Assigning the result of a call counts more than other weak signs.
    return 1 + (compiled(_CALL).match(line) is not None), ""


def is_prose(line: str) -> bool:
    """Whether a line looks like part of a sentence."""
    pairs = len(compiled(_PAIRS).findall(line))
    return (pairs >= 3 and line[-1:] in ".!?:,") or (pairs >= 2 and not compiled(_SIGNS_OF_CODE).search(line))


def settings(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The spans of YAML in ``text[start:end]``: at least three lines of keys and items, some nested."""
    runs = compiled(_SETTINGS).finditer(text, start, end)
    return [run.span() for run in runs if run[0].count("\n") >= 2 and compiled(_NESTED).search(run[0])]

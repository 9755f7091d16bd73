"""The shapes of lines that are code by themselves.

All are matched at the start of a line without the white space around it. They were tried on 32,000 messages
and paragraphs of prose, none of which they take for code.
"""

from __future__ import annotations

# Of lines that are code by themselves: the languages they speak for; texts of which one is in each of them,
# in lower case, ``^`` where it begins the line; their shapes. Compiling a shape takes longer than looking for
# the texts in a whole message, and most messages hold none.
SHAPES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "python",
        '^def ¦^async def ¦^class ¦^from ¦^import ¦^traceback (¦^file "¦^if __name__¦^@¦'
        "^>>> ¦^in [¦^except¦^elif ¦^for ¦^with open(¦ for ¦^print ",
        (
            r"(?:async )?def \w+\(.*\).*:\s*(?:#.*)?$",
            r"class \w+(?:\([\w., =]*\))?:$",
            r"from [\w.]+ import [\w(*]",
            r"import (?:os|sys|re|json|math|time|random|logging|asyncio|datetime|numpy|pandas|torch)\b",
            r"Traceback \(most recent call last\):|File \".+\", line \d+",
            r"if __name__ == |@(?:property|staticmethod|dataclass)\b|>>> \S|In \[\d+\]: ",
            r"except(?: [\w.()]+(?: as \w+)?)?:$|elif .+:$|for \w+(?:, ?\w+)* in .+[)\]\w]:$",
            r"with open\(.*\) as \w+:$|\w+ = \[.+ for \w+ in .+\]$|print [\"'].*[\"']\s*$",
        ),
    ),
    (
        "typescript",
        "interface ¦type ¦enum ¦^const ¦^let ¦^export ¦^public ¦^private ¦^readonly ¦function ",
        (
            r"(?:export )?(?:interface|type|enum) \w+(?:<.*>)? (?:= )?\{",
            r"(?:export )?(?:const|let) \w+: [\w<>\[\]|]+ =|import type .+ from [\"']",
            r"(?:public|private|readonly) \w+: \w+;|"
            r"(?:export )?(?:async )?function \w+\(.*\w\??: \w.*\{$",
        ),
    ),
    (
        "javascript",
        "^function¦^async function¦^export ¦^default ",
        (r"(?:export )?(?:default )?(?:async )?function\*? ?\w*\([^$:]*\) ?\{",),
    ),
    (
        "javascript typescript",
        "^const ¦^let ¦^var ¦^import ¦^export ¦^module.exports¦console.¦document.¦js:¦ts:¦"
        "jsx:¦tsx:¦=>¦require(¦===¦!==",
        (
            r"(?:const|let|var) (?:\w+|\{.*\}|\[.*\]) = .*(?:;|\{|\(|=>)$",
            r"import .+ from [\"'].+[\"'];?$|export default \w|module\.exports\b",
            r".*\bconsole\.(?:log|error|warn)\(|.*\bdocument\.\w+\w\(|at .+\.[cm]?[jt]sx?:\d+:\d+\)?$",
            r".*\((?:\w+(?:, ?\w+)*)?\) => [{(\w]|.*\brequire\([\"'].+[\"']\)|.*\S(?:===|!==) ?\S",
        ),
    ),
    (
        "go",
        "^package ¦^func ¦^if err != nil¦ := ",
        (
            r"package \w+$|func (?:\(\w+ \*?\w+\) )?\w+\((?!.*->).*\).*\{$|if err != nil \{",
            r"\w+(?:, \w+)? := (?:\S+|.*[(){}\[\]\"].*)$",
        ),
    ),
    (
        "rust",
        "fn ¦^let mut ¦^impl¦^use ¦^#[¦^#![¦^println!(¦^eprintln!(¦^panic!(¦^assert_eq!(¦^error[e¦^--> ",
        (
            r"(?:pub )?(?:async )?fn \w+(?:<.*>)?\(.*\).*[{;]?$|let mut \w+|impl(?:<.*>)? \w+.*\{",
            r"use (?:std|crate|super)::|#!?\[(?:derive|cfg|test|allow)\b|(?:println|eprintln|panic|"
            r"assert_eq)!\(",
            r"error\[E\d+\]|--> \S+\.rs:\d+",
        ),
    ),
    (
        "java csharp",
        "^public ¦^private ¦^protected ¦^internal ",
        (
            r"(?:public|private|protected|internal) (?:static |final |abstract |async |override |"
            r"readonly )*(?:class|interface|enum|void|int|bool|boolean|string|String|Task|List)\b",
        ),
    ),
    (
        "java",
        "^system.¦^import java¦^@override¦.java:¦^exception in thread",
        (
            r"System\.(?:out|err)\.print|import java[x.]|@Override$",
            r"at [\w.$]+\(\w+\.java:\d+\)|Exception in thread \"",
        ),
    ),
    (
        "csharp",
        "^using ¦^namespace ¦^console.",
        (r"using [A-Z][\w.]*;|namespace [\w.]+;?$|Console\.(?:Write|Read)",),
    ),
    (
        "java cpp csharp",
        "^list<¦^map<¦^set<¦^vector<¦^dictionary<¦^for (¦^for(",
        (
            r"(?:List|Map|Set|vector|Dictionary)<.+> \w+(?: = .*)?;$",
            r"for ?\((?:int|auto|var|String|size_t|const) .*\) ?\{?",
        ),
    ),
    (
        "cpp",
        "^#include <¦^using namespace std;¦std::¦^template",
        (
            r"#include <(?:iostream|vector|string|map|memory|algorithm)>|using namespace std;",
            r".*\bstd::\w+|template ?<",
        ),
    ),
    (
        "c cpp",
        "^#include ¦^int ¦^#define ¦^#if¦^#endif¦^static ¦^const ¦^unsigned ¦^struct ¦^char ¦"
        "^void ¦^double ¦^float ¦^long ¦^size_t ",
        (
            r"#include [<\"]|int main\(.*\)|#define \w+|#(?:ifn?def|endif|if)\b",
            r"(?:static |const |unsigned |struct )*(?:int|char|void|double|float|long|size_t|"
            r"struct \w+) \**\w+(?:\[.*\])?(?: = .*;|\(.*\) ?\{|;)",
        ),
    ),
    (
        "ruby",
        "^require¦^attr_¦^def ¦ do |¦ do|¦ { |¦ {|",
        (
            r"require(?:_relative)? ['\"]|attr_(?:accessor|reader|writer) :|def \w+[?!]?\(\w.*\)$",
            r".* (?:do|\{) ?\|\w+(?:, ?\w+)*\|",
        ),
    ),
    (
        "php",
        "^<?php¦$",
        (
            r"<\?php|\$\w+ = .+;$|(?:public |private |static )?function \w+\(.*\$\w+.*\)",
            r"(?:foreach|echo|return|if|for|while)\b.*\$\w+.*[;{]$",
        ),
    ),
    (
        "kotlin",
        "fun ¦^data class ¦^val ¦^var ",
        (
            r"(?:suspend |private |override )*fun (?:\w+\.)?\w+\(.*\).*[{=]?|data class \w+\(",
            r"(?:val|var) \w+: \w+(?:<.*>)?\??(?: =|$)",
        ),
    ),
    (
        "kotlin scala",
        "^val ",
        (r"val \w+ = \S",),
    ),
    (
        "swift",
        "func ¦^guard ¦^if let ¦^import ",
        (
            r"(?:\w+ )?func \w+\(.*\) (?:throws )?-> .+ \{|guard .+ else \{|if let \w+ = ",
            r"import (?:UIKit|SwiftUI|Foundation)$",
        ),
    ),
    (
        "sql",
        "^select ¦^insert into ¦^update ¦^delete from ¦^with ¦^mysql> ¦^sqlite> ¦=# select¦"
        "=> select¦^create ¦^alter ¦^drop ¦^from ¦^where ¦^group by ¦^order by ¦^having ¦"
        "^values ¦^join ¦^left join ¦^inner join ¦^limit ¦^returns ¦^language ¦^grant ¦"
        "^revoke ",
        (
            r"(?i:select .+ from [\w\".]+|insert into [\w.]+ ?(?:\(|values)|update [\w.]+ set \w+ ?=)",
            r"(?i:delete from [\w.]+ where |with \w+ as \(|(?:mysql|sqlite)> |\w+=[#>] select)",
            r"(?i:(?:create|alter|drop) (?:or replace )?(?:unique )?(?:table|index|view|"
            r"function) (?:if (?:not )?exists )?[\w.\"`]+(?:;| ?\(| (?:add|drop|on|as|rename)\b|$))",
            r"(?:SELECT|FROM|WHERE|GROUP BY|ORDER BY|HAVING|VALUES|(?:LEFT |INNER )?JOIN|LIMIT|"
            r"INSERT INTO|CREATE|ALTER|DROP|RETURNS|LANGUAGE|GRANT|REVOKE) [\w\"(*'].*",
        ),
    ),
    (
        "bash",
        "^#!¦$ ¦^sudo ¦^apt-get ¦^export ¦^if [¦^elif [¦^for ¦^while ",
        (
            r"#!.*/(?:env )?(?:ba|z|k)?sh\b|(?:\w+@[\w.-]+:\S*)?\$ (?:[A-Za-z]|\./)[\w./-]*(?: .*)?$",
            r"(?:sudo|apt-get|export) [\w=./-]+$|sudo (?:apt|systemctl|dnf|docker)\b",
            r"(?:el)?if \[\[? .* \]\]?;? ?(?:then)?$|for \w+ in .+; ?do\b|while .+; ?do$",
        ),
    ),
    (
        "powershell",
        "get-¦set-¦new-¦remove-¦write-¦import-¦invoke-¦start-¦stop-¦test-¦out-¦^ps ¦^param",
        (
            r"(?:\$\w+ = )?(?:Get|Set|New|Remove|Write|Import|Invoke|Start|Stop|Test|"
            r"Out)-[A-Z]\w+(?: |$)",
            r"PS [A-Z]:\\.*>|param ?\($",
        ),
    ),
    (
        "html",
        "^<",
        (
            r"<!DOCTYPE html|</\w+>$",
            r"<(?:html|head|body|div|span|script|table|ul|li|form|p|a|h[1-6]|link|meta|"
            r"section)\b[^<>]*>.*",
        ),
    ),
    (
        "xml",
        "^<",
        (r"<\?xml |<[\w-]+:[\w-]+[\s>]",),
    ),
    (
        "css",
        " {¦^@media ¦: ",
        (
            r"(?:[.#:@*&]+[\w-]+|body|html|h[1-6]|p|a|ul|li|div|span|button|input|"
            r"table)(?:[ ,>:.#]+[\w-]+)* \{(?:.*\})?$",
            r"@media .*\{|(?:color|background|margin|padding|display|width|height|border|"
            r"font-size): [^;]+;$",
        ),
    ),
    (
        "dockerfile",
        "^from ¦^entrypoint [¦^cmd [¦^copy ¦^run ",
        (
            r"FROM [\w./-]+(?::[\w.-]+)?(?: AS \w+)?$|(?:ENTRYPOINT|CMD) \[|COPY (?:--\S+ )?\S+ \S+$|"
            r"RUN (?:apt|pip|npm|curl|mkdir)\b",
        ),
    ),
    (
        "diff",
        "^diff --git ¦^@@ -¦^--- ¦^+++ ",
        (r"diff --git |@@ -\d+(?:,\d+)? \+\d+|(?:---|\+\+\+) [ab]/",),
    ),
    (
        "json",
        '":¦" :',
        (r"\"[\w .$@-]+\" ?: (?:[\"\d{\[-]|true|false|null).*,?$|[{\[].*\"\w+\" ?: .+[}\]]$",),
    ),
    (
        "toml",
        "^[",
        (
            r"\[\[?[a-z][\w-]*(?:\.[\w-]+)+\]\]?$|\[(?:project|package|dependencies|build-system|"
            r"tool)\]$",
        ),
    ),
    (
        "haskell",
        ":: ¦^module ¦^import ",
        (
            r"\w+ :: \S.*|module [\w.]+(?: \(.*\))? where$|import (?:qualified )?(?:Data|Control|"
            r"System)\.",
        ),
    ),
    (
        "perl",
        "^my ¦^our ¦^use ¦^sub ",
        (r"(?:my|our) [$@%(].*;$|use (?:strict|warnings);|sub \w+ \{$",),
    ),
    (
        "elixir",
        "^defmodule ¦^def ¦^defp ¦^|> ",
        (r"defmodule [\w.]+ do$|defp? \w+[?!]?(?:\(.*\))?(?:,? do\b.*|: .*)$|\|> \w",),
    ),
    (
        "lua",
        "^local ¦pairs(",
        (r"local (?:function )?\w+(?:, \w+)*(?: = .*|\(.*\))$|for .+ in i?pairs\(",),
    ),
    (
        "r",
        " <- ¦^library(",
        (r"[\w.]+ <- (?:function\(|\w[\w.]*\(|c\(|\d)|library\(\w+\)$",),
    ),
    (
        "scala",
        "^object ¦^def ¦^case class ",
        (r"object \w+(?: extends \w+)? \{|def \w+(?:\[.*\])?\(.*\)(?:: \S+)? = |case class \w+\(",),
    ),
    (
        "fsharp",
        "^let ¦[<entrypoint>]¦^open system",
        (r"let (?:rec |mutable )?\w+(?: \(?\w+(?: ?: ?\w+\))?)* =$|\[<EntryPoint>\]|open System",),
    ),
    (
        "clojure",
        "^(def¦^(ns ",
        (r"\((?:defn-?|ns|def) [\w.!?*-]+",),
    ),
    (
        "terraform",
        '^resource "¦^data "¦^variable "¦^provider "¦^module "',
        (r"(?:resource|data|variable|provider|module) \"[\w-]+\"(?: \"[\w-]+\")? \{$",),
    ),
    (
        "makefile",
        "^.phony:",
        (r"\.PHONY:",),
    ),
    (
        "latex",
        "^\\",
        (r"\\(?:documentclass|begin|end|usepackage|(?:sub)*section)\b",),
    ),
)

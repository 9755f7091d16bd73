"""memory-config.yaml: the defaults, the specification's file, and everything that can be wrong with it."""

from __future__ import annotations

import pytest

from engine.config import Config, load
from engine.errors import ConfigError

SPECIFIED = """\
context_compiler:
  token_budget: 8192
  identity_budget_kb: 17
  memory_budget_kb: 3
  journal_budget_kb: 4
  topic_budget_kb: 6
search:
  bm25_weight: 0.4
  vector_weight: 0.6
watchers:
  similarity_threshold: 0.15
  gate_model: haiku
  gate_max_tokens: 1
lifecycle:
  commit_interval_minutes: 30
  memory_line_cap: 200
git:
  auto_commit: true
  auto_push: true
  commit_message_model: haiku
"""


def test_no_file_and_an_empty_file_mean_the_defaults() -> None:
    assert load(None) == load(b"") == (Config(), ())
    assert load(b"# nothing here\n")[0] == Config()


def test_the_specifications_file_is_read_and_what_has_no_effect_is_said() -> None:
    config, odd = load(SPECIFIED.encode())
    assert config.context_compiler == Config().context_compiler
    assert config.gate.model == "haiku" and config.gate.max_tokens == 1
    assert {problem.what.split()[0] for problem in odd} == {
        "lifecycle",
        "git.auto_push",
        "git.commit_message_model",
    }
    assert all(problem.severity == "warning" and problem.line for problem in odd)


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        ("context_compiler:\n  token_budget: plenty\n", 2, "token_budget"),
        ("context_compiler:\n  token_budget: 3\n", 2, "token_budget"),
        ("gate:\n\n  provider: oracle\n", 3, "gate.provider"),
        ("watchers:\n  policy:\n    high:\n      activate: much\n", 4, "activate"),
        ("watchers: [a, b]\n", 1, "watchers"),
        ("git:\n  auto_commit: perhaps\n", 2, "auto_commit"),
    ],
)
def test_a_wrong_value_names_line_setting_and_value(text: str, line: int, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text.encode())
    assert f"memory-config.yaml:{line}" in str(caught.value) and named in str(caught.value)


def test_broken_yaml_names_the_line() -> None:
    with pytest.raises(ConfigError, match=r"memory-config\.yaml:[23]: is not valid YAML"):
        load(b"gate:\n  provider: [local\n")
    with pytest.raises(ConfigError, match="UTF-8"):
        load(b"gate:\n  provider: \xff\xfe\n")


def test_a_misspelt_setting_is_reported_with_the_likely_one() -> None:
    config, odd = load(b"watchers:\n  similarity_treshold: 0.5\n")
    assert config.watchers.similarity_threshold == 0.15
    (problem,) = odd
    assert (problem.line, problem.what) == (2, "unknown setting watchers.similarity_treshold")
    assert problem.cure == "did you mean similarity_threshold?"


def test_one_row_of_the_policy_leaves_the_others_as_they_are() -> None:
    config, odd = load(b"watchers:\n  policy:\n    high:\n      activate: 0.62\n      gate: 0.34\n")
    assert odd == ()
    assert config.watchers.policy["high"].activate == 0.62
    assert config.watchers.policy["medium"].gate == 0.2
    assert config.watchers.policy["critical"].activate == 0.0

"""The injections screen: what was added to agents' prompts."""

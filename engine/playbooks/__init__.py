"""Makes playbooks from a few words, the past or other agents' files, and tries them on the past."""

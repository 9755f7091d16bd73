"""What a person can do in the workbench: each action once, with its keys, words, help and refusals."""

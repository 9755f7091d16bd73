"""The rules screen: standing instructions learned from what a person told their agents."""

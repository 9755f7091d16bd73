"""A message on its way to a prompt: who matches, scores and judges it, and what is learned from it."""

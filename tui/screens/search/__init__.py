"""The search screen: keyword and semantic search over the memory."""

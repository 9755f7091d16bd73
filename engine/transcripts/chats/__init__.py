"""Reads files that contain whole conversations: exports, histories and chats from other programs.

Session logs that grow line by line are read by ``engine.transcripts.importers``.
"""

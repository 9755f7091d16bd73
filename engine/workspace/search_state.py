"""What an examination says about searching."""

from __future__ import annotations

import time
from collections.abc import Iterator

from engine.errors import AutopoiesisError
from engine.settings import trust
from engine.settings.model import SearchSettings
from engine.store.files import Files
from engine.store.paths import Workspace
from engine.workspace.finding import Finding


def search_findings(workspace: Workspace, files: Files) -> Iterator[Finding]:
    """Whether the search index is there and what it holds, and which embedding model is used."""
    from engine.pipeline.assembly import assemble_index  # noqa: PLC0415 — not needed for --staged

    try:
        config = trust.read(files).config
    except (AutopoiesisError, OSError):
        return
    index = assemble_index(workspace, files, config.search)
    try:
        status = index.status()
    finally:
        index.close()
    if status.state == "ready":
        size = status.size // 1024
        yield Finding("ok", f"search index: {status.files} files, {status.chunks} chunks, {size:,} KiB")
        if status.vectors_coming:
            yield Finding("note", f"search index: {status.vectors_coming}", "autopoiesis index")
    elif status.state == "missing":
        yield Finding("note", "search index: not made yet; files are searched instead", "autopoiesis index")
    else:
        yield Finding("warning", f"search index: {status.why}", "autopoiesis index --rebuild")
    yield from _embedding(config.search)


def _embedding(settings: SearchSettings) -> Iterator[Finding]:
    """Which embedding model is used, and whether it is there; only ``openai`` is asked over the network."""
    from engine.pipeline.assembly import embedder_for  # noqa: PLC0415 — not for --staged
    from engine.search.embeddings import EMBEDDING_FAULTS, slow_one, vector_of  # noqa: PLC0415 — not for --staged

    name = settings.embedding
    try:
        embedder = embedder_for(settings)
        described = {
            "local": f"local, the vectors that ship ({embedder.dimensions} numbers)",
            "minilm": f"minilm, which is installed ({embedder.dimensions} numbers)",
            "openai": f"openai, {settings.embedding_model} ({embedder.dimensions} numbers)",
        }[name]
        try:
            started = time.monotonic()
            # Reads the vectors that ship, or asks; the transformer takes seconds to load.
            known = embedder.id if name != "openai" else vector_of(embedder, "hello")
            took = time.monotonic() - started
        finally:
            if (slow := slow_one(embedder)) is not None:
                slow.close()
    except EMBEDDING_FAULTS as error:
        problem = error if isinstance(error, AutopoiesisError) else AutopoiesisError(str(error))
        place = f"{problem.where}: " if problem.where else ""
        what = f"search.embedding is {name}, and search goes by words alone: {place}{problem.what}"
        yield Finding("error", what, problem.hint)
        return
    answered = f", answered in {1000 * took:,.0f} ms" if name == "openai" and len(known) else ""
    yield Finding("ok", f"search embedding: {described}{answered}")
    defaults = SearchSettings()
    idle = [
        f"search.{each}"
        for each in ("embedding_model", "embedding_dimensions", "embedding_base_url")
        if name != "openai" and getattr(settings, each) != getattr(defaults, each)
    ]
    if idle:
        verb = "has" if len(idle) == 1 else "have"
        what = f"{' and '.join(idle)} {verb} no effect while search.embedding is {name}"
        yield Finding("note", what, "set search.embedding: openai, or remove it")

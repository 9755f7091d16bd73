"""The findings of ``doctor`` about search."""

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
    """The state of the search index, and the embedding model in use."""
    from engine.pipeline.assembly import assemble_index  # noqa: PLC0415 — not needed for --staged

    try:
        config = trust.read(files).config
    except (AutopoiesisError, OSError):
        return
    index = assemble_index(workspace, files, config.search, url=config.index.url)
    try:
        status = index.status()
    finally:
        index.close()
    if status.state == "ready":
        size = status.size // 1024
        yield Finding("ok", f"search index: {status.files} files, {status.chunks} chunks, {size:,} KiB")
        if status.vectors_coming:
            yield Finding("note", f"search index: {status.vectors_coming}", "run: autopoiesis index")
    elif status.state == "missing":
        what = "search index: not built yet; files are searched instead"
        yield Finding("note", what, "run: autopoiesis index")
    else:
        is_lost = config.index.url and status.state == "broken"
        hint = "check the server and index.url" if is_lost else "run: autopoiesis index --rebuild"
        yield Finding("warning", f"search index: {status.why}", hint)
    yield from _embedding(config.search)


def _embedding(settings: SearchSettings) -> Iterator[Finding]:
    """The embedding model in use, and whether it works; only ``openai`` is called over the network."""
    from engine.pipeline.assembly import embedder_for  # noqa: PLC0415 — not for --staged
    from engine.search.embeddings import EMBEDDING_FAULTS  # noqa: PLC0415 — not for --staged

    name = settings.embedding
    try:
        embedder = embedder_for(settings)
        described = {
            "local": f"local, the built-in vectors ({embedder.dimensions} dimensions)",
            "openai": f"openai, {settings.embedding_model} ({embedder.dimensions} dimensions)",
        }[name]
        try:
            started = time.monotonic()
            known = embedder.embed_query("hello")
            took = time.monotonic() - started
        finally:
            embedder.close()
    except EMBEDDING_FAULTS as error:
        problem = error if isinstance(error, AutopoiesisError) else AutopoiesisError(str(error))
        place = f"{problem.where}: " if problem.where else ""
        what = f"search.embedding is {name}, but search uses words only: {place}{problem.what}"
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

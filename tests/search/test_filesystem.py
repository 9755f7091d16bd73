"""No write-ahead log is used on a network file system."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.search import database
from engine.search.database import is_shared
from engine.store.paths import Workspace
from tests.cases import each_case
from tests.search.conftest import Open
from tests.search.samples import BagOfWords

MOUNTS = """22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
40 27 0:40 / /home rw,relatime shared:1 - nfs4 server:/home rw,vers=4.2
41 40 8:2 / /home/ada/local rw,relatime - xfs /dev/sda2 rw
42 27 0:42 / /mnt/with\\040space rw - cifs //server/share rw
43 27 0:43 / /mnt/remote rw - fuse.sshfs ada@server:/ rw
44 27 0:44 / /mnt/disk rw - fuseblk /dev/sdb1 rw
45 27 0:45 / /mnt/twice rw - nfs server:/a rw
46 27 0:46 / /mnt/twice rw - tmpfs tmpfs rw
"""


@each_case(
    ("folder", "shared"),
    [
        ("/srv/memory", False),
        ("/home", True),
        ("/home/ada/memory", True),
        ("/home/ada/local/memory", False),
        ("/homestead/memory", False),
        ("/mnt/with space/memory", True),
        ("/mnt/remote/memory", True),
        ("/mnt/disk/memory", False),
        ("/mnt/twice/memory", False),
    ],
)
def test_the_innermost_mount_decides(folder: str, shared: bool) -> None:
    assert is_shared(Path(folder), MOUNTS) is shared


@each_case("mounts", ["", "nonsense", "1 2 3 - ", "- - - - - - -\n\n"])
def test_an_unparsable_mount_table_counts_as_local(mounts: str) -> None:
    assert is_shared(Path("/srv"), mounts) is False


def test_an_index_on_a_network_file_system_has_no_write_ahead_log(
    filled: Workspace, open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = open_index(filled, BagOfWords())
    index.refresh()
    assert index.status().journal == "wal"
    index.close()
    monkeypatch.setattr(database, "is_shared", lambda folder: True)
    index = open_index(filled, BagOfWords())
    index.rebuild()
    assert index.status().journal == "delete"
    assert index.search("rye bread")[0].source == "index"
    assert not filled.database.with_name("memory.db-wal").exists()

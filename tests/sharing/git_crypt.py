"""A stand-in for git-crypt: same filters, same header, same location of the key.

Its encryption is good enough for tests only.
"""

from __future__ import annotations

import sys
from pathlib import Path

_PROGRAM = r"""
import os, sys
from hashlib import sha256

HEADER = b"\0GITCRYPT\0"

def git(*words):
    import subprocess

    return subprocess.run(["git", *words], capture_output=True, check=True).stdout.decode().strip()

top = ".git" if os.path.isdir(".git") else git("rev-parse", "--git-dir")
folder = os.path.join(top, "git-crypt", "keys")
place = os.path.join(folder, "default")

def key():
    try:
        return open(place, "rb").read()
    except OSError:
        sys.exit("git-crypt: Error: Unable to open key file")

def crypted(data, nonce):
    blocks = -(-len(data) // 32)
    stream = b"".join(sha256(key() + nonce + b"%d" % at).digest() for at in range(blocks))
    return bytes(one ^ two for one, two in zip(data, stream))

def configure(data):
    os.makedirs(folder)
    open(place, "wb").write(data)
    for verb in ("smudge", "clean"):
        git("config", "filter.git-crypt." + verb, '"git-crypt" ' + verb)
    git("config", "filter.git-crypt.required", "true")
    for path in filter(None, git("ls-files", "-z", "knowledge/private").split("\0")):
        os.unlink(path)
        git("checkout", "--", path)

verb, *rest = sys.argv[1:]
if verb == "init":
    if os.path.exists(place):
        sys.exit("Error: this repository has already been initialized with git-crypt.")
    configure(os.urandom(32))
elif verb == "unlock":
    configure(open(rest[0], "rb").read())
elif verb == "export-key":
    open(rest[0], "wb").write(key())
elif verb == "clean":
    data = sys.stdin.buffer.read()
    nonce = sha256(key() + data).digest()[:12]
    sys.stdout.buffer.write(HEADER + nonce + crypted(data, nonce))
elif verb == "smudge":
    data = sys.stdin.buffer.read()
    is_sealed = data.startswith(HEADER)
    sys.stdout.buffer.write(crypted(data[22:], data[10:22]) if is_sealed else data)
"""


def install_stand_in(path: Path) -> None:
    """Writes the stand-in to ``path`` and makes it executable."""
    path.write_text(f"#!{sys.executable} -IS\n{_PROGRAM}")
    path.chmod(0o755)

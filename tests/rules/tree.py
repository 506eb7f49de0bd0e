# SPDX-License-Identifier: Apache-2.0
"""The files of the project."""
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]


def files():
    """Paths of all files that belong to the project, also in a copy without git."""
    git = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    if git.returncode == 0:
        return [p for p in sorted(set(git.stdout.splitlines())) if (ROOT / p).is_file()]
    return sorted(str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file() and "build" not in p.parts)


def sources():
    return [p for p in files() if p.removesuffix(".in").endswith((".c", ".cpp", ".h", ".hpp", ".def"))]


def text(path):
    return (ROOT / path).read_text()

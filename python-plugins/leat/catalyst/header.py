# SPDX-License-Identifier: Apache-2.0
"""What a Catalyst script says of itself in its first lines, before any ParaView is started; for `leat check` and the log."""
import importlib.util
import re
import shlex
import shutil
import sys
import tokenize

# "# Catalyst state generated using paraview version 5.11.0", "# state file generated using paraview version 5.12.0-RC1"
_MADE_BY = re.compile(r"^#.*generated using paraview version (\d+)\.(\d+)(\.\d+)?", re.MULTILINE)
_VERSION = re.compile(r"^#\s*script-version\s*:\s*(\d+)(\.\d+)?", re.MULTILINE)


class Header:
    """version: of the form of script, 0 where it is none for Catalyst. made_by: (5, 11), or None. newer_than: see there."""

    def __init__(self, path):
        with tokenize.open(path) as file:
            text = file.read()
        said, made_by = _VERSION.search(text), _MADE_BY.search(text)
        is_legacy = "RequestDataDescription" in text and "DoCoProcessing" in text
        self.version = int(said[1]) if said else 1 if is_legacy else 0
        self.made_by = (int(made_by[1]), int(made_by[2])) if made_by else None

    def wrong(self):
        """Why ParaView could not run it, or ""."""
        if self.version in (1, 2):
            return ""
        if self.version:
            return f'"# script-version: {self.version}.0": Leat runs scripts of the versions 1 and 2'
        return ('it is no Catalyst script: it has no line "# script-version: 2.0". ParaView writes one by File > Export Catalyst '
                "State; a script written by hand begins with that line")

    def newer_than(self, paraview):
        """What may go wrong with an older ParaView, "" where it is none. paraview: (5, 11)."""
        if not self.made_by or self.made_by <= paraview:
            return ""
        return (f"it was exported by ParaView {_text(self.made_by)}, and this Python has ParaView {_text(paraview)}: properties that are "
                f"new since then are errors there. Export it with ParaView {_text(paraview)}, or give <scripts> the interpreter of a "
                "newer one")


def installed_version():
    """(5, 11) of the ParaView that this Python would import; None where there is none. Runs nothing of it but its package."""
    try:
        if importlib.util.find_spec("paraview.catalyst") is None:
            return None
        import paraview
    except ImportError:
        return None
    found = re.match(r"(\d+)\.(\d+)", getattr(paraview, "__version__", ""))
    return (int(found[1]), int(found[2])) if found else (0, 0)


def arguments(text):
    """Words of args="..." as a shell would split them. ValueError when a quote is not closed."""
    return shlex.split(text)


def look_at(path, plan):
    """What is wrong with the script at `path`, and what may be: (errors, warnings)."""
    header = Header(path)
    errors = [header.wrong()] if header.wrong() else []
    try:
        arguments(plan["args"])
    except ValueError as why:
        errors.append(f'args="{plan["args"]}": {why}')
    version = installed_version()
    if version is None:
        return [*errors, f"{sys.executable} has no ParaView: install Debian's python3-paraview and xvfb, or give <scripts> an interpreter "
                "that has paraview.catalyst"], []
    warnings = [header.newer_than(version)] if header.newer_than(version) else []
    return errors, warnings + _without_display()


def _without_display():
    import os

    from ..vtk.display import is_needed
    if os.environ.get("DISPLAY") or shutil.which("Xvfb") or not is_needed():
        return []
    return ["ParaView of this Python draws through an X server, and there is neither a DISPLAY nor Xvfb here: it must be on the nodes "
            "(Debian: apt install xvfb)"]


def _text(version):
    return ".".join(map(str, version))

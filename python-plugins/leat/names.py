# SPDX-License-Identifier: Apache-2.0
"""What is said of a name that is not there, and names of XML for Leat made of those of others."""
import difflib
import re


def did_you_mean(name, names):
    """The nearest of the names, or all of them; for the end of a message."""
    near = difflib.get_close_matches(name, list(names), 1)
    if near:
        return f'; did you mean "{near[0]}"?'
    return "; there are: " + ", ".join(sorted(names)) if names else ""


def identifier(text):
    """A name of a parameter or dimension: what it may not have becomes "_"."""
    text = re.sub(r"[^A-Za-z0-9_]", "_", text, flags=re.ASCII)
    return text if re.match(r"[A-Za-z_]", text) else f"_{text}"


def object_name(text):
    """The same of a variable, layout, mesh, group or simulation."""
    text = re.sub(r"[^A-Za-z0-9_.\-]", "_", text, flags=re.ASCII)
    return text if re.match(r"[A-Za-z0-9_]", text) else f"_{text}"

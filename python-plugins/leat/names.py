# SPDX-License-Identifier: Apache-2.0
"""What is said of a name that is not there."""
import difflib


def did_you_mean(name, names):
    """The nearest of the names, or all of them; for the end of a message."""
    near = difflib.get_close_matches(name, list(names), 1)
    if near:
        return f'; did you mean "{near[0]}"?'
    return "; there are: " + ", ".join(sorted(names)) if names else ""

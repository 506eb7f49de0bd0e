# SPDX-License-Identifier: Apache-2.0
"""Pages that explain messages quote them as the sources have them."""
import re

import pytest
from tree import files, text

PAGES = ["docs/how-to/troubleshooting.md"]
SAID_BY = ("client-api/", "lib/", "server/", "python-plugins/")


def literals(source):
    """The text in quotes; what stands in several pieces behind each other is one, as compilers have it."""
    joined = re.sub(r'(?<!\\)"\s*\n\s*f?"', "", source)
    return joined.replace('\\"', '"')


SOURCES = [literals(text(p)) for p in files() if p.startswith(SAID_BY) and p.endswith((".cpp", ".hpp", ".py", ".def"))]


def messages(page):
    """The first cells of tables of messages; "..." stands for what differs."""
    for table in re.findall(r"^\| message \|.*\n\|[-|]+\n((?:\|.*\n)+)", text(page), re.M):
        for row in table.splitlines():
            yield re.match(r"\| `(.*?)` \|", row)[1]


@pytest.mark.parametrize("message", [each for page in PAGES for each in messages(page)])
def test_a_message_that_a_page_explains_is_one_of_the_sources(message):
    pieces = [piece.strip(" ") for piece in message.split("...")]
    assert any(all(piece in source for piece in pieces) for source in SOURCES)


def test_a_message_that_nobody_says_is_found():
    assert "ends with them" in literals('return "it ends "\n    "with them";')
    assert len(list(messages(PAGES[0]))) > 15

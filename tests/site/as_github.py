# SPDX-License-Identifier: Apache-2.0
"""as_github.py DOCS SITE: prints a line for each page of which GitHub shows other text, or other parts, than the site does."""
import pathlib
import re
import sys

import cmarkgfm
from bs4 import BeautifulSoup
from cmarkgfm.cmark import Options

PARTS = ("h1", "h2", "h3", "ol", "ul", "li", "pre", "table", "tr", "img", "blockquote", "strong", "em", "code")


def on_site(path):
    article = BeautifulSoup(path.read_text(), "html.parser").find("article")
    for sign in article.select("a.headerlink"):
        sign.decompose()
    return article


def seen(article):
    for code in article.select("pre code"):
        code.unwrap()
    return re.sub(r"\s+", "", article.get_text()), {part: len(article.find_all(part)) for part in PARTS}


def difference(ours, theirs):
    (text, parts), (their_text, their_parts) = ours, theirs
    if text != their_text:
        at = next((i for i, (a, b) in enumerate(zip(text, their_text)) if a != b), min(len(text), len(their_text)))
        return f"{text[max(0, at - 30):at + 30]!r} where GitHub has {their_text[max(0, at - 30):at + 30]!r}"
    return ", ".join(f"{parts[p]} <{p}> where GitHub has {their_parts[p]}" for p in PARTS if parts[p] != their_parts[p])


def main():
    docs, site = map(pathlib.Path, sys.argv[1:])
    for page in sorted(docs.rglob("*.md")):
        name = page.relative_to(docs)
        made = site / ("index.html" if str(name) == "README.md" else name.with_suffix(".html"))
        html = cmarkgfm.github_flavored_markdown_to_html(page.read_text(), Options.CMARK_OPT_UNSAFE)
        if said := difference(seen(on_site(made)), seen(BeautifulSoup(html, "html.parser"))):
            print(f"{name}: {said}")


main()

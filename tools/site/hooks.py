# SPDX-License-Identifier: Apache-2.0
"""What makes a site of docs/ beside MkDocs: its contents list out of docs/README.md, pages of the sources that other pages link
to, and Markdown as GitHub reads it. Pages stay as they are: their links are right in the tree, and here they are made right."""
import pathlib
import posixpath
import re

from mkdocs.structure.files import File, InclusionLevel

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of the site, for what is not in docs/: examples/heat_c/heat.c is on the page tree/examples/heat_c/heat.c.
OUTSIDE = "tree/"
ASSETS = ("leat.css", "iframe-worker.js")
LINK = re.compile(r"(?<!\\)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
LANGUAGES = {".f90": "fortran", ".py": "python", ".cpp": "cpp", ".hpp": "cpp", ".c": "c", ".h": "c", ".xml": "xml", ".txt": "cmake"}


def pieces(text):
    """A page as (text, whether it is prose): what is not lies between fences."""
    prose, fence = True, None
    piece = []
    for line in text.split("\n"):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        opens = mark is not None and fence is None
        if opens:
            yield "\n".join(piece), True
            piece, fence, prose = [], mark[1], False
        piece.append(line)
        if not opens and fence and line.strip() == fence:
            yield "\n".join(piece), False
            piece, fence, prose = [], None, True
    yield "\n".join(piece), prose


# Contents


def title_of(words):
    """Of a page in the contents: commands stay as they are typed."""
    plain = " ".join(words.replace("`", "").split())
    return plain if words.startswith("`") else plain[:1].upper() + plain[1:]


def pages_in(lines):
    """(title, page of docs/) of all links of a paragraph, and what is before the first one."""
    text = " ".join(lines)
    links = [(title_of(name), target) for name, target in LINK.findall(text) if target.endswith(".md") and not target.startswith("http")]
    before = re.match(r"(?:[-|]|\d+\.)?\s*([^\[|]*?)[:?]\s*\[", text)
    return links, title_of(re.sub(r"^Do you come (.*)", r"\1", before[1])) if before else None


def blocks(text):
    """Paragraphs, list items, rows of tables and headings of a page, each as its lines."""
    block = []
    for line in text.split("\n"):
        if not line.strip() or re.match(r"(- |\d+\. |\||#)", line):
            yield from [block] if block else []
            block = []
        if line.strip():
            block.append(line)
    yield from [block] if block else []


def contents(index):
    """The `nav` of MkDocs that says what docs/README.md says: parts by headings, groups by bold words."""
    nav, seen, part, group = [{"Documentation": "README.md"}], {"README.md"}, None, None
    for block in blocks(index):
        if heading := re.match(r"## (.+)", block[0]):
            part = group = []
            nav.append({heading[1]: part})
            continue
        if part is None:
            continue
        if bold := re.match(r"\*\*(.+?)\*\*", block[0]):
            group = []
            part.append({bold[1]: group})
        if block[0].startswith("| command |"):
            group = []
            part.append({"Commands": group})
        links, above = pages_in(block)
        new = [(title, page) for title, page in links if in_site(page) not in seen]
        seen.update(in_site(page) for _, page in new)
        items = [{title: in_site(page)} for title, page in new]
        group += [{above: items}] if above and len(items) > 1 else items
    return nav


# What is outside of docs/


def in_site(target, page="docs/README.md"):
    """The file of the site that a link of a page of the tree leads to."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
    return path.removeprefix("docs/") if path.startswith("docs/") else OUTSIDE + path + ("" if path.endswith(".md") else ".md")


def in_tree(src_uri):
    """The file of the tree that a page of the site shows."""
    if not src_uri.startswith(OUTSIDE):
        return "docs/" + src_uri
    path = src_uri.removeprefix(OUTSIDE)
    return path if (ROOT / path).exists() else path.removesuffix(".md")


def is_relative(target):
    return not re.match(r"[a-z]+:|#|/", target)


def leaving(path, text):
    """The files outside of docs/ that a page links to."""
    for piece, is_prose in pieces(text):
        for _, target in LINK.findall(piece) if is_prose else []:
            to = posixpath.normpath(posixpath.join(posixpath.dirname(path), target.partition("#")[0]))
            if is_relative(target) and not to.startswith("docs/") and (ROOT / to).exists():
                yield to


def shown(path):
    """A file of the tree as a page: Markdown as it is, others as code, of folders what is in them."""
    file = ROOT / path
    if file.is_dir():
        return f"# {path}\n\n" + "".join(f"- [{each.name}]({posixpath.basename(path)}/{each.name})\n" for each in sorted(file.iterdir())
                                         if each.is_file())
    if path.endswith(".md"):
        return file.read_text()
    fence = "`" * 8
    return f"# {path}\n\n{fence}{LANGUAGES.get(file.suffix, 'text')}\n{file.read_text().rstrip()}\n{fence}\n"


def on_config(config):
    config.nav = contents((ROOT / "docs/README.md").read_text())
    return config


def on_files(files, config):
    todo = [(in_tree(file.src_uri), file.content_string) for file in files.documentation_pages()]
    done = set()
    while todo:
        for path in sorted(set(leaving(*todo.pop())) - done):
            done.add(path)
            text = shown(path)
            files.append(File.generated(config, in_site(f"../{path}"), content=text, inclusion=InclusionLevel.NOT_IN_NAV))
            todo.append((path, text if path.endswith(".md") or (ROOT / path).is_dir() else ""))
    for name in ASSETS:
        files.append(File.generated(config, f"assets/{name}", content=(ROOT / "tools/site" / name).read_text()))
    return files


# Pages


def led(page, here):
    """A link of a page of the tree as one of the site."""
    def to_site(link):
        target, hash_, part = link[2].partition("#")
        if not target or not is_relative(target):
            return link[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
        if not (ROOT / path).exists() or not page.startswith("docs/") and path.startswith(".."):
            return link[0]
        return f"[{link[1]}]({posixpath.relpath(in_site(target, page), posixpath.dirname(here) or '.')}{hash_}{part})"
    return to_site


ITEM = re.compile(r"([-*]|\d+\.) ")


def with_lists(text):
    """Lists as GitHub reads them. MkDocs wants an empty line before one, and all that belongs to an item four columns in."""
    width, before, lines = 0, "", []
    for piece, is_prose in pieces(text):
        for line in piece.split("\n"):
            item = ITEM.match(line) if is_prose else None
            if item and before.strip() and not before.startswith(" ") and not ITEM.match(before):
                lines.append("")
            if item:
                width = len(item[0])
            elif line.strip() and not line.startswith(" " * width):
                width = width if is_prose and before.strip() else 0  # a line that goes on with the item needs no columns
            elif line.strip() and width:
                line = " " * (4 - width) + line
            lines.append(line)
            before = line
    return "\n".join(lines)


def on_page_markdown(markdown, page, config, files):
    here = page.file.src_uri
    text = re.sub(r"\A<!--.*?-->\n", "", markdown, flags=re.S)
    if heading := re.search(r"^# (.+)", text, flags=re.M):
        page.meta.setdefault("title", heading[1].replace("`", ""))  # in the contents it has that of docs/README.md
    to_site = led(in_tree(here), here)
    return with_lists("\n".join(LINK.sub(to_site, piece) if is_prose else piece for piece, is_prose in pieces(text)))

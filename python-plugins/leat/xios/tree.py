# SPDX-License-Identifier: Apache-2.0
"""Definitions of XIOS as a tree whose elements know where they stand; src="..." is the file that it names."""

import os
import re
from xml.parsers import expat

from . import tables
from .report import Wrong, nearest

_MOST_DEEP = 100
_COMMENT = re.compile(rb"<!--.*?-->", re.S)
_LATE_DECLARATION = re.compile(rb"\s+(<\?xml\b[^>]*\?>)")
_WIDE = (b"\xff\xfe", b"\xfe\xff")


class Element:
    def __init__(self, tag, attributes, place, parent):
        self.tag, self.attributes, self.place, self.parent = tag, attributes, place, parent
        self.children, self.text = [], ""

    def get(self, name):
        return self.attributes.get(name)

    @property
    def id(self):
        return self.attributes.get("id", "")

    def __str__(self):
        return f'<{self.tag} id="{self.id}">' if self.id else f"<{self.tag}>"

    def within(self):
        """All elements below it, in their order."""
        for child in self.children:
            yield child
            yield from child.within()


class _Builder:
    def __init__(self, path):
        self.path, self.root, self.now = path, None, None
        self.depth = 0
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text
        self.parser.StartDoctypeDeclHandler = self._doctype

    def _place(self):
        return f"{self.path}:{self.parser.CurrentLineNumber}:{self.parser.CurrentColumnNumber + 1}"

    def _start(self, tag, attributes):
        self.depth += 1
        if self.depth > _MOST_DEEP:
            raise Wrong(self._place(), f"elements stand in each other more than {_MOST_DEEP} deep")
        made = Element(tag, attributes, self._place(), self.now)
        if self.now is None:
            self.root = made
        else:
            self.now.children.append(made)
        self.now = made

    def _end(self, _tag):
        self.depth -= 1
        self.now = self.now.parent

    def _text(self, text):
        if self.now is not None:
            self.now.text += text

    def _doctype(self, *_):
        raise Wrong(self._place(), "definitions of XIOS have no DOCTYPE; take it out")


def _bytes_of(path, asked_at):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise Wrong(asked_at, f'cannot read "{path}": {error.strerror}') from None


def _blank(found):
    return re.sub(rb"[^\n]", b" ", found[0])


def _as_xml(data):
    """XIOS takes "--" in comments, and a declaration behind them; XML has neither. Lines and columns stay."""
    if data.startswith(_WIDE):
        return data
    data = _COMMENT.sub(_blank, data)
    late = _LATE_DECLARATION.match(data)
    return data[:late.start(1)] + b" " * len(late[1]) + data[late.end(1):] if late else data


def _parse(path, asked_at):
    data = _as_xml(_bytes_of(path, asked_at))
    builder = _Builder(path)
    try:
        builder.parser.Parse(data, True)
    except expat.ExpatError as error:
        what = expat.errors.messages[error.code]
        hint = ""
        if error.code == expat.errors.codes[expat.errors.XML_ERROR_TAG_MISMATCH] and builder.now is not None:
            hint = f": <{builder.now.tag}> of line {builder.now.place.split(':')[-2]} is still open"
        raise Wrong(f"{path}:{error.lineno}:{error.offset + 1}", f"this is no XML: {what}{hint}") from None
    except (LookupError, ValueError) as error:
        raise Wrong(path, f"this is no XML: {error}") from None
    return builder.root


def read(path):
    """The tree of a file, and of those that it takes in."""
    root = _parse(path, "")
    _take_in(root, [os.path.realpath(path)], os.path.dirname(path))
    return root


def _take_in(element, under_way, folder):
    source = element.get("src")
    if source:
        path, folder = _found(source, folder), os.path.dirname(_found(source, folder))
        real = os.path.realpath(path)
        if real in under_way:
            raise Wrong(element.place, f'src="{source}" takes in a file that is being read: a circle')
        taken = _parse(path, element.place)
        if tables.kind_of(taken.tag) != tables.kind_of(element.tag):
            raise Wrong(taken.place, f"<{element.tag}> takes this file in, and it begins with <{taken.tag}>")
        element.attributes = {**taken.attributes, **{k: v for k, v in element.attributes.items() if k != "src"}}
        element.place = taken.place
        element.children += taken.children
        element.text += taken.text
        for child in taken.children:
            child.parent = element
        under_way = [*under_way, real]
        if taken.get("src"):
            element.attributes["src"] = taken.get("src")
            _take_in(element, under_way, folder)
            return
    for child in element.children:
        _take_in(child, under_way, folder)


def _found(source, folder):
    """Beside the file that names it; XIOS looks in the folder of the run. Scripts of a job put values for $NAME."""
    source = os.path.expandvars(source)
    beside = os.path.normpath(os.path.join(folder, source))
    return source if not os.path.exists(beside) and os.path.exists(source) else beside


def check(root, report):
    """Says what XIOS does not know, and what has no equal; takes unknown elements out."""
    for element in [root, *root.within()]:
        _check_attributes(element, report)
        for child in [each for each in element.children if each.tag not in tables.ELEMENTS]:
            report.warn(child.place, f"XIOS has no element <{child.tag}>, and what is in it is left out" +
                        nearest(child.tag, tables.ELEMENTS))
        element.children = [each for each in element.children if each.tag in tables.ELEMENTS]


def _check_attributes(element, report):
    kind = tables.kind_of(element.tag)
    if kind not in (*tables.KINDS, "context", "calendar"):
        return
    for name in element.attributes:
        lost, noted = tables.LOST.get((kind, name)), tables.NOTED.get((kind, name))
        if tables.is_read(kind, name):
            continue
        if lost:
            report.without_equal(element.place, f"{name} of <{kind}>", lost)
        elif noted:
            report.not_needed(element.place, f"{name} of <{kind}>", noted)
        else:
            report.warn(element.place, f'XIOS has no attribute {name}="..." of <{element.tag}>, and it is left out' +
                        nearest(name, tables.known_attributes(kind)))

# SPDX-License-Identifier: Apache-2.0
"""Expressions of fields, like "@sst2 - @sst * @sst": read as XIOS does, and written as expr="..." of Leat has them.
Source: src/parse_expr of XIOS 3."""

import re
from dataclasses import dataclass

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|(?P<average>@[A-Za-z]\w*)|(?P<variable>\$[A-Za-z]\w*)|"
    r"(?P<name>[A-Za-z_]\w*)|(?P<sign>==|<=|>=|/=|[-+*/^<>?:()]))", re.ASCII)
FUNCTIONS = ("cos", "sin", "tan", "exp", "log", "log10", "sqrt")
_COMPARISONS = ("==", "<", ">", "<=", ">=", "/=")
_LEVELS = (_COMPARISONS, ("+", "-"), ("*", "/"))
_MOST_DEEP = 200


class NotRead(ValueError):
    """Why a text is no expression, or none that Leat can have."""


@dataclass(frozen=True)
class Node:
    """A number, name, average (of @name), variable (of $name), function, or sign with its arguments."""

    kind: str
    text: str
    arguments: tuple = ()

    def within(self):
        yield self
        for each in self.arguments:
            yield from each.within()


def parse(text):
    return _Reader(text).whole()


class _Reader:
    def __init__(self, text):
        self.text, self.tokens, at = text, [], 0
        while at < len(text.rstrip()):
            found = _TOKEN.match(text, at)
            if not found:
                raise NotRead(f'"{text[at:].strip()[:20]}" is nothing that an expression may have')
            self.tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()
        self.at = self.depth = 0

    def _next(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "its end")

    def _take(self, *signs):
        kind, text = self._next()
        if kind != "sign" or text not in signs:
            return None
        self.at += 1
        return text

    def _expect(self, sign):
        if not self._take(sign):
            raise NotRead(f'expected "{sign}" before {self._next()[1]}')

    def whole(self):
        made = self._choice()
        if self.at < len(self.tokens):
            raise NotRead(f'nothing may stand before "{self._next()[1]}"')
        return made

    def _choice(self):
        self.depth += 1
        if self.depth > _MOST_DEEP:
            raise NotRead(f"it is more than {_MOST_DEEP} deep")
        made = self._level(0)
        if self._take("?"):
            first = self._choice()
            self._expect(":")
            made = Node("choice", "?", (made, first, self._choice()))
        self.depth -= 1
        return made

    def _level(self, level):
        if level == len(_LEVELS):
            return self._signed()
        made = self._level(level + 1)
        while sign := self._take(*_LEVELS[level]):
            made = Node("sign", sign, (made, self._level(level + 1)))
        return made

    def _signed(self):
        self.depth += 1
        if self.depth > _MOST_DEEP:
            raise NotRead(f"it is more than {_MOST_DEEP} deep")
        made = Node("negative", "-", (self._signed(),)) if self._take("-") else self._power()
        self.depth -= 1
        return made

    def _power(self):
        base = self._operand()
        return Node("sign", "^", (base, self._signed())) if self._take("^") else base

    def _operand(self):
        kind, text = self._next()
        if self._take("("):
            made = self._choice()
            self._expect(")")
            return made
        if kind in ("sign", "end"):
            raise NotRead(f"a name or a number is missing before {text}")
        self.at += 1
        if kind == "name" and self._take("("):
            if text not in FUNCTIONS:
                raise NotRead(f'there is no function "{text}"; there are: {", ".join(FUNCTIONS)}')
            made = Node("function", text, (self._choice(),))
            self._expect(")")
            return made
        return Node(kind, text.lstrip("@$"))


def written(node, name_of):
    """As Leat has it; `name_of` gives the text for a name, average or variable."""
    if node.kind == "number":
        return node.text
    if node.kind in ("name", "average", "variable"):
        return name_of(node)
    texts = [written(each, name_of) for each in node.arguments]
    if node.kind == "function":
        return f"{node.text}({texts[0]})"
    if node.kind == "choice":
        return f"where({', '.join(texts)})"
    texts = [f"({text})" if each.kind in ("sign", "negative") else text for each, text in zip(node.arguments, texts)]
    if node.kind == "negative":
        return f"-{texts[0]}"
    sign = "!=" if node.text == "/=" else node.text
    if sign in "+*" and node.arguments[0].kind == "sign" and node.arguments[0].text == node.text:
        texts[0] = texts[0][1:-1]
    return f"{texts[0]} {sign} {texts[1]}"

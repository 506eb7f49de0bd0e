# SPDX-License-Identifier: Apache-2.0
"""How large the classes and functions of a source are: enough of C++ for code in this tree's format."""
import re
from dataclasses import dataclass

NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#(?:[^\n\\]|\\.)*',
                   re.S | re.M)
ATTRIBUTES = re.compile(r"\[\[.*?\]\]|__attribute__\s*\(\(.*?\)\)|alignas\([^)]*\)|\b(?:public|private|protected):")
NO_DECLARATION = re.compile(r"(?:using|friend|typedef|static_assert|template\s*\S*\s*(?:class|struct)\s+\w+$|enum)\b")
CLASS = re.compile(r"(?:^|[\s>])(class|struct|union)\s+([\w:]+)")


@dataclass
class Shape:
    kind: str  # "class", "struct" or "function"
    name: str
    line: int
    methods: int = 0  # that are more than made, ended or defaulted
    members: int = 0
    lines: int = 0


def blank(match):
    """Nothing but the lines."""
    return "\n" * match.group().count("\n") or " "


def without_angles(text):
    """Without the arguments of templates."""
    text = re.sub(r"operator\s*(<=>|<<|>>|<=|>=|<|>|->)", "operator_", text)
    while (shorter := re.sub(r"(?<=\w)\s*<[^<>;{}]*>", "", text)) != text:
        text = shorter
    return text


def count(statement, shape):
    """Adds what one statement in a class declares."""
    text = without_angles(ATTRIBUTES.sub(" ", statement)).strip()
    if not text or NO_DECLARATION.match(text) or re.search(r"=\s*(default|delete)$", text) or CLASS.fullmatch(text):
        return
    before_value = text if "operator" in text else text.split("=", 1)[0].split("{", 1)[0]
    if re.search(r"\w\s*\(", before_value) and "(*" not in before_value:
        name = re.search(r"(~?[\w]+)\s*\(", before_value).group(1)
        shape.methods += name.lstrip("~") != shape.name.split("::")[-1]
    elif not re.match(r"static\b|constexpr\b|inline static\b", text):
        shape.members += len(re.sub(r"\([^()]*\)|\{[^{}]*\}", "", text).split(","))


def what_opens(head, inside):
    """What a brace after `head` opens."""
    text = without_angles(ATTRIBUTES.sub(" ", head)).strip()
    if re.search(r'\bnamespace\b|^extern\s*$', text):
        return "namespace"
    if re.match(r"(?:typedef\s+)?enum\b", text):
        return "other"
    declared = CLASS.search(text)
    if declared and "(" not in text and "=" not in text:
        return "class"
    is_initialiser = re.search(r"\)\s*(?:noexcept\s*)?:[^:]", text) and text[-1:] not in ")}"
    is_value = re.match(r"[^()]*=", text) and "operator" not in text
    return "function" if ")" in text and not is_value and not is_initialiser else "other"


def shapes(source):
    """All classes and functions that are not in functions."""
    text = NOISE.sub(blank, source)
    found, stack, head, line, begin = [], [], "", 1, 1
    for char in text:
        line += char == "\n"
        in_function = any(kind in ("function", "other") for kind, _, _ in stack)
        if not head.strip():
            begin = line
        if char == "{":
            kind = "other" if in_function else what_opens(head, stack)
            shape = None
            if kind == "class":
                word, name = CLASS.search(without_angles(ATTRIBUTES.sub(" ", head))).groups()
                shape = Shape(word, name, begin)
            elif kind == "function":
                names = re.findall(r"([\w:~]+|operator\S+)\s*\(", without_angles(head))
                shape = Shape("function", names[0] if names else "?", begin)
                if stack and stack[-1][0] == "class":
                    count(head + ";", stack[-1][1])
            found += [shape] if shape else []
            stack.append((kind, shape, head))
            head = head if kind == "other" and not in_function else ""
        elif char == "}" and stack:
            kind, shape, before = stack.pop()
            if shape:
                shape.lines = line - shape.line + 1
            head = before + "{}" if kind == "other" and not in_function_of(stack) else ""
        elif char == ";" and not in_function:
            if stack and stack[-1][0] == "class":
                count(head, stack[-1][1])
            head = ""
        elif not in_function:
            head += char
            if head.strip() in ("public:", "private:", "protected:"):
                head = ""
    return found


def in_function_of(stack):
    return any(kind in ("function", "other") for kind, _, _ in stack)

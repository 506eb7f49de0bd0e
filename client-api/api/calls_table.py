# SPDX-License-Identifier: Apache-2.0
"""The table of calls, calls.def, for what is made of it."""
import pathlib
import re
from dataclasses import dataclass

FOLDER = pathlib.Path(__file__).resolve().parent
C = {"TEXT": "const char* {}", "BLOCK": "uint32_t {}", "RANKS": "int32_t {}", "INT": "int32_t {}", "LONG": "int64_t {}",
     "REAL": "double {}", "NUMBERS": "const leat_list* {}", "POSITION": "const leat_list* {}", "REALS": "const leat_reals* {}",
     "LONG_TO": "int64_t* {}", "REAL_TO": "double* {}",
     "DATA": "const void* {}", "MEMORY_TO": "void** {}", "ARRAY_TO": "void* {}"}


@dataclass
class Argument:
    role: str  # "TEXT"; "" for those that are written by hand everywhere
    name: str
    c: str  # as C declares it


@dataclass
class Call:
    function: str  # of C, without leat_
    result: str
    arguments: list
    name: str = ""  # in the other languages; "" where C alone has it
    by_hand: tuple = ()  # languages
    purpose: str = ""

    def is_made_for(self, language):
        return bool(self.name) and language not in self.by_hand

    def declaration(self):
        return f"{self.result} leat_{self.function}({', '.join(a.c for a in self.arguments) or 'void'});"

    def in_order_of_languages(self):
        """The order of arguments in all languages but C."""
        return sorted(self.arguments, key=lambda a: a.role in ("BLOCK", "RANKS"))


def split(text):
    """Parts between the commas that are in no bracket and no string."""
    parts, depth, begin = [], 0, 0
    for found in re.finditer(r'"(?:\\.|[^"\\])*"|[(),]', text):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if found[0] == "," and depth == 0:
            parts.append(text[begin:found.start()].strip())
            begin = found.end()
    return [*parts, text[begin:].strip()]


def string(literal):
    return re.sub(r"\\(.)", r"\1", literal[1:-1])


def argument(text):
    role, inside = re.fullmatch(r"LEAT_(\w+)\((.*)\)", text).groups() if text.startswith("LEAT_") else ("", text)
    if role in C:
        return Argument(role, inside, C[role].format(inside))
    if role in ("GIVEN", "FILLED"):
        type_, name = split(inside)
        return Argument("", name, f"{'const ' if role == 'GIVEN' else ''}{type_}* {name}")
    return Argument("", text.split()[-1], text)


def arguments(text):
    return [] if text == "(LEAT_NOTHING)" else [argument(part) for part in split(text[1:-1])]


def calls():
    """All of them, in the order of the table."""
    for kind, inside in re.findall(r"^LEAT_(CALL|C_CALL|OTHER)\((.*)\)$", (FOLDER / "calls.def").read_text(), re.M):
        words = split(inside)
        if kind == "CALL":
            _, name, function, given, by_hand, purpose = words
            yield Call(function, "leat_status", arguments(given), name, tuple(string(by_hand).split()), string(purpose))
        elif kind == "C_CALL":
            yield Call(words[1], "leat_status", arguments(words[2]))
        else:
            yield Call(words[1], words[0], arguments(words[2]))

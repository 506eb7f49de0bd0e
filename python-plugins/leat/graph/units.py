# SPDX-License-Identifier: Apache-2.0
"""Whether two units are one, and what one is in units of the SI, by UDUNITS where it is installed:
https://docs.unidata.ucar.edu/udunits/"""
import ctypes
import ctypes.util
import functools
import re

_UTF8, _ASCII_DEFINITION = 2, 8  # enum utEncoding, UT_DEFINITION
_BASES = ("m", "kg", "s", "A", "K", "mol", "cd")


@functools.lru_cache(1)
def _library():
    name = ctypes.util.find_library("udunits2")
    if name is None:
        return None, None
    library = ctypes.CDLL(name)
    for function, result, arguments in (("ut_read_xml", ctypes.c_void_p, [ctypes.c_char_p]),
                                        ("ut_parse", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]),
                                        ("ut_compare", ctypes.c_int, [ctypes.c_void_p] * 2),
                                        ("ut_are_convertible", ctypes.c_int, [ctypes.c_void_p] * 2),
                                        ("ut_format", ctypes.c_int, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint]),
                                        ("ut_set_error_message_handler", ctypes.c_void_p, [ctypes.c_void_p]),
                                        ("ut_free", None, [ctypes.c_void_p])):
        getattr(library, function).restype, getattr(library, function).argtypes = result, arguments
    library.ut_set_error_message_handler(ctypes.cast(library.ut_ignore, ctypes.c_void_p))
    return library, library.ut_read_xml(None)


def why_other(made, taken):
    """ "" for the same unit, else why the one is not the other."""
    if made == taken:
        return ""
    library, system = _library()
    if not system:
        return f'"{made}" is made, and "{taken}" taken'
    one, other = (library.ut_parse(system, unit.encode(), _UTF8) for unit in (made, taken))
    for unit, parsed in ((made, one), (taken, other)):
        if not parsed:
            return f'"{unit}" is no unit that UDUNITS knows'
    same, convertible = library.ut_compare(one, other) == 0, library.ut_are_convertible(one, other)
    library.ut_free(one)
    library.ut_free(other)
    if same:
        return ""
    if convertible:
        return f'"{made}" is made, and "{taken}" taken, which measures the same on another scale: the module has to convert it'
    return f'"{made}" is made, and "{taken}" taken, which is something else'


def in_si(unit):
    """(factor, powers of m, kg, s, A, K, mol, cd): "km" is 1000 and those of m. None of what is none of these times a number, like degC,
    and where UDUNITS does not know it or is not installed."""
    library, system = _library()
    parsed = library.ut_parse(system, unit.encode(), _UTF8) if system else None
    if not parsed:
        return None
    text = ctypes.create_string_buffer(256)
    length = library.ut_format(parsed, text, len(text), _ASCII_DEFINITION)
    library.ut_free(parsed)
    return _read_definition(text.value.decode()) if 0 <= length < len(text) else None


def _read_definition(text):
    """As UDUNITS writes it: "1000 m", "kg.m-3", "0.01"."""
    factor, _, rest = text.partition(" ") if re.match(r"[-+0-9.]", text) else ("1", "", text)
    powers = dict.fromkeys(_BASES, 0)
    for each in filter(lambda word: word not in ("", "1"), rest.split(".")):
        found = re.fullmatch(r"([A-Za-z]+)(-?\d+)?", each)
        if found is None or found[1] not in (*_BASES, "rad"):
            return None
        if found[1] in powers:
            powers[found[1]] += int(found[2] or 1)
    try:
        return float(factor), tuple(powers.values())
    except ValueError:
        return None

# SPDX-License-Identifier: Apache-2.0
"""Whether two units are one, by UDUNITS (https://docs.unidata.ucar.edu/udunits/) where it is installed."""
import ctypes
import ctypes.util
import functools


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
    one, other = (library.ut_parse(system, unit.encode(), 2) for unit in (made, taken))  # 2: UTF-8
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

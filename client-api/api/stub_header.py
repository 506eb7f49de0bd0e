# SPDX-License-Identifier: Apache-2.0
"""leat_stub.h: what a code takes along to be compiled where there is no Leat. Made of the headers without their comments, of the table of
calls, and of the source of libleat_stub, so that each call is said once."""
import re

from calls_table import FOLDER, calls

ROOT = FOLDER.parents[1]
BEGIN = """/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leat without Leat: all of leat.h and leat_build.h in one file, which a code takes along and includes where Leat is not installed. Calls
 * succeed and do nothing, as with libleat_stub; leat_alloc gives memory to compute in. leat.h says what each call promises.
 *
 *     #ifdef HAVE_LEAT
 *     #include <leat.h>
 *     #else
 *     #include "leat_stub.h"
 *     #endif
 *
 * In an MPI code include mpi.h first: leat_init_mpi and leat_split are there then, too. C99 or C++11, GCC or Clang; files that
 * include it may be linked together, but not with libleat.
 * Made by client-api/api/generate_calls.py: change calls.def, leat.h or stub.c.
 */
/* clang-format off */
#ifndef LEAT_STUB_H
#define LEAT_STUB_H
#define LEAT_H
#define LEAT_BUILD_H
#define LEAT_MPI_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* One of each in a program, whichever files include this, and none that others see. */
#define LEAT_API __attribute__((weak, visibility("hidden")))

#ifdef __cplusplus
extern "C" {
#endif

"""


def without_comments(text):
    """Nor SPDX lines, includes, guards and blank lines that follow each other."""
    text = re.sub(r"[ \t]*/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#include .*\n", "", text, flags=re.M)
    return re.sub(r"\n{3,}", "\n\n", text)


def inside(name):
    """Of a header what is between the braces of its extern "C"."""
    text = without_comments((FOLDER / name).read_text())
    return re.search(r'extern "C" \{\n#endif\n(.*?)\n#ifdef __cplusplus\n\}', text, re.S)[1].strip() + "\n\n"


def declarations():
    own_macro = r"#if defined\(__GNUC__\)\n#define LEAT_API.*?#endif\n\n"
    return re.sub(own_macro, "", inside("leat.h"), count=1, flags=re.S) + inside("leat_build.h")


def checks():
    """What follows the calls in leat.h: leat_write as a macro that looks at types."""
    text = (FOLDER / "leat.h").read_text()
    return without_comments(text[text.index("/* The check of types."):].rpartition("#endif")[0]).strip() + "\n\n"


def off():
    """function: what libleat_stub returns for it; of those that are not written in stub.c"""
    table = (FOLDER / "calls.def").read_text()
    lines = [*re.findall(r"^LEAT_CALL\((\w+), \w+, (\w+),", table, re.M), *re.findall(r"^LEAT_C_CALL\((\w+), (\w+),", table, re.M)]
    return {function: f"LEAT_{result}" for result, function in lines if result != "OWN"}


def calls_that_do_nothing():
    results = off()
    return "".join(f"{call.declaration()[:-1]} {{ return {results[call.function]}; }}\n" for call in calls()
                   if call.function in results) + "\n"


def statuses():
    lines = re.findall(r"^LEAT_STATUS\((\w+), (-?\d+),", (ROOT / "lib/base/status.def").read_text(), re.M)
    return "".join(f'    case {value}: return "LEAT_{name}";\n' for name, value in lines)


def calls_by_hand():
    text = (FOLDER / "stub.c").read_text().split('#include "client-api/api/calls.def"\n')[1]
    text = re.sub(r"#define LEAT_STATUS.*?#undef LEAT_STATUS\n", lambda _: statuses(), text, flags=re.S)
    return own_names(without_comments(text)).strip() + "\n\n"


def own_names(text):
    return re.sub(r"\bscratch_", "leat_scratch_", text)


def memory():
    """What leat_alloc takes: lib/os/scratch.c, by names that are Leat's."""
    header, source = (without_comments((ROOT / f"lib/os/scratch.{kind}").read_text()) for kind in "hc")
    declared = "".join(re.findall(r"^__attribute__.*?;\n", header, re.S | re.M))
    declared = re.sub(r'__attribute__\(\(visibility\("hidden"\)\)\)', "LEAT_API", declared)
    source = re.sub(r"#ifndef SCRATCH_SHARED\n.*?#endif\n", "", source, flags=re.S).replace("SCRATCH_SHARED", "LEAT_API")
    return own_names(f"{declared}\n{source.strip()}\n\n")


def for_mpi():
    text = (FOLDER / "leat_mpi.h").read_text()
    begin = text.index("struct leat_mpi_group {")
    return ("#ifdef MPI_VERSION\n\n" + without_comments(text[begin:].rpartition("#endif")[0]).strip() + "\n\n#endif\n\n")


def header():
    return (BEGIN + declarations()
            + '#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored "-Wunused-parameter"\n\n'
            + memory() + calls_that_do_nothing() + calls_by_hand()
            + "#pragma GCC diagnostic pop\n\n#ifdef __cplusplus\n}\n#endif\n\n" + checks() + for_mpi() + "#endif\n")

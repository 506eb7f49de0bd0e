# SPDX-License-Identifier: Apache-2.0
"""leat_stub.h alone, in a code that takes it along: each call returns what it returns with libleat_stub, in C and C++, and what it gives
is the same memory for all files of a program."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from leat_run import BUILD

ROOT = pathlib.Path(__file__).parents[2]
API = ROOT / "client-api/api"
sys.path.insert(0, str(API))
from calls_table import calls  # noqa: E402 - the table that the header is made of

STRICT = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-error=pedantic"]
LANGUAGES = {"c99": ["gcc", "-std=c99"], "c11": ["gcc", "-std=c11"], "gnu17": ["gcc", "-std=gnu17"],
             "cpp11": ["g++", "-x", "c++", "-std=c++11"], "cpp20": ["g++", "-x", "c++", "-std=c++20"]}
# What a call gets for an argument of its type; of those that are filled it is printed afterwards whether they were.
MAIN = """int main(void) {
  double data[4] = {1, 2, 3, 4};
  int64_t numbers[4] = {7, 7, 7, 7}, number = 7;
  double real = 7;
  char text[8] = "before";
  uint64_t needed = 7;
  int32_t divided = 7;
  char* description = NULL;
  void *first = NULL, *again = NULL, *other = NULL;
  leat_array array;
  memset(&array, 0, sizeof array);
"""
GIVEN = {"TEXT": '"name"', "BLOCK": "3", "RANKS": "0", "INT": "0", "LONG": "1", "REAL": "1.0", "NUMBERS": "NULL", "POSITION": "NULL",
         "REALS": "NULL", "LONG_TO": "&number", "REAL_TO": "&real", "DATA": "data", "MEMORY_TO": "&other", "ARRAY_TO": "data"}
BY_HAND = {"array": "&array", "arrays": "&array", "text": "text", "size": "sizeof text", "needed": "&needed", "divided": "&divided",
           "status": "LEAT_ERROR_FULL", "extents": "numbers", "extent": "numbers", "position": "numbers", "values": "numbers",
           "ranks": "NULL", "group": "NULL",
           "executor": "NULL"}
MEMORY = """  printf("%d ", leat_alloc("field", &first));
  printf("%d %d ", leat_alloc_block("field", 0, &again), again == first);
  printf("%d %d %d\\n", leat_alloc_block("field", 1, &other), other != NULL, other != first);
  memset(first, 1, 100000000);
  printf("%d %d\\n", in_another_file("field", first), leat_alloc("field", &again));
  printf("%d %d\\n", leat_alloc("x", NULL), leat_describe("x", NULL));
"""
OTHER_FILE = """#include <stddef.h>
#ifdef __cplusplus
extern "C"
#endif
int in_another_file(const char* name, void* memory) {
  void* here = NULL;
  return leat_alloc(name, &here) == LEAT_OK && here == memory && leat_commit(name) == LEAT_OK;
}
"""


def argument(call, given):
    if call.function == "describe" and given.name == "text":
        return "&description"
    if given.c == "const double* values":
        return "data"
    return GIVEN[given.role] if given.role else BY_HAND[given.name]


def line_of(call):
    given = ", ".join(argument(call, each) for each in call.arguments)
    letter = "%s" if "char" in call.result else "%d"
    cast = "" if "char" in call.result else "(int)"
    return f'  printf("{call.function} {letter}\\n", {cast}leat_{call.function}({given}));\n'


def program():
    every = "".join(line_of(call) for call in calls())
    after = ('  printf("%d %g %s %d %d %s\\n", (int)number, real, text, (int)needed, (int)divided, description);\n'
             '  printf("%d %d\\n", leat_write("a", data), leat_read("a", data));\n')
    return (f'{MAIN}{every}{after}{MEMORY}  free(description);\n  return 0;\n}}\n')


def run(folder, words, environment=None):
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True, timeout=120,
                          env={**os.environ, **(environment or {})})
    assert done.returncode == 0, done.stderr
    return done.stdout


def said_by(folder, language, header, *options):
    includes = "".join(f"#include <{name}.h>\n" for name in ("stdio", "stdlib", "string"))
    declared = '#ifdef __cplusplus\nextern "C"\n#endif\nint in_another_file(const char* name, void* memory);\n'
    (folder / "main.c").write_text(f'#include "{header}"\n{includes}{declared}{program()}')
    (folder / "other.c").write_text(f'#include "{header}"\n{OTHER_FILE}')
    run(folder, [*LANGUAGES[language], *STRICT, "main.c", "other.c", "-o", "program", *options])
    return run(folder, ["./program"], {"LD_LIBRARY_PATH": str(BUILD / "lib")})


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_call_returns_what_it_returns_with_libleat_stub(language, tmp_path):
    (tmp_path / "alone").mkdir()
    shutil.copy(API / "leat_stub.h", tmp_path / "alone")
    alone = said_by(tmp_path / "alone", language, "leat_stub.h")
    (tmp_path / "linked").mkdir()
    linked = said_by(tmp_path / "linked", language, "leat_build.h", f"-I{API}", f"-L{BUILD}/lib", "-lleat_stub")
    assert alone == linked
    assert all(re.search(rf"^{call.function} \S*$", alone, re.M) for call in calls())
    assert "wanted 1\n" in alone and "status_name LEAT_ERROR_FULL\n" in alone and "7 7 before 7 0 \n" in alone


def test_a_type_that_is_no_pointer_is_an_error_of_the_compiler_as_with_leat_h(tmp_path):
    shutil.copy(API / "leat_stub.h", tmp_path)
    (tmp_path / "main.c").write_text('#include "leat_stub.h"\nint main(void) { return leat_write("a", 1.0); }\n')
    done = subprocess.run(["gcc", "-c", "main.c"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode != 0


def test_nothing_of_it_is_seen_outside_of_the_program(tmp_path):
    shutil.copy(API / "leat_stub.h", tmp_path)
    (tmp_path / "library.c").write_text(f'#include "leat_stub.h"\n{OTHER_FILE}')
    run(tmp_path, ["gcc", "-shared", "-fPIC", "library.c", "-o", "library.so"])
    assert "leat_" not in run(tmp_path, ["nm", "-D", "--defined-only", "library.so"])


def test_a_code_in_cpp_takes_leat_hpp_along(tmp_path):
    shutil.copy(API / "leat_stub.h", tmp_path / "leat_build.h")
    for name in ("leat.hpp", "leat_calls.hpp"):
        shutil.copy(API / name, tmp_path)
    (tmp_path / "main.cpp").write_text('#include "leat.hpp"\n#include <vector>\nint main() {\n  leat::Session session("a.xml");\n'
                                       '  std::vector<double> data(8);\n  leat::write("a", data);\n  leat::end_iteration();\n'
                                       '  session.finalize();\n}\n')
    run(tmp_path, ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "main.cpp", "-o", "program"])
    run(tmp_path, ["./program"])


def test_a_code_in_mpi_has_the_calls_of_leat_mpi_h(tmp_path):
    shutil.copy(API / "leat_stub.h", tmp_path)
    (tmp_path / "main.c").write_text(
        '#include <mpi.h>\n#include "leat_stub.h"\nint main(int argc, char** argv) {\n  MPI_Comm simulation;\n  MPI_Init(&argc, &argv);\n'
        '  if (leat_split("a.xml", MPI_COMM_WORLD, &simulation) != LEAT_OK || simulation != MPI_COMM_WORLD) return 2;\n'
        '  if (leat_init_mpi("a.xml", simulation) != LEAT_OK) return 3;\n  leat_finalize();\n  return MPI_Finalize();\n}\n')
    run(tmp_path, ["mpicc", "-Wall", "-Wextra", "-Werror", "main.c", "-o", "program"])
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    run(tmp_path, ["mpirun", "--oversubscribe", "-n", "2", "./program"], root)

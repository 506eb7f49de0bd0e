# SPDX-License-Identifier: Apache-2.0
"""Modules in C, C++, Fortran and Python in one graph: the same bits, described in the same way, without copies."""
import re
import subprocess
import sys

import numpy as np
import pytest
from graph_run import config, graph_run, module, plan, product, program, seen, variable, write_iterations
from leat_run import BUILD, data, same_bits

FIELD = ('<parameter name="dt" type="double" value="0.5"/><layout name="field" type="double" dimensions="4,6" names="y,x"/>'
         '<variable name="a" layout="field" unit="K"/>')
BYTES = 4 * 6 * 8
BIN = BUILD / "bin"

# Notes all parts, with all bits, and what describes them.
NOTE = """
    import json, sys
    import leat.module as module
    while module.wait():
        seen = {"iteration": module.iteration()}
        for port in sys.argv[1:]:
            seen[port] = [[part.source, part.dims, part.unit, part.data.dtype.name, part.data.shape, part.data.tobytes().hex()]
                          for part in module.parts(port)]
        with open(module.name() + ".seen", "a") as file:
            file.write(json.dumps(seen) + "\\n")
"""
RELAY = """
    import leat.module as module
    while module.wait():
        part = module.parts("in")[0]
        module.put("out", part.data, dims=part.dims, unit=part.unit)
"""


def field(number):
    return data(24, "f8", number * 100).reshape(4, 6)


def note(folder, *ports):
    return [*program(folder, "note", NOTE), *ports]


def array(told):
    return np.frombuffer(bytes.fromhex(told[5]), told[3]).reshape(told[4])


def test_a_chain_through_all_languages_keeps_every_bit_and_what_describes_it(tmp_path):
    relays = [("c", [str(BIN / "graph_relay_c")], variable(port="in")),
              ("cpp", [str(BIN / "graph_relay_cpp")], product("c/out", port="in")),
              ("python", program(tmp_path, "relay", RELAY), product("cpp/out", port="in")),
              ("fortran", [str(BIN / "graph_relay_fortran")], product("python/out", port="in"))]
    outputs = {"fortran": ["out", "every_second", "count"]}
    ports = {"u": variable(port="u"), **{name: product(f"{name}/out", port=name) for name in ("c", "cpp", "python", "fortran")},
             "every_second": product("fortran/every_second", port="every_second"), "count": product("fortran/count", port="count")}
    plan(tmp_path, *(module(name, run, [of], outputs.get(name, ["out"])) for name, run, of in relays),
         module("last", note(tmp_path, *ports), ports.values()))
    with graph_run(tmp_path, config(FIELD)) as run:
        write_iterations(run, range(10), size=BYTES)
    turns = seen(tmp_path, "last")
    assert [turn["iteration"] for turn in turns] == list(range(10)), run.log()
    for turn in turns:
        expected = field(turn["iteration"])
        for name in ("c", "cpp", "python"):
            assert turn[name][0][:5] == [f"{name}/out".split("/")[0], ["y", "x"], "K", "float64", [4, 6]]
            assert same_bits(array(turn[name][0]), expected), name
        # Fortran's in(x, y), with names in its order.
        assert turn["fortran"][0][:5] == ["fortran", ["outer", "inner"], "K", "float64", [4, 6]]
        assert same_bits(array(turn["fortran"][0]), expected)
        assert same_bits(array(turn["every_second"][0]), np.ascontiguousarray(expected[:, ::2]))
        assert turn["count"][0][3:5] == ["int32", []] and array(turn["count"][0]) == 24


PAGE = BUILD.parent / "docs/reference/module-api.md"


@pytest.fixture(scope="module")
def profiles(tmp_path_factory):
    """The programs of the page, built by its commands; in place of an installed Leat there is what pkg-config would say of it."""
    folder, root = tmp_path_factory.mktemp("profiles"), BUILD.parent
    text = PAGE.read_text()
    for name, code in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", text, re.S):
        (folder / name).write_text(code)
    pc = (root / "cmake/leat_module.pc.in").read_text().split("\n\n")[1].replace("@PROJECT_VERSION@", "0.1.0")
    places = (f"libdir={BUILD}/lib\nincludedir={root}/client-api/module\nfortrandir={BUILD}/modules\n", f" -I{root}/client-api/api\n")
    (folder / "leat_module.pc").write_text(places[0] + pc.rstrip() + places[1])
    commands = re.search(r"<!-- commands -->\n```sh\n(.*?)```", text, re.S)[1]
    done = subprocess.run(["bash", "-euc", commands], cwd=folder, capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "PKG_CONFIG_PATH": str(folder), "LD_RUN_PATH": f"{BUILD}/lib"})
    assert done.returncode == 0, done.stderr
    return folder


def test_the_modules_of_the_page_make_the_same_in_every_language(profiles, tmp_path):
    runs = {name: [str(profiles / f"profile_{name}")] for name in ("c", "cpp", "fortran")}
    runs["python"] = [sys.executable, str(profiles / "profile.py")]
    plan(tmp_path, *(module(name, run, [variable()], ["profile"]) for name, run in runs.items()),
         module("last", note(tmp_path, *runs), [product(f"{name}/profile", port=name) for name in runs]))
    with graph_run(tmp_path, config(FIELD)) as run:
        write_iterations(run, range(5), size=BYTES)
    turns = seen(tmp_path, "last")
    assert [turn["iteration"] for turn in turns] == list(range(5)), run.log()
    for turn in turns:
        expected = np.zeros(6)
        with np.errstate(all="ignore"):
            for row in field(turn["iteration"]):
                expected = expected + row
            expected /= 4
        assert [np.array_equal(array(turn[name][0]), expected, equal_nan=True) for name in runs] == [True] * 4
        assert [turn[name][0][:5] for name in runs] == [[name, ["x"], "K", "float64", [6]] for name in runs]


def lines(folder, name):
    return (folder / f"{name}.seen").read_text().splitlines()


def test_what_comes_is_read_where_it_lies_and_what_is_put_is_in_memory_once(tmp_path):
    """64 MiB from one process to another, neither of which takes nearly as much."""
    count = 8 << 20
    plan(tmp_path, module("maker", [str(BIN / "graph_faulty"), "large", str(count)], [variable()], ["sum"]),
         module("reader", [str(BIN / "graph_faulty"), "check"], [product("maker/sum", port="in")]),
         module("where", [str(BIN / "graph_faulty"), "where"], [variable()]))
    with graph_run(tmp_path, config(FIELD)) as run:
        write_iterations(run, range(2), size=BYTES)
        (segment,) = run.segments()
    made = [line.split() for line in lines(tmp_path, "maker")]
    assert [each[0] for each in made] == ["0", "0"] and all(int(each[1]) < 16 << 10 for each in made)
    right, mapped = lines(tmp_path, "reader")[0::2], lines(tmp_path, "reader")[1::2]
    assert [int(line.split()[0]) for line in right] == [count, count] and all(int(line.split()[1]) < 16 << 10 for line in right)
    assert len(mapped) == 2 and all(re.search(r" r--s .*/memfd:leat-module", line) for line in mapped), mapped
    shared = lines(tmp_path, "where")
    assert len(shared) == 2 and all(re.search(rf" r--s .*{segment.name}", line) for line in shared), shared

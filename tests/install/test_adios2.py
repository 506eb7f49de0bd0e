# SPDX-License-Identifier: Apache-2.0
"""The engine leat of ADIOS2, built from the installed sources with the ADIOS2 of PyPI: programs of ADIOS2 write into Leat."""
import pathlib
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest
from conftest import as_a_user_has_it, sh
from leat_run import same_bits

ROOT = pathlib.Path(__file__).parents[2]
HERE = pathlib.Path(__file__).parent / "adios2"
PAGE = (ROOT / "docs/how-to/coming-from-adios2.md").read_text().partition("\n## Keep your calls")[2]
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
TYPES = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64, np.complex64,
         np.complex128]
# What a program has before its first line: its engine, and which rank it is, as a code of MPI knows it.
HEAD = """import os
import adios2
import numpy as np
Write, Sync = adios2.bindings.Mode.Write, adios2.bindings.Mode.Sync
rank, ranks = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0)), int(os.environ.get("OMPI_COMM_WORLD_SIZE", 1))
adios = adios2.Adios()
def new_io(name="out", **more):
    io = adios.declare_io(name)
    io.set_engine("plugin")
    io.set_parameters({"PluginName": "leat", "PluginLibrary": "leat_adios2", "Config": "run.xml", **more})
    return io
io = new_io(**PARAMETERS)
"""


@pytest.fixture(scope="module")
def adios2():
    done = subprocess.run([ROOT / "tools/python_environment", ROOT / "tools/adios2.txt"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (package,) = pathlib.Path(done.stdout.strip()).glob("lib/python3*/site-packages/adios2")
    return package


@pytest.fixture(scope="module")
def engine(installed, adios2, tmp_path_factory):
    folder = tmp_path_factory.mktemp("engine")
    sh("cmake", "-S", installed / "share/leat/adios2", "-B", folder, f"-DCMAKE_PREFIX_PATH={installed}",
       f"-DADIOS2_DIR={adios2}/cmake/adios2", "-DCMAKE_CXX_FLAGS=-Werror", cwd=folder)
    sh("cmake", "--build", folder, cwd=folder)
    return folder


@pytest.fixture()
def program(adios2, engine, tmp_path, environment):
    """Runs a program of ADIOS2, and gives all that was printed."""
    environment = {**environment, **MPI, "ADIOS2_PLUGIN_PATH": str(engine)}

    def run(lines, data="", ranks=1, undeclared="accept", more=None, parameters="{}"):
        (tmp_path / "run.xml").write_text(f"""<simulation name="run"><architecture><buffer size="64MiB"/></architecture>
          <data undeclared="{undeclared}">{data}</data><storage><store name="out" type="hdf5"/></storage></simulation>""")
        (tmp_path / "program.py").write_text(HEAD.replace("PARAMETERS", parameters) + lines)
        python = adios2.parents[3] / "bin/python"
        launch = ["mpirun", "-n", ranks] if ranks > 1 else []
        return sh(*launch, python, "program.py", cwd=tmp_path, environment={**environment, **(more or {})})

    run.folder, run.environment = tmp_path, environment
    return run


def test_the_page_works_as_it_stands_there(installed, adios2, tmp_path, environment):
    environment = as_a_user_has_it(installed, tmp_path, environment)
    environment["PATH"] = f"{adios2.parents[3]}/bin:{environment['PATH']}"
    for name, text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S):
        (tmp_path / name).write_text(text)
    said = sh("bash", "-euc", "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.S)), cwd=tmp_path, environment=environment)
    assert "nothing lost" in said
    (after,) = re.findall(r"<!-- after -->\n```python\n(.*?)```", PAGE, re.S)
    assert sh(sys.executable, "-c", after, cwd=tmp_path).splitlines() == re.findall(r"print\(.*\) +# (.*)", after)
    with h5py.File(tmp_path / "rows.h5") as file:
        rows = np.repeat([0.0, 20.0], 20)[None, :, None] + 100.0 * np.arange(5)[:, None, None]
        assert same_bits(file["T"][...], np.broadcast_to(rows, (5, 40, 30)).copy())


def of_type(kind, step):
    values = np.arange(6).reshape(2, 3) * 3 + 7 * step + 1
    return (values * (0.1 + 0.3j) if np.issubdtype(kind, np.complexfloating) else values / 7 if kind(0.5) else values).astype(kind)


@pytest.mark.parametrize("declared", [True, False])
def test_each_type_is_stored_bit_for_bit(program, declared):
    names = [kind.__name__ for kind in TYPES]
    data = "".join(f'<layout name="l{name}" type="{name}" dimensions="2,3"/><variable name="{name}" layout="l{name}"/>' for name in names)
    for name, kind in zip(names, TYPES):
        np.save(program.folder / f"{name}.npy", np.stack([of_type(kind, step) for step in range(3)]))
    program(f"""
arrays = {{name: np.load(name + ".npy") for name in {names}}}
variables = {{name: io.define_variable(name, a[0], [], [], [2, 3]) for name, a in arrays.items()}}
with io.open("x.bp", Write) as engine:
    for step in range(3):
        engine.begin_step()
        for number, (name, a) in enumerate(arrays.items()):
            engine.put(variables[name], a[step], *([Sync] if number % 2 else []))
        engine.end_step()
""", data if declared else "")
    with h5py.File(program.folder / "run.h5") as file:
        for name, kind in zip(names, TYPES):
            stored = file[name if declared else f"products/undeclared@0/{name}"][...]
            if kind is np.int8 and not declared:  # ADIOS2's Python says char
                stored = stored.view(kind)
            assert same_bits(stored.reshape(3, 2, 3), np.stack([of_type(kind, step) for step in range(3)])), name


def test_ranks_make_one_array_and_hear_how_to_declare_the_other(program):
    data = """<parameter name="fields_T_shape_0" type="int"/>
      <layout name="rows" type="double" dimensions="?,4" global="fields_T_shape_0,4"/>
      <group name="fields"><variable name="T" layout="rows"/></group>"""
    lines = """
T = io.define_variable("/fields/T", np.zeros((3, 4)), [3 * ranks, 4], [3 * rank, 0], [3, 4])
u = io.define_variable("flow/u", np.zeros(5, np.complex64), [5 * ranks], [5 * rank], [5])
io.define_attribute("unit", "K", "/fields/T")
io.define_attribute("author", "me")
with io.open("x.bp", Write) as engine:
    for step in range(2):
        engine.begin_step()
        engine.put(T, np.arange(12.0).reshape(3, 4) + 100 * rank + 1000 * step, Sync)
        engine.put(u, np.full(5, rank + 1j * step, np.complex64), Sync)
        engine.end_step()
"""
    said = program(lines, data, ranks=3)
    whole = np.stack([np.concatenate([np.arange(12.0).reshape(3, 4) + 100 * r + 1000 * s for r in range(3)]) for s in range(2)])
    with h5py.File(program.folder / "run.h5") as file:
        assert same_bits(file["fields/T"][...], whole)
        for r in range(3):
            assert same_bits(file[f"products/undeclared@{r}/flow.u"][1], np.full(5, r + 1j, np.complex64))
    assert said.count('leat: attributes are not stored ("/fields/T/unit" and 1 more)') == 1
    (xml,) = re.findall(r'leat: "flow/u" is stored block by block.*<data> of run.xml: (.*)', said)
    (program.folder / "run.h5").unlink()
    assert "block by block" not in program(lines, data + xml, ranks=3)
    with h5py.File(program.folder / "run.h5") as file:
        assert same_bits(file["flow/u"][...], np.stack([np.repeat(np.arange(3) + 1j * s, 5).astype(np.complex64) for s in range(2)]))


def test_blocks_texts_and_single_values_of_a_program_in_c_plus_plus(program, adios2):
    (program.folder / "adios2.xml").write_text(re.search(r"<adios-config>.*</adios-config>", PAGE, re.S)[0].replace("rows.xml", "run.xml"))
    build = program.folder / "b"
    sh("cmake", "-S", HERE, "-B", build, f"-DADIOS2_DIR={adios2}/cmake/adios2", cwd=program.folder)
    sh("cmake", "--build", build, cwd=program.folder)
    program("", '<layout name="t" type="float" dimensions="2,2" global="4,2" blocks="2"/><variable name="tiles" layout="t"/>')
    said = sh(build / "puts", cwd=program.folder, environment=program.environment)
    assert 'leat: Put of "span" with a span' in said and 'leat: "wide" is of type long double, which Leat has not' in said
    with h5py.File(program.folder / "run.h5") as file:
        assert same_bits(file["tiles"][...], np.array([np.arange(8) + 100 * s for s in range(2)], np.float32).reshape(2, 4, 2))
        other = file["products/undeclared@0"]
        assert [b"".join(row) for row in other["letters"][...]] == [b"abc", b"abc"]
        assert same_bits(other["small"][...], np.array([-7, -8], np.int8))
        assert same_bits(other["local"][...], np.array([70000, 70001], np.int32))


def test_the_stream_of_python_does_too(program):
    said = program("""
with adios2.Stream(io, "x.bp", "w") as stream:
    for _ in stream.steps(3):
        step = stream.current_step()
        stream.write("T", np.full((2, 3), 0.1 * step), [2, 3], [0, 0], [2, 3])
        stream.write("step", step)
        stream.write_attribute("unit", "K", "T")
""")
    assert said.count('leat: attributes are not stored ("T/unit")') == 1
    with h5py.File(program.folder / "run.h5") as file:
        stored = file["products/undeclared@0"]
        assert same_bits(stored["T"][...], np.stack([np.full((2, 3), 0.1 * step) for step in range(3)]))
        assert same_bits(stored["step"][...], np.arange(3))


def test_a_text_is_an_array_of_char(program):
    program("""
title = io.define_variable("title")
with io.open("x.bp", Write) as engine:
    for text in ("cold", "warmer"):
        engine.begin_step()
        engine.put(title, text)
        engine.end_step()
""", '<layout name="text" type="char" dimensions="?"/><variable name="title" layout="text"/>')
    with h5py.File(program.folder / "run.h5") as file:
        assert b"".join(file["title"][...]) == b"coldwarmer" and file["title_count"][...].tolist() == [4, 6]


def test_a_code_in_fortran_says_so_and_continues_where_another_run_ended(program):
    """ADIOS2 gives extents in the code's own order."""
    program("""
a = np.arange(6.0)
T = io.define_variable("T", a, [2, 3], [0, 0], [2, 3])
with io.open("x.bp", Write) as engine:
    engine.begin_step()
    engine.put(T, a, Sync)
    engine.end_step()
""", '<layout name="l" type="double" dimensions="2,3" global="2,3" order="fortran"/><variable name="T" layout="l"/>',
            parameters='{"order": "Fortran", "FirstStep": "12"}')
    with h5py.File(program.folder / "run.h5") as file:
        assert same_bits(file["T"][...], np.arange(6.0).reshape(1, 3, 2)) and file["iteration"][...].tolist() == [12]


ATTEMPT = """
def attempt(call):
    try:
        call()
    except Exception as e:
        print("REFUSED:", " ".join(str(e).split()))
"""


def refusals(said):
    return re.findall(r"REFUSED: (.*)", said)


def test_what_cannot_be_opened_says_why_and_what_to_do(program):
    said = refusals(program(ATTEMPT + """
for mode in ("Read", "Append"):
    attempt(lambda: io.open("x.bp", getattr(adios2.bindings.Mode, mode)))
for number, wrong in enumerate(({"Config": ""}, {"Config": "no.xml"}, {"Order": "f"}, {"FirstStep": "-1"})):
    attempt(lambda: new_io(f"io{number}", **wrong).open("x.bp", Write))
engine = io.open("x.bp", Write)
attempt(lambda: new_io("second").open("y.bp", Write))
engine.close()
new_io("later").open("y.bp", Write).close()
"""))
    wanted = ["cannot read. Open the HDF5 file that the <store> of the XML has written: by leat.open", 'append="true" of <store>',
              "needs the parameter Config", "no.xml: error: cannot read the file", 'Order is "f"', 'FirstStep is "-1"',
              "another engine leat is open in this process"]
    assert len(said) == len(wanted) and all(part in text for part, text in zip(wanted, said)), said


def test_what_is_wrong_in_a_step_is_refused_and_told_at_the_end(program):
    said = program(ATTEMPT + """
a, b = np.zeros((2, 3), np.float32), np.arange(4.0)
T, k = io.define_variable("T", a, [], [], [2, 3]), io.define_variable("k", b, [], [], [4])
bad = io.define_variable("a b", b, [], [], [4])
engine = io.open("x.bp", Write)
attempt(engine.end_step)
engine.begin_step()
attempt(engine.begin_step)
attempt(lambda: engine.put(T, a, Sync))
attempt(lambda: engine.put(bad, b, Sync))
engine.put(k, b, Sync)
attempt(lambda: engine.put(k, b, Sync))
attempt(engine.close)
""", '<layout name="l" type="double" dimensions="2,3"/><variable name="T" layout="l"/>')
    wanted = ["EndStep without BeginStep", "BeginStep without EndStep of step 0", '"T" is declared double (l_0=2, l_1=3) in run.xml',
              '"a b" is no name of a variable', '"k" is put twice in step 0 and not declared in run.xml', "2 writes of this rank failed"]
    assert len(refusals(said)) == len(wanted) and all(part in text for part, text in zip(wanted, refusals(said))), said
    assert "leat: Close without EndStep of step 0: it is ended here" in said
    with h5py.File(program.folder / "run.h5") as file:
        assert same_bits(file["products/undeclared@0/k"][...], np.arange(4.0)[None])


@pytest.mark.parametrize("undeclared", ["ignore", "warn"])
def test_unknown_variables_are_counted_when_they_are_not_stored(program, undeclared):
    said = program("""
k = io.define_variable("k", np.arange(4.0), [], [], [4])
with io.open("x.bp", Write) as engine:
    for step in range(3):
        engine.begin_step()
        engine.put(k, np.arange(4.0), Sync)
        engine.end_step()
""", '<layout name="l" type="double" dimensions=""/><variable name="T" layout="l"/>', undeclared=undeclared)
    assert "3 arrays of 1 name that run.xml does not declare are not stored" in said or undeclared == "warn"
    assert '"k" is not declared in run.xml' in said or undeclared == "ignore"


def test_nothing_happens_when_leat_is_off(program):
    said = program("""
k = io.define_variable("k", np.arange(4.0), [8], [0], [4])
with io.open("x.bp", Write) as engine:
    engine.begin_step()
    engine.put(k, np.arange(4.0), Sync)
    engine.put(k, np.arange(4.0), Sync)
    engine.end_step()
""", more={"LEAT": "off"})
    assert said == "" and [path.name for path in program.folder.glob("run.*")] == ["run.xml"]

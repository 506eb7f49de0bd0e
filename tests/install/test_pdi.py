# SPDX-License-Identifier: Apache-2.0
"""The plugin leat of PDI, built from the installed sources with the PDI that the build has found: docs/how-to/coming-from-pdi.md as it
stands there, and what is wrong in a specification tree."""
import pathlib
import re
import subprocess
import sys

import h5py
import numpy as np
import pytest
from conftest import as_a_user_has_it, sh
from leat_run import BUILD, same_bits

PAGE = (pathlib.Path(__file__).parents[2] / "docs/how-to/coming-from-pdi.md").read_text()
FILES = dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S))
(PDI,) = re.findall(r"^LEAT_TEST_PDI_INCLUDE:PATH=(.*)/include$", (BUILD / "CMakeCache.txt").read_text(), re.M)
MPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}


@pytest.fixture(scope="module")
def plugin(installed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugin")
    sh("cmake", "-S", installed / "share/leat/pdi", "-B", folder, f"-DCMAKE_PREFIX_PATH={installed};{PDI}",
       "-DCMAKE_CXX_FLAGS=-Werror", cwd=folder)
    sh("cmake", "--build", folder, cwd=folder)
    return folder


@pytest.fixture()
def waves(plugin, tmp_path, environment):
    """Runs a program of PDI by its lines in main; `more`: keys of the plugin."""
    environment = {**environment, **MPI, "PDI_PLUGIN_PATH": str(plugin), "LD_LIBRARY_PATH": f"{PDI}/lib"}

    def run(lines, more, data, xml="", ranks=1, plugins="", fails=False):
        keys = {"config": "waves.xml", "on_event": "end", **more}
        leat = ", ".join(f"{key}: {value}" for key, value in keys.items() if value is not None)
        shared = "rank: int, n: int, part: int"
        (tmp_path / "waves.yml").write_text(f"pdi:\n  metadata: {{{shared}}}\n  data: {{{data}}}\n  plugins:\n    {plugins}\n"
                                            f"    leat: {{{leat}}}\n")
        (tmp_path / "waves.xml").write_text(f"""<simulation name="waves"><architecture><buffer size="64MiB"/></architecture>
          <data undeclared="accept">{xml}</data><storage><store name="out" type="hdf5"/></storage></simulation>""")
        (tmp_path / "waves.c").write_text(f"""#include <mpi.h>
#include <paraconf.h>
#include <pdi.h>
#include <stdint.h>
int main(int argc, char** argv) {{
  int rank, n = 3;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PDI_init(PC_get(PC_parse_path("waves.yml"), ".pdi"));
  PDI_expose("rank", &rank, PDI_OUT);
  PDI_expose("n", &n, PDI_OUT);
  {lines}
  PDI_finalize();
  return MPI_Finalize();
}}""")
        sh("mpicc", "waves.c", f"-I{PDI}/include", f"-L{PDI}/lib", "-lpdi", "-lparaconf", "-o", "waves", cwd=tmp_path,
           environment=environment)
        if not fails:
            return sh("mpirun", "-n", ranks, "./waves", cwd=tmp_path, environment=environment)
        with pytest.raises(AssertionError) as failed:
            sh("mpirun", "-n", ranks, "./waves", cwd=tmp_path, environment=environment)
        return str(failed.value)

    run.file = tmp_path / "waves.h5"
    return run


def test_the_page_works_as_it_stands_there(installed, tmp_path, environment):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    environment = as_a_user_has_it(installed, tmp_path, environment)
    environment.update(PDI=PDI, LD_LIBRARY_PATH=f"{PDI}/lib:{environment['LD_LIBRARY_PATH']}")
    said = sh("bash", "-euc", "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.S)), cwd=tmp_path, environment=environment)
    assert "nothing lost" in said
    (after,) = re.findall(r"<!-- after -->\n```python\n(.*?)```", PAGE, re.S)
    assert sh(sys.executable, "-c", after, cwd=tmp_path).splitlines() == re.findall(r"print\(.*\) +# (.*)", after)
    with h5py.File(tmp_path / "waves.h5") as file:
        i, k = np.arange(1, 21)[:, None], np.arange(30)
        assert same_bits(file["h"][...], np.stack([100 * step + i + 0.01 * k for step in range(5)]))


@pytest.mark.parametrize("communicator", [True, False])
def test_ranks_make_one_array_with_blocks_and_conditions(waves, communicator):
    waves("""for (int step = 0; step < 4; ++step) {
    for (int part = 0; part < 2; ++part) {
      float u[3] = {rank, step, part};
      PDI_expose("part", &part, PDI_OUT);
      PDI_expose("u", u, PDI_OUT);
    }
    PDI_event("end");
  }""", {"data": "{u: {variable: flow/u, position: ['$rank*6+$part*3'], block: $part, when: '$part<2'}}",
           **({"communicator": "$MPI_COMM_WORLD"} if communicator else {})},
          "u: {type: array, subtype: float, size: $n}",
          '<layout name="l" type="float" dimensions="?" global="18"/><group name="flow"><variable name="u" layout="l"/></group>',
          ranks=3, plugins="mpi:")
    with h5py.File(waves.file) as file:
        whole = [[value for rank in range(3) for part in range(2) for value in (rank, step, part)] for step in range(4)]
        assert same_bits(file["flow/u"][...], np.array(whole, np.float32))


KINDS = {"int8_t": "i1", "int16_t": "i2", "int32_t": "i4", "int64_t": "i8", "uint8_t": "u1", "uint16_t": "u2", "uint32_t": "u4",
         "uint64_t": "u8", "float": "f4", "double": "f8"}


def test_all_data_of_all_types_are_written_unless_they_are_for_reading_or_no_numbers(waves):
    """PDI knows integers of C by their size."""
    names = {kind: f"{'int' if dtype[0] == 'i' else 'uint' if dtype[0] == 'u' else kind}{8 * int(dtype[1]) if dtype[0] != 'f' else ''}"
             for kind, dtype in KINDS.items()}
    share = "".join(f'{kind} x_{kind}[2] = {{({kind})(step / 3.0 + 1), ({kind})(200 - step)}}; PDI_expose("x_{kind}", x_{kind}, PDI_OUT);'
                    for kind in KINDS)
    said = waves("for (int step = 0; step < 3; ++step) {" + share + """
    double wanted = 7, twice = step;
    struct { int a; double b; } pair = {1, 2};
    PDI_expose("wanted", &wanted, PDI_IN);
    PDI_expose("pair", &pair, PDI_OUT);
    PDI_expose("twice", &wanted, PDI_OUT);
    PDI_expose("twice", &twice, PDI_OUT);
    PDI_event("end");
  }""", {}, ", ".join(f"x_{kind}: {{type: array, subtype: {names[kind]}, size: 2}}" for kind in KINDS)
                 + ", wanted: double, twice: double, pair: {type: record, buffersize: 16, "
                   "members: {a: {disp: 0, type: int}, b: {disp: 8, type: double}}}")
    with h5py.File(waves.file) as file:
        stored = file["products/undeclared@0"]
        assert "wanted" not in stored and "pair" not in stored and "n" not in stored
        assert same_bits(stored["twice"][...], np.arange(3.0))
        for kind, dtype in KINDS.items():
            exact = [[step / 3 + 1, 200 - step] for step in range(3)]
            assert same_bits(stored[f"x_{kind}"][...], np.array(exact).astype(np.int64 if dtype[0] != "f" else dtype).astype(dtype)), kind
    assert len(re.findall(r"`pair' is no array of numbers, and not stored", said)) == 1


def test_a_tree_that_is_wrong_is_refused_with_what_is_right(waves):
    lines, data = 'struct { int a; } pair = {1}; PDI_expose("pair", &pair, PDI_OUT); PDI_event("end");', \
        "pair: {type: record, buffersize: 4, members: {a: {disp: 0, type: int}}}"
    for leat, why in [({"dta": "[x]"}, "has config, on_event, iteration, data and communicator, and no `dta'"),
                      ({"data": "{x: {at: 3}}"}, "have variable, when, block and position, and no `at'"),
                      ({"config": "''"}, "needs `config'"),
                      ({"config": "no.xml"}, "no.xml: error: cannot read the file"),
                      ({"on_event": None}, "needs `on_event'"),
                      ({"data": "[pair]"}, "`pair' is no array of numbers, and Leat takes no other data")]:
        assert why in waves(lines, leat, data, fails=True), leat


def test_an_array_of_another_type_than_the_xml_says_goes_to_the_handler_of_pdi(waves):
    said = waves("""PDI_errhandler(PDI_WARN_HANDLER);
  float u[3] = {1, 2, 3};
  double v = 4;
  PDI_expose("u", u, PDI_OUT);
  PDI_expose("v", &v, PDI_OUT);
  PDI_event("end");""", {"data": "[u, v]"}, "v: double, u: {type: array, subtype: float, size: $n}",
                 '<layout name="l" type="double" dimensions="3"/><variable name="u" layout="l"/>')
    assert '"u" is declared double (l_0=3) in waves.xml:2, got float (3)' in said
    assert "1 write of this rank failed" in said
    with h5py.File(waves.file) as file:
        assert same_bits(file["products/undeclared@0/v"][...], np.array([4.0]))


def test_libleat_needs_nothing_of_pdi(installed):
    library = next(installed.glob("lib*/**/libleat.so"))
    assert "pdi" not in subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout

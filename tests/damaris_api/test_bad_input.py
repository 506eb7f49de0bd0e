# SPDX-License-Identifier: Apache-2.0
"""A call at the wrong time, or with what it cannot take, gives Damaris' code and says what is wrong; nothing hangs."""
import os
import re
import subprocess

import pytest
from damaris_run import AS_ROOT, HERE, copy_xml, run
from leat_run import BUILD, LIMIT

HEADER = (HERE.parents[1] / "client-api" / "integrations" / "damaris" / "Damaris.h").read_text()
CODES = re.findall(r"^  (DAMARIS_\w+)(?: = 0)?,?", re.search(r"enum \{(.*?)\n\};", HEADER, re.S)[1], re.M)


def codes(done):
    """{call: name of its code}, of what before.c prints."""
    return {call: CODES[int(code)] for call, code in re.findall(r"^(\w+) (\d+)$", done.stdout, re.M)}


def test_before_initialize_each_call_says_so(tmp_path):
    copy_xml(tmp_path, "bad.xml")
    done = run(tmp_path, "damaris_before", "bad.xml")
    assert done.returncode == 0, done.stdout + done.stderr
    found = codes(done)
    calls = set(re.findall(r"DAMARIS_API int (damaris_\w+)\(", HEADER)) - {"damaris_has_plugin"}  # it has no code
    assert set(found) - {"damaris_initialize_null_comm"} == calls
    for call in calls - {"damaris_initialize"}:
        assert found[call] == "DAMARIS_NOT_INITIALIZED"
        assert done.stderr.count(f"leat: {call}: called before damaris_initialize") == 1
    assert found["damaris_initialize"] == "DAMARIS_INIT_ERROR" and "config path" in done.stderr
    assert found["damaris_initialize_null_comm"] == "DAMARIS_ARGUMENT_ERROR"


@pytest.mark.parametrize("ranks", [1, 2])
def test_an_xml_with_errors_is_refused_on_every_rank_with_line_and_column(tmp_path, ranks):
    copy_xml(tmp_path, "bad.xml", ('layout="line"', 'layout="lien"'))
    done = run(tmp_path, "damaris_before", "bad.xml", "bad-xml", ranks=ranks)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(re.findall(r"damaris_initialize 1$", done.stdout, re.M)) == ranks
    assert len(re.findall(r"damaris_write 12$", done.stdout, re.M)) == ranks
    assert re.search(r'bad.xml:\d+:\d+: error: unknown layout "lien"; did you mean "line"', done.stderr)


def test_an_xml_that_is_not_there_is_refused(tmp_path):
    done = run(tmp_path, "damaris_before", "none.xml", "bad-xml", ranks=2)
    assert codes(done)["damaris_initialize"] == "DAMARIS_INIT_ERROR" and "none.xml" in done.stderr


def test_before_mpi_it_is_refused(tmp_path):
    done = run(tmp_path, "damaris_before", "bad.xml", "before-mpi")
    assert codes(done) == {"damaris_initialize": "DAMARIS_MPI_ERROR"} and "between MPI_Init and MPI_Finalize" in done.stderr


WRONG = {
    "initialize": "OK", "start_null": "ARGUMENT_ERROR", "start": "OK", "write_null_name": "ARGUMENT_ERROR",
    "write_null_data": "ARGUMENT_ERROR", "write_unknown": "UNDEFINED_VARIABLE", "write_negative_block": "INVALID_BLOCK",
    "alloc_null": "ARGUMENT_ERROR", "alloc_unknown": "UNDEFINED_VARIABLE", "commit_unknown": "UNDEFINED_VARIABLE",
    "commit_without_alloc": "BLOCK_NOT_FOUND", "clear_without_alloc": "BLOCK_NOT_FOUND", "alloc": "OK", "clear_without_commit": "OK",
    "commit_after_all": "OK", "signal_unknown": "UNDEFINED_ACTION", "signal_null": "ARGUMENT_ERROR",
    "bind_null_name": "ARGUMENT_ERROR", "bind_null": "BIND_ERROR", "get_null": "ARGUMENT_ERROR", "get_nothing": "ARGUMENT_ERROR",
    "get_unknown": "UNDEFINED_PARAMETER", "set_unknown": "UNDEFINED_PARAMETER", "position_null": "ARGUMENT_ERROR",
    "position_unknown": "UNDEFINED_VARIABLE", "position_outside": "OK", "write_outside": "INVALID_DIMENSIONS",
    "comm_null": "ARGUMENT_ERROR", "iteration_null": "ARGUMENT_ERROR", "end_iteration": "OK", "finalize": "FINALIZE_ERROR",
}


def test_what_a_call_cannot_take_has_its_code(tmp_path):
    copy_xml(tmp_path, "bad.xml")
    done = run(tmp_path, "damaris_before", "bad.xml", "wrong")
    assert done.returncode == 0, done.stdout + done.stderr
    assert codes(done) == {call: f"DAMARIS_{code}" for call, code in WRONG.items()}
    for part in ('no variable "pressure"', "does not lie inside", "not all of the data is stored"):
        assert part in done.stderr


OWN = """<simulation name="bad"><architecture><dedicated cores="1" place="{place}"/><buffer size="16MiB" timeout="2s"/></architecture>
<data><parameter name="nx" type="int" value="8"/><layout name="line" type="double" dimensions="nx" global="nx"/>
<variable name="u" layout="line"/></data></simulation>"""


@pytest.mark.parametrize("place", ["process", "ranks"])
def test_a_rank_that_cannot_begin_ends_it_for_all(tmp_path, place):
    """With an XML in Leat's own language, which says how long to wait."""
    (tmp_path / "bad.xml").write_text(OWN.format(place=place))
    one = ["-n", "1", "env", f"LEAT_RUNTIME_DIR={tmp_path}/r"]
    other = ["-n", "1", "env", "LEAT_RUNTIME_DIR=/dev/null/none"]
    program = [BUILD / "bin/damaris_before", "bad.xml", "wrong"]
    parts = [[*each, *program] for each in ([one, other] + [one] * (place == "ranks"))]
    words = [str(word) for part in parts for word in [*part, ":"]][:-1]
    done = subprocess.run(["mpirun", "--oversubscribe", *words], cwd=tmp_path, env={**os.environ, **AS_ROOT},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    begun = re.findall(r"^(?:initialize|start) 1$", done.stdout, re.M)
    assert len(begun) == 2 and "/dev/null/none" in done.stderr, done.stdout + done.stderr

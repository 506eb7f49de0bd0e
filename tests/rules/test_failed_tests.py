# SPDX-License-Identifier: Apache-2.0
"""tools/failed_tests, at the end of `make test`: says why tests failed, whatever they wrote, and takes no time for it."""
import subprocess
import sys

from tree import ROOT

LIMIT = 60  # s; what hangs would take CI with it

PROGRAMS = {
    "good": "print('E   nothing of a test that went well')",
    "pytest": "print('----\\n' * 50_000 + '<end of output\\nE   assert 1 == 2\\nFAILED test_x.py::test'); exit(1)",
    "google": "print('a_test.cpp:7: Failure\\nExpected: 3\\n  Actual: 4\\nmore\\nmore'); exit(1)",
    "silent": "print('\"good\" start time: now\\nOutput:\\nlast words'); exit(1)",
    "nothing": "exit(1)",
}


def test_it_says_why_each_failed(tmp_path):
    lines = []
    for name, program in PROGRAMS.items():
        (tmp_path / f"{name}.py").write_text(program)
        lines.append(f'add_test({name} "{sys.executable}" "{tmp_path}/{name}.py")')
    (tmp_path / "CTestTestfile.cmake").write_text("\n".join(lines))
    assert subprocess.run(["ctest", "--test-dir", tmp_path, "-j", "3"], capture_output=True, timeout=LIMIT, check=False).returncode == 8
    said = subprocess.run([sys.executable, ROOT / "tools/failed_tests", tmp_path], capture_output=True, text=True, timeout=LIMIT,
                          check=True).stdout
    assert "4 tests failed" in said and "nothing of a test" not in said, said
    for each in ("E   assert 1 == 2", "FAILED test_x.py::test", "Expected: 3", "Actual: 4", "last words"):
        assert each in said, said
    assert said.count("--- ") == 4 and len(said) < 5000, said

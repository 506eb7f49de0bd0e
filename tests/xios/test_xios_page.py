# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/coming-from-xios.md, followed word by word."""

import re
from pathlib import Path

import pytest
from xios_files import CAN_DERIVE, leat

PAGE = (Path(__file__).parents[2] / "docs/how-to/coming-from-xios.md").read_text()


def block(mark):
    return re.search(rf"<!-- {mark} -->\n```\w+\n(.*?)```", PAGE, re.S)[1]


@pytest.fixture
def folder(tmp_path):
    for name, text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_example_is_converted_as_the_page_says(folder):
    result = leat("convert", "iodef.xml", cwd=folder)
    assert result.returncode == 0 and result.stderr == block("said")
    assert re.sub(r"\A<\?xml.*?\?>\n<!--.*?-->\n", "", result.stdout, flags=re.S) == block("made")


@pytest.mark.skipif(not CAN_DERIVE, reason="this leat has no variables that the server makes")
def test_leat_check_has_nothing_against_it(folder):
    (folder / "leat.xml").write_text(leat("convert", "iodef.xml", cwd=folder).stdout)
    result = leat("check", "leat.xml", cwd=folder)
    assert result.returncode == 0 and result.stdout.endswith("good\n"), result.stderr

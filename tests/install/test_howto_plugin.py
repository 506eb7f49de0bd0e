# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/write-a-plugin.md, followed word by word."""
import pathlib
import re

import h5py
from conftest import sh

HERE = pathlib.Path(__file__).parent
PAGE = (HERE.parents[1] / "docs/how-to/write-a-plugin.md").read_text()


def test_the_plugin_of_the_page_is_built_and_says_what_the_page_says(installed, tmp_path, environment):
    for name, text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S):
        (tmp_path / name).write_text(text)
    (tmp_path / "leat").symlink_to(installed)
    lib = tmp_path / "leat" / next(installed.glob("lib*/**/libleat.so")).parent.relative_to(installed)
    paths = {**environment, "PKG_CONFIG_PATH": str(lib / "pkgconfig"), "LD_LIBRARY_PATH": str(lib)}
    sh("sh", "-c", f"cc '{HERE}/consumer/first.c' $(pkg-config --cflags --libs leat) -o first", cwd=tmp_path,
       environment=paths)
    said = sh("bash", "-euc", "".join(re.findall(r"```sh\n(.*?)```", PAGE, re.S)), cwd=tmp_path, environment=paths)
    shown = re.search(r"prints `(.*?)`", PAGE)[1]
    assert shown in said.splitlines()
    assert (tmp_path / "range.txt").read_text().splitlines() == [
        f"{i} wave rank 0: {i} to {i + 0.99:g}" for i in (0, 5, 10, 15)]
    assert (tmp_path / "total.txt").read_text().splitlines() == [f"{i} total {100 * i + 49.5:g} missing 0" for i in range(20)]
    assert "0 total 49.5 missing 0" in said.splitlines() and "`0 total 49.5 missing 0`" in PAGE
    with h5py.File(tmp_path / "first.h5") as file:
        assert file["wave"].shape == (20, 100)

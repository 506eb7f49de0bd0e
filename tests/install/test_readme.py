# SPDX-License-Identifier: Apache-2.0
"""README.md: its program is the one that test_install.py runs, and its commands do what it says."""
import itertools
import os
import pathlib
import re
import sys

from conftest import sh

ROOT = pathlib.Path(__file__).parents[2]
PAGE = (ROOT / "README.md").read_text()
FILES = dict(re.findall(r"`(first\.\w+)`:\n\n```\w+\n(.*?)```", PAGE, re.S))


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)


CRACK, READING, SCRIPT = blocks("python")


def test_the_readme_shows_the_program_that_the_tests_run():
    assert set(FILES) == {"first.c", "first.xml"}
    for name, shown in FILES.items():
        licence, *rest = (ROOT / "tests/install/consumer" / name).read_text().splitlines(keepends=True)
        tested = itertools.dropwhile(lambda line: line.startswith("/*"), rest)  # what the file is for
        assert "SPDX" in licence and shown == "".join(tested)


def test_the_program_is_as_short_as_it_is_said_to_be():
    assert len(FILES["first.c"].splitlines()) <= 14


def test_the_lines_under_the_picture_are_those_of_the_gallery_which_a_test_runs():
    gallery = (ROOT / "docs/gallery.md").read_text()
    assert f"`analysis/crack.py`:\n\n```python\n{CRACK}```" in gallery and "docs/pictures/gallery-crack.png" in PAGE


def test_the_figures_of_the_readme_are_those_of_the_page_of_performance():
    page = (ROOT / "docs/explanation/performance.md").read_text()
    (table,) = re.findall(r"#### A spare core, into the page cache\n(.*?)####", page, re.S)
    loop = {name: float(value) for name, value in re.findall(r"^\| ([^|]+) \| ([\d.]+) \(", table, re.M)}
    ways = "Leat, `leat_write`", "Leat, `leat_alloc` and `leat_commit`", "HDF5, a file per process"
    written, allocated, hdf5 = (round(100 * (loop[way] - 1)) for way in ways)
    said = " ".join(PAGE.split())
    assert f"{written} % longer with `leat_write`, not longer with `leat_alloc` and `leat_commit`, and {hdf5} % longer" in said
    assert allocated == 0


def build_and_run(installed, tmp_path, environment):
    for name, text in FILES.items():
        if not (tmp_path / name).exists():
            (tmp_path / name).write_text(text)
    (tmp_path / "leat").symlink_to(installed)
    lib = tmp_path / "leat" / next(installed.glob("lib*/**/libleat.so")).parent.relative_to(installed)
    sh("sh", "-euc", "".join(blocks("sh")), cwd=tmp_path, environment={
        **environment, "PKG_CONFIG_PATH": str(lib / "pkgconfig"), "LD_LIBRARY_PATH": str(lib)})


def test_the_commands_of_the_readme_build_run_and_read(installed, tmp_path, environment):
    build_and_run(installed, tmp_path, environment)
    said = sh(sys.executable, "-c", READING, cwd=tmp_path)
    assert said == "(20, 100) m\n7.25\n" and all(f"prints `{line}`" in PAGE or f"`{line}`" in PAGE
                                                for line in said.splitlines())


def test_the_script_of_the_readme_finds_what_the_program_writes(installed, tmp_path, environment):
    (where,) = re.findall(r"<scripts>.*</scripts>", PAGE)
    (tmp_path / "first.xml").write_text(FILES["first.xml"].replace("</simulation>", where + "</simulation>"))
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis/highest.py").write_text(SCRIPT)
    build_and_run(installed, tmp_path, {**environment, "PATH": f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"})
    rows = (tmp_path / "first-scripts/highest.csv").read_text().splitlines()
    assert rows == ["iteration,highest", "0,0.99", "10,10.99"]

# SPDX-License-Identifier: Apache-2.0
"""What `leat check` says of the options of stores: what the start of a run would."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

SYSTEM = "/usr/lib/x86_64-linux-gnu/hdf5/serial/plugins"
TEXT = """<simulation name="heat">
  <data>
    <layout name="cells" type="double" dimensions="64,128"/>
    <layout name="counts" type="int" dimensions="64"/>
    <layout name="deep" type="float" dimensions="2,2,2,2,2"/>
    {data}
  </data>
  <storage>
    {store}
  </storage>
</simulation>
"""


def check(folder, store='<store name="out" type="hdf5"/>', data='<variable name="t" layout="cells"/>', json=False, plugins=SYSTEM):
    file = folder / "heat.xml"
    file.write_text(TEXT.format(store=store, data=data))
    return subprocess.run([os.environ["LEAT_COMMAND"], "check", file.name, *(["--json"] if json else [])], cwd=folder, timeout=60,
                          env={**os.environ, "HDF5_PLUGIN_PATH": str(plugins)}, capture_output=True, text=True)


def test_a_filter_that_is_not_there_is_an_error_at_its_place_with_those_that_are(tmp_path):
    said = check(tmp_path, '<store name="out" type="hdf5" compression="zstd:3"/>')
    assert said.returncode == 1
    assert 'heat.xml:9:35: error: compression="zstd:3" of the store "out": HDF5 has no filter "zstd" here' in said.stderr
    assert "There are: none, deflate, blosc, lz4, bzip2, zfp." in said.stderr and f"looked in {SYSTEM};" in said.stderr
    assert "HDF5_PLUGIN_PATH" in said.stderr and "1 error in" in said.stderr
    nowhere = check(tmp_path, '<store name="out" type="hdf5" compression="lz4"/>', plugins=tmp_path)
    assert nowhere.returncode == 1 and "There are: none, deflate." in nowhere.stderr
    there = check(tmp_path, '<store name="out" type="hdf5" compression="blosc:zstd:3"/>')
    assert there.returncode == 0 and there.stderr == ""


def test_a_variable_and_a_group_say_it_once_and_in_their_lines(tmp_path):
    said = check(tmp_path, data='<variable name="t" layout="cells" compression="zstd:3"/>\n'
                 '    <group name="g" layout="cells" compression="zstd:4">\n<variable name="a"/><variable name="b"/></group>')
    assert said.returncode == 1
    assert 'heat.xml:6:39: error: compression="zstd:3" of the variable "t"' in said.stderr
    assert said.stderr.count('compression="zstd:4"') == 1 and "heat.xml:7:36: error:" in said.stderr


def test_what_zfp_cannot_do_is_an_error(tmp_path):
    said = check(tmp_path, data='<variable name="n" layout="counts" compression="zfp:rate=8"/>\n'
                 '<variable name="d" layout="deep" compression="zfp:rate=8"/>\n'
                 '<variable name="t" layout="cells" compression="zfp:rate=8"/>')
    assert said.returncode == 1 and said.stderr.count("error: ") == 2
    assert '"n": zfp can do float and double only' in said.stderr and '"d": zfp can do up to 4 dimensions' in said.stderr


@pytest.mark.parametrize("option, expected", [
    ('name="exists" value="overwrite"', 'option exists="overwrite": expected "keep" or "replace"'),
    ('name="compresion" value="lz4"', 'no option "compresion"; it has file, folder, compression'),
    ('name="chunks" value="4"', 'no option "chunks"; it has file, folder, compression, durability, append, exists, io, files, split, '
     'layout, file-mode, domains and select-file'),
    ('name="files" value="few"', 'option files="few": expected "node" for a file of each server, "auto"'),
    ('name="durability" value="ever"', 'option durability="ever": expected "iteration"'),
    ('name="io" value="dirct"', 'option io="dirct": expected "auto", "buffered" or "direct"'),
    ('name="compression" value="zip"', 'compression="zip": expected "none", "deflate:1"')])
def test_an_option_that_cannot_be_is_an_error(tmp_path, option, expected):
    said = check(tmp_path, f'<store name="out" type="hdf5"><option {option}/></store>')
    assert said.returncode == 1 and "heat.xml:9:" in said.stderr and expected in said.stderr, said.stderr


@pytest.mark.parametrize("option, expected", [
    ('name="io" value="dirct"', 'option io="dirct": expected "auto", "buffered" or "direct"'),
    ('name="file-per" value="rank"', 'option "file-per" is "rank", and may be "variable" or "iteration"'),
    ('name="exists" value="keep"', 'there is no option "exists" of a raw store; there are: "folder", "file-per", "durability", "io"')])
def test_an_option_that_a_raw_store_has_not_is_an_error(tmp_path, option, expected):
    data = '<variable name="t" layout="cells" compression="deflate:4"/>'
    said = check(tmp_path, f'<store name="out" type="raw"><option {option}/></store>', data)
    assert said.returncode == 1 and "heat.xml:9:" in said.stderr and expected in said.stderr, said.stderr
    assert "1 error in" in said.stderr
    good = "".join(f'<option name="{n}" value="{v}"/>' for n, v in (("io", "auto"), ("file-per", "iteration"), ("folder", "f")))
    assert check(tmp_path, f'<store name="out" type="raw" durability="iteration">{good}</store>').stderr == ""


def test_a_folder_that_cannot_be_made_is_a_warning(tmp_path):
    said = check(tmp_path, '<store name="out" type="hdf5" folder="results/here"/>', json=True)
    assert said.returncode == 0 and json.loads(said.stdout)["diagnostics"] == []
    assert not (tmp_path / "results").exists(), "a check makes nothing"
    (tmp_path / "results").write_text("a file")
    said = check(tmp_path, '<store name="out" type="hdf5" folder="results/here"/>', json=True)
    assert said.returncode == 0
    (told,) = json.loads(said.stdout)["diagnostics"]
    assert told["severity"] == "warning" and (told["line"], told["column"]) == (9, 35)
    assert f'"{tmp_path}/results/here" cannot be made: "{tmp_path}/results": it is not a folder' in told["message"]


def test_stores_that_are_not_of_this_plugin_are_not_asked(tmp_path):
    said = check(tmp_path, '<store name="a" library="./mine.so"><option name="chunks" value="4"/></store>\n'
                 '<store name="t" type="trace"><option name="chunks" value="4"/></store>')
    assert said.returncode == 0 and said.stderr == "", said.stderr


def test_a_check_does_without_the_program(tmp_path):
    """As an installation without HDF5: no error of the file."""
    bin_folder = pathlib.Path(os.environ["LEAT_COMMAND"]).parent
    (tmp_path / "bin").mkdir()
    shutil.copy(bin_folder / "leat", tmp_path / "bin/leat")
    (tmp_path / "heat.xml").write_text(TEXT.format(store='<store name="out" type="hdf5" compression="zstd:3"/>', data=""))
    done = subprocess.run([tmp_path / "bin/leat", "check", "heat.xml"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_for_a_store_that_harvests_it_says_what_tells_of_idle_phases(tmp_path):
    said = check(tmp_path, '<store name="out" type="hdf5"/><store name="stats" type="statistics" runs="harvest"/>')
    assert said.returncode == 0, said.stderr
    tells = "leat_idle_begin, LD_PRELOAD=libleat_pmpi.so or OMP_TOOL_LIBRARIES=libleat_ompt.so"
    assert f"runs harvest, in phases of {tells}" in " ".join(said.stdout.split())

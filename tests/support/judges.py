# SPDX-License-Identifier: Apache-2.0
"""Readers and checkers of files that we did not write, from PyPI, in an environment of their own; see tools/judges."""
import functools
import json
import pathlib
import subprocess

from warm_python import warm

ROOT = pathlib.Path(__file__).parents[2]
# Tables that cfchecker would look up on the web; nothing in our files is an area type or a region.
EMPTY_TABLES = {"-a": "<area_type_table><version_number>0</version_number><date/></area_type_table>",
                "-r": "<standardized_region_list><version_number>0</version_number><date/></standardized_region_list>"}


@functools.cache
def environment():
    """Folder of the Python environment."""
    done = subprocess.run([ROOT / "tools/judges"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pathlib.Path(done.stdout.strip())


def python():
    return environment() / "bin/python"


def vtk_says(script, *words, cwd=None, **more):
    """What tests/support/<script> with VTK's reader ends with; more: its environment."""
    modules = ("util.numpy_support", "vtkIOHDF", "vtkIOXdmf2", "vtkFiltersCore")
    reader = warm(python(), *(f"vtkmodules.{module}" for module in modules), **more)
    return reader.run(ROOT / "tests/support" / script, *words, cwd=cwd)


def ask(code, *words):
    """What `code` prints as JSON; it has sys.argv[1:] of `words`, xarray as xr, json."""
    head = "import json, sys, warnings\nimport numpy as np, xarray as xr\nwarnings.simplefilter('error')\n"
    done = warm(python(), "xarray", "netCDF4").run(head + code, *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def complaints(path):
    """Of compliance-checker for CF-1.8, of every priority: (priority, section, text). The name must end with .nc."""
    checker = warm(python(), "compliance_checker.runner", "compliance_checker.cf.cf_1_8")
    done = checker.run(environment() / "bin/compliance-checker", "-t", "cf:1.8", "-c", "strict", "-f", "json", "-o", "-", path)
    report = json.loads(done.stdout)["cf:1.8"]
    assert report["all_priorities"], done.stderr
    # A fault of version 6.1.0: of two groups it wants that both have a dimension called "time".
    fault = "cf:1.8.check_invalid_same_named_dimension_across_groups: 'time'"
    failed = [("failed", "", line) for line in done.stderr.splitlines() if line.startswith("cf:1.8.") and line != fault]
    return failed + [(priority, result["name"], text) for priority in ("high", "medium", "low")
                     for result in report[priority + "_priorities"] if result["value"][0] != result["value"][1]
                     for text in result["msgs"] or [""]]


def errors_of_cfchecks(path, tables):
    """Errors and warnings of cfchecker: (variable, text). `tables`: a folder for what it reads."""
    words = ["-s", next(environment().glob("lib/*/site-packages/compliance_checker/data/cf-standard-name-table.xml"))]
    for option, text in EMPTY_TABLES.items():
        (tables / f"table{option}.xml").write_text(text)
        words += [option, tables / f"table{option}.xml"]
    done = warm(python(), "cfchecker.cfchecks").run(environment() / "bin/cfchecks", "-v", "1.8", *words, path)
    assert "ERRORS detected:" in done.stdout, done.stdout + done.stderr
    found, variable = [], ""
    for line in done.stdout.splitlines():
        if line.startswith("Checking variable: "):
            variable = line.split(": ", 1)[1]
        if line.startswith(("ERROR:", "FATAL:", "WARN:")):
            found.append((variable, line))
    return found

# SPDX-License-Identifier: Apache-2.0
"""`leat doctor` names what was made wrong, and packs what a report of a bug needs."""
import json
import os
import re
import subprocess
import tarfile

from machine_command import REFERENCE, heat_xml, leat

PAGE = (REFERENCE / "leat-doctor.md").read_text()
SCRIPTS = '  <scripts interpreter="{python}"><script file="s.py"/></scripts>\n</simulation>'


def findings(cwd, *words, code=0, **environment):
    facts = json.loads(leat("doctor", "--json", *words, cwd=cwd, code=code, **environment).stdout)
    assert facts["good"] == (code == 0)
    return facts["findings"]


def of(found, what):
    return next(each for each in found if each["what"] == what)


def write(path, text, mode=0o644):
    path.write_text(text)
    path.chmod(mode)
    return path


def test_every_line_is_on_the_page_and_what_is_not_ok_has_a_remedy(tmp_path):
    found = findings(tmp_path, LEAT_RUNTIME_DIR=str(tmp_path / "run"))
    assert [each["what"] for each in found] == re.findall(r"^\| ([^|`]+?) \| .* \| .*\|$", PAGE.split("| line |")[1].split("\n\n")[0], re.M)
    assert all(bool(each["remedy"]) == (each["state"] != "ok") for each in found)


def test_the_screen_has_a_line_for_each_and_ends_with_a_verdict(tmp_path):
    said = leat("doctor", cwd=tmp_path, LEAT_RUNTIME_DIR=str(tmp_path / "run")).stdout.splitlines()
    lines = [re.match(r"  (ok|warn|bad) ", each)[1] for each in said[1:-2] if not each.lstrip().startswith("->")]
    assert len(lines) == 16 and "bad" not in lines
    assert said[-1] == "good" or "nothing that must be mended" in said[-1]


def run_with_shared_memory(size, *words, cwd):
    own = f'mount -t tmpfs -o size={size} none /dev/shm && exec "$@"'
    unshare = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "--mount"]
    return subprocess.run([*unshare, "sh", "-c", own, "sh", os.environ["LEAT_COMMAND"], *words], cwd=cwd, capture_output=True, text=True,
                          env={**os.environ, "LEAT_RUNTIME_DIR": str(cwd / "run")})


def test_a_small_shared_memory_is_bad_and_a_smaller_buffer_mends_it(tmp_path):
    (tmp_path / "heat.xml").write_text(heat_xml())
    for size, code, state in (("16m", 1, "bad"), ("80m", 0, "ok")):
        done = run_with_shared_memory(size, "doctor", "heat.xml", "--json", cwd=tmp_path)
        assert done.returncode == code, done
        shm = of(json.loads(done.stdout)["findings"], "/dev/shm")
        assert shm["state"] == state and "<buffer> is 64 MiB" in shm["found"]
        assert ("size=129m" in shm["remedy"]) == (code == 1)


def test_the_page_shows_what_the_command_says(tmp_path):
    done = run_with_shared_memory("64m", "doctor", cwd=tmp_path)
    shown = re.search(r"^    (  bad .*)\n    ( +-> .*)$", PAGE, re.M)
    assert done.returncode == 1 and f"{shown[1]}\n{shown[2]}\n" in done.stdout and done.stdout.endswith("1 thing to mend\n")


def test_a_python_without_numpy_is_bad_only_where_scripts_need_it(tmp_path):
    bare = write(tmp_path / "bare", f'#!/bin/sh\nexec {subprocess.getoutput("command -v python3")} -S -E -s "$@"\n', 0o755)
    write(tmp_path / "s.py", "")
    write(tmp_path / "heat.xml", heat_xml().replace("</simulation>", SCRIPTS.format(python=bare)))
    python = of(findings(tmp_path, "--interpreter", bare), "Python")
    assert python["state"] == "warn" and "numpy" in python["found"] and "NumPy" in python["remedy"]
    python = of(findings(tmp_path, "heat.xml", code=1), "Python")
    assert python["state"] == "bad" and str(bare) in python["found"]
    python = of(findings(tmp_path, "heat.xml", "--interpreter", tmp_path / "none", code=1), "Python")
    assert python["state"] == "bad" and "there is no program" in python["found"]


def test_limits_that_are_too_small_are_named(tmp_path):
    done = subprocess.run(["bash", "-c", 'ulimit -n 256; ulimit -v 900000; exec "$LEAT_COMMAND" doctor --json'], cwd=tmp_path,
                          capture_output=True, text=True)
    found = json.loads(done.stdout)["findings"]
    assert of(found, "open files")["state"] == "warn" and "256" in of(found, "open files")["found"]
    assert of(found, "address space")["state"] == "warn" and "unlimited" in of(found, "address space")["remedy"]


def test_what_a_dead_session_left_is_named_and_goes_with_clean(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    write(folder / "gone.live", "", 0o600)
    sessions = of(findings(tmp_path, LEAT_RUNTIME_DIR=str(folder)), "sessions")
    assert sessions["state"] == "warn" and "leat clean" in sessions["remedy"] and "1 file" in sessions["found"]
    leat("clean", cwd=tmp_path, LEAT_RUNTIME_DIR=str(folder))
    assert of(findings(tmp_path, LEAT_RUNTIME_DIR=str(folder)), "sessions")["state"] == "ok"


def test_folders_servers_and_networks_that_cannot_be_used_are_bad(tmp_path):
    open_to_all = tmp_path / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    found = findings(tmp_path, code=1, LEAT_RUNTIME_DIR=str(open_to_all), LEAT_SERVER=str(tmp_path / "leatd"), LEAT_INTERFACE="nonet7")
    for what, word in (("runtime folder", "LEAT_RUNTIME_DIR"), ("server", "LEAT_SERVER"), ("network", "LEAT_INTERFACE")):
        assert of(found, what)["state"] == "bad" and word in of(found, what)["remedy"]


def test_a_machine_without_mpi_is_warned_of(tmp_path):
    assert of(findings(tmp_path, PATH=str(tmp_path), code=0), "MPI")["state"] == "warn"


def test_the_bundle_has_what_tells_of_a_run_and_no_data(tmp_path):
    write(tmp_path / "heat.xml", heat_xml().replace("  <data>", '  <log file="heat.log"/>\n  <data>'))
    write(tmp_path / "heat.log", "what happened\n")
    for name in ("heat.ledger.json", "heat.report.json", "other.ledger.json", "heat.h5", "secret.txt"):
        write(tmp_path / name, "{}")
    said = leat("doctor", "heat.xml", "--bundle", "bug.tar.gz", cwd=tmp_path, LEAT_RUNTIME_DIR=str(tmp_path / "run"), LEAT_TRACE="x").stdout
    assert "bug.tar.gz has 6 files" in said and "Look before you send it" in said
    with tarfile.open(tmp_path / "bug.tar.gz") as packed:
        held = {each.name: packed.extractfile(each).read().decode() for each in packed.getmembers()}
    assert set(held) == {"doctor.json", "environment.txt", "heat.ledger.json", "heat.log", "heat.report.json", "heat.xml"}
    assert held["heat.log"] == "what happened\n" and held["heat.xml"] == (tmp_path / "heat.xml").read_text()
    assert "LEAT_TRACE=x" in held["environment.txt"] and json.loads(held["doctor.json"])["findings"]
    leat("doctor", "--bundle", "all.tar.gz", cwd=tmp_path, LEAT_RUNTIME_DIR=str(tmp_path / "run"))
    with tarfile.open(tmp_path / "all.tar.gz") as packed:
        assert set(packed.getnames()) == set(held) | {"other.ledger.json"}


def test_a_bundle_of_an_xml_with_errors_has_the_errors_and_one_that_cannot_be_made_says_why(tmp_path):
    write(tmp_path / "bad.xml", "<simulation nam='x'/>")
    assert "leat check bad.xml" in leat("doctor", "bad.xml", cwd=tmp_path, code=2).stderr
    leat("doctor", "bad.xml", "--bundle", "bug.tar.gz", cwd=tmp_path, LEAT_RUNTIME_DIR=str(tmp_path / "run"))
    with tarfile.open(tmp_path / "bug.tar.gz") as packed:
        assert "nam" in packed.extractfile("leat-check.txt").read().decode()
    assert "cannot make no/bug.tar.gz" in leat("doctor", "--bundle", "no/bug.tar.gz", cwd=tmp_path, code=1).stderr

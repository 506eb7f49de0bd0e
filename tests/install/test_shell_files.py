# SPDX-License-Identifier: Apache-2.0
"""What is installed for man and for shells: man reads it without a warning, and bash, zsh and fish complete by it."""
import re
import subprocess

import pytest
from conftest import sh
from leat_run import BUILD

VERB = re.compile(r"^  ([a-z]+) {3,}", re.M)


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("shell")
    sh("cmake", "--install", BUILD, "--prefix", prefix, "--component", "shell", cwd=BUILD)
    return prefix / "share"


def leat(*words):
    return subprocess.run([BUILD / "bin/leat", *words], capture_output=True, text=True, check=True).stdout


def verbs():
    found = VERB.findall(leat("--help"))
    assert len(found) > 20 and {"check", "doctor", "report"} <= set(found)
    return found


def bash(share, *words):
    """What TAB makes of the last word."""
    quoted = " ".join(f"'{word}'" for word in words)
    script = f"source {share}/bash-completion/completions/leat; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _leat; " \
             'printf "%s\\n" "${COMPREPLY[@]}"'
    return sh("bash", "--norc", "-c", script, cwd=share).split()


def test_every_verb_has_a_page_that_groff_reads_without_a_warning(share):
    pages = {page.name: page for page in (share / "man/man1").iterdir()}
    assert set(pages) == {"leat.1", *(f"leat-{verb}.1" for verb in verbs())}
    for page in pages.values():
        assert sh("groff", "-man", "-Tutf8", "-ww", "-z", page, cwd=share) == ""


def test_man_shows_what_the_help_says(share):
    text = " ".join(sh("man", "-l", share / "man/man1/leat-check.1", cwd=share, environment={"MANWIDTH": "200", "MANPAGER": "cat"}).split())
    for said in ("leat-check - Says all errors of a configuration at once", "--import-limit", "imports no script, asks no plugin",
                 "EXIT STATUS Exit codes: 0 the file is good", "SEE ALSO leat(1)"):
        assert said in text
    assert "leat-doctor" in sh("man", "-M", share / "man", "leat", cwd=share, environment={"MANPAGER": "cat"})


def test_bash_completes_verbs_options_words_and_files(share):
    assert bash(share, "leat", "ch") == ["check"]
    assert set(verbs()) <= set(bash(share, "leat", ""))
    assert bash(share, "leat", "check", "--si") == ["--sizes-only"]
    assert bash(share, "leat", "plan", "--comp") == ["--compute"]
    assert bash(share, "leat", "placement", "--bind", "no") == ["node", "none"]
    assert bash(share, "leat", "ctl", "heat", "d") == ["describe", "drain"]
    assert bash(share, "leat", "check", "h") == bash(share, "leat", "check", "--machine", "-") == []  # bash completes files then


@pytest.mark.parametrize("verb", verbs())
def test_bash_completes_every_long_option_of_the_help(share, verb):
    options = set(re.findall(r"^  (?:-\w(?: \w+)?, ?)?(--[\w-]+)", leat(verb, "--help"), re.M))
    assert options <= set(bash(share, "leat", verb, "-"))


def test_fish_completes_verbs_options_and_words(share):
    def fish(line):
        script = f"source {share}/fish/vendor_completions.d/leat.fish; complete -C '{line}'"
        return [each.split("\t")[0] for each in sh("fish", "--no-config", "-c", script, cwd=share).splitlines()]
    assert fish("leat ch") == ["check"]
    assert fish("leat check --si") == ["--sizes-only"]
    assert fish("leat placement --bind no") == ["node", "none"]


def test_zsh_completes_verbs_and_options(share):
    """At a terminal: each word is read until it shows, or the test ends by its limit."""
    script = f"""zmodload zsh/zpty; zpty z zsh -f
      zpty -w z "fpath=({share}/zsh/site-functions \\$fpath); autoload -Uz compinit; compinit -u -D; echo re''ady"
      zpty -r z said '*ready*'
      zpty -n -w z 'leat ch'$'\\t'; zpty -r z said '*leat check*'
      zpty -n -w z '--si'$'\\t'; zpty -r z said '*--sizes-only*'
      echo completed"""
    assert sh("zsh", "-f", "-c", script, cwd=share, environment={"TERM": "dumb", "HOME": str(share)}, limit=60) == "completed\n"

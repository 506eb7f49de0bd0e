#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shell_files.py LEAT FOLDER: writes into FOLDER what shells and man know of the command LEAT, made of its own --help and of that of
each verb: man1/leat.1, man1/leat-VERB.1, bash/leat, zsh/_leat and fish/leat.fish. CMake runs it, and installs what it makes."""
import dataclasses
import os
import pathlib
import re
import subprocess
import sys

COLUMN = 30  # of what CLI11 says of an option


@dataclasses.dataclass
class Entry:
    """A line of a section: an option, a positional, a verb."""
    left: str
    about: str

    def __post_init__(self):
        said = re.split(r" (?:Needs|Excludes):", self.left)[0]
        self.names = re.findall(r"(?:^|,\s?)(-{1,2}[\w-]+)", said)
        self.value = re.sub(r"(?:^|,\s?)-{1,2}[\w-]+", "", said).strip()
        self.choices = list(filter(None, re.sub(r".*?\{([\w,-]*)\}.*|.*", r"\1", self.value).split(",")))


@dataclasses.dataclass
class Help:
    """What --help says: an optional piece of usage, paragraphs, and sections of entries."""
    usage: str
    about: str
    sections: dict
    notes: list

    def options(self):
        return [entry for entries in self.sections.values() for entry in entries if entry.names]


def said(leat, *words):
    """What --help says; "" of a verb in Python where Leat was built without."""
    done = subprocess.run([leat, *words, "--help"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "COLUMNS": "2000", "NO_COLOR": "1"})
    if done.returncode != 0 and not words:
        sys.exit(f"{leat} --help: {done.stderr.strip() or 'says nothing'}")
    return done.stdout if done.returncode == 0 else ""


def entry_of(line, is_cli11):
    """(what is on the left, what is said of it) of a line of a section."""
    if is_cli11 and len(line) > COLUMN and line[COLUMN - 1] == " ":
        return line[:COLUMN].strip(), line[COLUMN:].strip()
    left, _, right = line.strip().partition("  ")
    return left, right.strip()


def read(text):
    """Of CLI11, or of argparse."""
    is_cli11 = "\nUsage: " in text
    usage, sections, paragraphs, entries = "", {}, [], None
    for line in text.splitlines():
        if found := re.match(r"[Uu]sage: (.*)", line):
            usage = found[1].strip()
        elif re.match(r"[A-Z][\w ]*:$|(positional arguments|options):$", line):
            entries = sections.setdefault(line[:-1].capitalize(), [])
        elif not line.strip():
            entries = None if entries else entries
            paragraphs.append("")
        elif entries is not None and re.match(r" {2}\S", line):
            entries.append(list(entry_of(line, is_cli11)))
        elif entries and line.startswith("   "):
            entries[-1][1] = f"{entries[-1][1]} {line.strip()}".strip()
        else:
            paragraphs.append(line.strip())
    parts = [" ".join(part.split()) for part in re.split(r"\n{2,}", "\n".join(paragraphs)) if part.strip()]
    return Help(usage, parts[0], {name: [Entry(*each) for each in all_] for name, all_ in sections.items()}, parts[1:])


# Pages of man


def roff(text):
    """As groff wants it: a dash is one that can be typed, and no line begins with a dot."""
    plain = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return "\\&" + plain if plain.startswith((".", "\\(aq")) else plain


def page(name, told, version, others):
    lines = [f'.TH {name.upper()} 1 "" "Leat {version}" "Leat"', ".SH NAME", f"{name} \\- {roff(told.about.rstrip('.'))}"]
    lines += [".SH SYNOPSIS", f"\\fB{roff(told.usage.split()[0])}\\fR {roff(' '.join(told.usage.split()[1:]))}"]
    for title, entries in told.sections.items():
        lines.append(f'.SH "{title.upper()}"')
        for entry in entries:
            lines += [".TP", f"\\fB{roff(entry.left)}\\fR", roff(entry.about or " ")]
    exits = [note for note in told.notes if "Exit codes:" in note]
    notes = [note for note in told.notes if note not in exits]
    lines += [".SH NOTES"] * bool(notes) + [line for note in notes for line in (".PP", roff(note))]
    lines += [".SH EXIT STATUS"] * bool(exits) + [roff(note) for note in exits]
    lines += [".SH SEE ALSO", ", ".join(f"\\fB{roff(each)}\\fR(1)" for each in others)]
    return '.\\" SPDX-License-Identifier: Apache-2.0\n' + "\n".join(lines) + "\n"


# Completion


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def bash(verbs):
    lines = []
    for name, told in verbs.items():
        options = told.options()
        for entry in options:
            if entry.choices:
                lines.append(f'    {"|".join(f"{name}:{each}" for each in entry.names)}) words="{" ".join(entry.choices)}" ;;')
            elif entry.value:
                lines.append(f'    {"|".join(f"{name}:{each}" for each in entry.names)}) return ;;')
        words = " ".join(each for entry in options for each in entry.names)
        lines.append(f'    {name}:*) [[ $word == -* ]] && words="{words}" ;;')
        if name == "ctl":
            lines[-1] = f'    ctl:*) if [[ $word == -* ]]; then words="{words}"; elif [ "$COMP_CWORD" -eq 3 ]; then ' \
                        f'words="{" ".join(ctl_verbs(told))}"; fi ;;'
    cases = "\n".join(lines)
    return f"""_leat() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{" ".join(verbs)} --help --version"
  else
    case ${{COMP_WORDS[1]}}:$before in
{cases}
    esac
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}}
complete -o bashdefault -o default -F _leat leat
"""


def ctl_verbs(told):
    return [entry.left.split()[0] for entry in told.sections.get("Verbs", [])]


def zsh_option(entry):
    about = entry.about.replace("[", "(").replace("]", ")").replace(":", "")
    for each in entry.names:
        value = f":value:({' '.join(entry.choices)})" if entry.choices else ":value:_files" if entry.value else ""
        yield quoted(f"{each}[{about}]{value}")


def zsh(verbs):
    described = "\n".join("    " + quoted(f"{name}:{told.about.replace(':', '')}") for name, told in verbs.items())
    cases = []
    for name, told in verbs.items():
        options = [word for entry in told.options() for word in zsh_option(entry)]
        rest = ["'*:file:_files'"]
        if name == "ctl":
            rest = ["'1:session: '", quoted(f"2:verb:({' '.join(ctl_verbs(told))})"), "'*:argument: '"]
        cases.append(f"    {name})\n      _arguments " + " \\\n        ".join(options + rest) + " ;;")
    return "#compdef leat\n" + f"""_leat() {{
  local -a verbs
  verbs=(
{described}
  )
  if (( CURRENT == 2 )); then
    _describe command verbs
    return
  fi
  shift words
  (( CURRENT -= 1 ))
  case $words[1] in
""" + "\n".join(cases) + """
  esac
}
_leat "$@"
"""


def fish(verbs):
    lines = ["complete -c leat -n __fish_use_subcommand -l help -d 'Shows what there is'",
             "complete -c leat -n __fish_use_subcommand -l version -d 'Shows the version'"]
    for name, told in verbs.items():
        lines.append(f"complete -c leat -n __fish_use_subcommand -f -a {name} -d {fish_quoted(told.about)}")
        within = f"complete -c leat -n '__fish_seen_subcommand_from {name}'"
        for entry in told.options():
            words = " ".join(f"-l {each[2:]}" if each.startswith("--") else f"-s {each[1:]}" for each in entry.names)
            value = f" -x -a {fish_quoted(' '.join(entry.choices))}" if entry.choices else " -r" if entry.value else ""
            lines.append(f"{within} {words}{value} -d {fish_quoted(entry.about)}")
        if name == "ctl":
            lines.append(f"{within} -f -a '{' '.join(ctl_verbs(told))}'")
    return "\n".join(lines) + "\n"


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def main():
    leat, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    version = subprocess.run([leat, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    top = read(said(leat))
    listed = [entry for title, entries in top.sections.items() if title != "Options" for entry in entries]
    verbs = {entry.left: read(said(leat, entry.left) or f"{entry.about}\nUsage: leat {entry.left} [OPTIONS]\n") for entry in listed}
    pages = {f"leat-{name}": told for name, told in verbs.items()}
    made = {f"man1/{name}.1": page(name, told, version, ["leat"]) for name, told in pages.items()}
    made["man1/leat.1"] = page("leat", top, version, pages)
    head = "# SPDX-License-Identifier: Apache-2.0\n# Made by tools/shell_files.py.\n"
    first, _, rest = zsh(verbs).partition("\n")
    made |= {"bash/leat": head + bash(verbs), "zsh/_leat": f"{first}\n{head}{rest}", "fish/leat.fish": head + fish(verbs)}
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()

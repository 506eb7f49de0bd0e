# SPDX-License-Identifier: Apache-2.0
"""Ledgers and reports of a simulation, as its servers wrote them: those that have the form that they should."""
import json

_NUMBER, _TEXT_OR_NULL, _OBJECT_OR_NULL = (int, float), (str, type(None)), (dict, type(None))
# What is read of each; a list is of all its members. What a ledger leaves out is as if there were none; a report has all.
_FORMS = {
    "ledger": {"simulation": str, "session": str, "node": str, "state": str, "run_id": str, "run_number": int, "lost": int,
               "dropped_iterations": int, "drained": _OBJECT_OR_NULL, "placement": _OBJECT_OR_NULL,
               "stores": [{"name": str, "failed": str, "stored_until": int}], "warnings": [{"text": str}], "died": [dict],
               "scripts": [{"name": str, "calls": int, "failed": int, "skipped": int, "why": str}],
               "entries": [{"variable": _TEXT_OR_NULL, "fate": str, "store": str, "what": str, "blocks": int, "bytes": int,
                            "iterations": [int], "why": str}]},
    "report": {"session": str, "run_id": str, "iterations": int, "advice": str, "stores": [{"name": str, "calls": int, "seconds": _NUMBER}],
               "scripts": [{"name": str, "calls": int, "seconds": _NUMBER}],
               **{name: _NUMBER for name in ("iteration_seconds", "iteration_longest_seconds", "compute_seconds", "inside_seconds",
                                             "store_seconds", "script_seconds", "measured_seconds", "buffer_bytes",
                                             "buffer_most_used_bytes")}},
}


def read_all(folder, name, kind):
    """(all JSON files of a kind that are this simulation's, newest first; paths of those that cannot be taken)."""
    found, damaged = [], []
    own = folder / f"{name}.{kind}.json"
    for path in [own, *folder.glob(f"{_escaped(name)}-*.{kind}.json")]:
        if not path.is_file():
            continue
        facts = _read(path, kind)
        if facts is None:
            damaged.append(path)
        elif path == own or facts.get("simulation") == name:  # there may be a simulation heat-fine beside heat
            found.append((path.stat().st_mtime, {**facts, "path": str(path)}))
    return [facts for _, facts in sorted(found, key=lambda each: -each[0])], damaged


def _escaped(name):
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _read(path, kind):
    try:
        facts = json.loads(path.read_text(encoding="utf-8", errors="replace"))
    except (OSError, ValueError, RecursionError):
        return None
    is_sound = (isinstance(facts, dict) and facts.get(f"leat_{kind}") == 1 and _has_form(facts, _FORMS[kind], kind == "report")
                and all(len(each.get("iterations", [0, -1, 1])) == 3 for each in facts.get("entries", [])))
    return facts if is_sound else None


def _has_form(value, form, has_all):
    if isinstance(form, dict):
        return isinstance(value, dict) and all(_has_form(value[key], each, has_all) if key in value else not has_all
                                               for key, each in form.items())
    if isinstance(form, list):
        return isinstance(value, list) and all(_has_form(each, form[0], has_all) for each in value)
    return isinstance(value, form)

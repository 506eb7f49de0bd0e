# SPDX-License-Identifier: Apache-2.0
"""What a run, and an iteration of one, look like at a prompt: one screen."""
import shutil

from .facts import KINDS, counted, spoken

_MOST_ROWS = 24
_MOST_VALUES = 8


def screen_of_run(run, facts):
    lost = {None: "", 0: ", nothing was lost"}.get(facts.lost, f", {counted(facts.lost or 0, 'write')} lost")
    lines = [f"{run.file}: {facts.simulation}, {counted(facts.ranks, 'rank')}, {run.state}{lost}"]
    about = f" (not complete: {spoken(facts.incomplete)})" if facts.incomplete else ""
    lines.append(f"  iterations  {len(facts.iterations)}{': ' if facts.iterations else ''}"
                 f"{spoken(facts.iterations) if facts.iterations else ''}{about}")
    if facts.times is not None and len(facts.times):
        unit = facts.model.time.unit if facts.model.time else ""
        lines.append(f"  time        {facts.times[0]:g} to {facts.times[-1]:g} {unit}".rstrip())
    if facts.parameters and facts.iterations:
        said = [f"{name} = {values[-1]}" for name, values in facts.parameters.items()]
        lines.append(f"  parameters  {_some(said)}")
    if facts.model.meshes:
        lines.append(f"  meshes      {_some([f'{mesh.name} ({KINDS[mesh.kind]})' for mesh in facts.model.meshes])}")
    lines += ["  variables", *_table([_row_of(each, facts) for each in facts.variables.values()], "run.variables")]
    return "\n".join(lines)


def screen_of_iteration(iteration, facts):
    time = "" if iteration.time is None else f", time {iteration.time:g} {facts.model.time.unit if facts.model.time else ''}".rstrip()
    head = f"iteration {iteration.number}{time}{'' if iteration.complete else ', not complete'}"
    rows = [_row_of(facts.variables[name], facts, with_iterations=False) for name in iteration]
    return "\n".join([head, *_table(rows, "list(...)")])


def _row_of(variable, facts, with_iterations=True):
    many = len(facts.iterations)
    when = "once" if variable.is_constant else "" if len(variable.iterations) == many else f"in {len(variable.iterations)} of {many}"
    sizes = " ".join(f"{dim}={'?' if n is None else n}" for dim, n in zip(variable.dims, variable.shape)) or "scalar"
    form = sizes if variable.is_global else f"per rank: {sizes}"
    dtype = "char" if variable.dtype.kind == "S" else str(variable.dtype)
    return [variable.name, dtype, form, variable.unit or "-", variable.mesh and f"on {variable.mesh}", *([when] if with_iterations else []),
            variable.description]


def _table(rows, where):
    if not rows:
        return ["    none"]
    shown = rows[:_MOST_ROWS]
    widths = [max(len(row[c]) for row in shown) for c in range(len(shown[0]))]
    width = max(shutil.get_terminal_size((120, 24)).columns, 60)
    lines = []
    for row in shown:
        line = "    " + "  ".join(cell.ljust(w) for cell, w in zip(row, widths) if w).rstrip()
        lines.append(line if len(line) <= width else line[:width - 3] + "...")
    if len(rows) > len(shown):
        lines.append(f"    and {len(rows) - len(shown)} more: {where}")
    return lines


def _some(texts):
    more = f", and {len(texts) - _MOST_VALUES} more" if len(texts) > _MOST_VALUES else ""
    return ", ".join(texts[:_MOST_VALUES]) + more

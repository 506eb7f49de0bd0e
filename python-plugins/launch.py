# SPDX-License-Identifier: Apache-2.0
"""Starts one of Leat's Python tools under whatever interpreter runs this: launch.py worker | replay | report | lint | ls |
model | openpmd | xdmf | zarr | plan | predict | pretend | dash | graph | fields | trace | xios [arguments].

Python puts the folder of this file first on its path, so the package `leat` beside it is taken, which needs NumPy only.
"""
import importlib
import os
import sys

TOOLS = {
    "worker": "leat.scripting.worker",
    "report": "leat.report.report",
    "replay": "leat.scripting.replay",
    "lint": "leat.scripting.lint",
    "ls": "leat.files.ls",
    "model": "leat.files.model",
    "openpmd": "leat.files.openpmd",
    "xdmf": "leat.files.xdmf",
    "zarr": "leat.files.zarr",
    "plan": "leat.planning.plan",
    "predict": "leat.planning.predict",
    "pretend": "leat.planning.pretend",
    "dash": "leat.dash.command",
    "graph": "leat.graph.command",
    "fields": "leat.dash.fields",
    "trace": "leat.trace.command",
    "xios": "leat.xios.command",
}

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in TOOLS:
        sys.exit(f"{sys.argv[0]}: the first argument is one of {', '.join(TOOLS)}")
    if os.environ.get("LEAT_WORKER_IDLE") == "1":  # <scripts runs="idle">: before libraries start threads, which inherit it
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    sys.exit(importlib.import_module(TOOLS[sys.argv.pop(1)]).main())

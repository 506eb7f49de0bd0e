# SPDX-License-Identifier: Apache-2.0
"""VTK in this process: the cores that it may take, and what it says is wrong."""
import contextlib
import os
import re


def keep_to_cores():
    """To be called before VTK is imported: it, and Mesa, would take all of the machine."""
    cores = os.environ.get("OMP_NUM_THREADS", "1")
    os.environ.update(LP_NUM_THREADS=cores, VTK_SMP_MAX_THREADS=cores)


@contextlib.contextmanager
def heard(say):
    """Errors and warnings of VTK, which nobody raises, go to say(text, is_error)."""
    from vtkmodules.vtkCommonCore import vtkLogger, vtkOutputWindow
    vtkLogger.SetStderrVerbosity(vtkLogger.VERBOSITY_OFF)

    def hear(window, event, text):
        say(_first_line(text), event == "ErrorEvent")
    hear.CallDataType = "string0"
    window = vtkOutputWindow()
    window.SetDisplayModeToNever()
    for event in ("ErrorEvent", "WarningEvent"):
        window.AddObserver(event, hear)
    before = vtkOutputWindow.GetInstance()
    vtkOutputWindow.SetInstance(window)
    try:
        yield
    finally:
        vtkOutputWindow.SetInstance(before)


def _first_line(text):
    """Of "ERROR: In FILE, line N\\nCLASS (0x...): what is wrong\\n...": the second, without addresses and lists of internals."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return re.sub(r" \(0x[0-9a-f]+\)", "", lines[1] if len(lines) > 1 else "".join(lines))

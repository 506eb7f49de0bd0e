# SPDX-License-Identifier: Apache-2.0
"""Who draws the pictures of this process: VTK, with the X server that it may need."""
import sys

from .display import Display, NoDisplay, is_needed
from .process import heard, keep_to_cores

_PACKAGES = "vtkmodules", "matplotlib"  # which Debian has in python3-paraview and python3-matplotlib


class CannotDraw(RuntimeError):
    """VTK, or something that it needs, is missing or does not work; the text says what to do."""


class Painter:
    """log(text): for warnings. last_words: descriptor that tells why the process died."""

    def __init__(self, log, last_words):
        self._log, self._last_words = log, last_words
        self._display, self._is_started = None, False

    def draw(self, wish, iteration, is_whole):
        """See picture.draw."""
        return self._made("draw", wish, iteration, is_whole)

    def draw_of_run(self, wish, iteration, gather, place):
        """See picture.draw_of_run."""
        return self._made("draw_of_run", wish, iteration, gather, place)

    def _made(self, function, *arguments):
        errors = []
        try:
            draw = getattr(self._drawing(), function)
        except ImportError as error:
            if (error.name or "").partition(".")[0] not in _PACKAGES:
                raise
            raise CannotDraw(f"{sys.executable} cannot import {error.name}: ctx.picture needs VTK and matplotlib: {sys.executable} -m pip "
                             "install vtk matplotlib, or Debian's python3-paraview, python3-matplotlib and xvfb") from None
        except NoDisplay as why:
            raise CannotDraw(str(why)) from None
        from .arrays import let_go
        try:
            with heard(lambda text, is_error: errors.append(text) if is_error else self._log(f"ctx.picture: {text}")):
                made = draw(*arguments)
        finally:
            let_go()
        if errors:
            raise CannotDraw(f"VTK could not draw it: {errors[0]}")
        return made

    def _drawing(self):
        if not self._is_started:
            keep_to_cores()
            import matplotlib  # noqa: F401
            import vtkmodules.vtkCommonCore  # noqa: F401
            with heard(lambda text, is_error: None):  # one with EGL tries X first, and says that there is none
                self._display = Display("VTK", self._log, self._last_words) if is_needed() else None
            self._is_started = True
        from . import picture
        from .canvas import forget_windows
        if self._display and not self._display.ensure():
            forget_windows()
        return picture

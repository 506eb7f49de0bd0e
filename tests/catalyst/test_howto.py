# SPDX-License-Identifier: Apache-2.0
"""docs/how-to/draw-with-paraview.md: its first picture, as it stands there."""
import os
import re
import subprocess

from catalyst_run import ROOT, bluish, image, paraview_python, reddish
from leat_run import BUILD, LIMIT

PAGE = (ROOT / "docs/how-to/draw-with-paraview.md").read_text()


def test_the_first_picture_comes_of_the_files_of_the_page(tmp_path):
    for name, text in re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", PAGE, re.S):
        (tmp_path / name).write_text(text.replace("/usr/bin/python3", paraview_python()))
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    flags = f"-I{ROOT}/client-api/api -L{BUILD}/lib -lleat -Wl,-rpath,{BUILD}/lib"
    environment = {**os.environ, "PATH": f"{BUILD}/bin:{os.environ['PATH']}", "LEAT_RUNTIME_DIR": str(tmp_path / "r")}
    done = subprocess.run(["bash", "-euc", commands.replace("$(pkg-config --cflags --libs leat)", flags)], cwd=tmp_path, env=environment,
                          capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done
    pictures = [f"plate_{i:03}.png" for i in range(10)]
    assert done.stdout.split()[-10:] == pictures and "10 stored" in done.stderr and "nothing lost" in done.stderr, done
    drawn = [image(tmp_path / "plate-scripts/pipe" / name) for name in pictures]
    for each in drawn:
        assert each.shape == (600, 800, 3) and bluish(each).mean() > 0.02 and reddish(each).mean() > 0.02
    assert (drawn[0] != drawn[5]).any(-1).mean() > 0.1

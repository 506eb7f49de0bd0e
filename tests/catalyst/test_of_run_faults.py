# SPDX-License-Identifier: Apache-2.0
"""A server that is missing, dead, stopped or late costs its part of the pictures of a script with scope="run", or these, and says so;
nothing waits for it without end."""
import os
import signal
import threading
import time

from catalyst_run import BOX, config, draw, errors_in, image
from control_run import wait_until
from nodes_run import NodesRun
from test_of_run import slabs
from test_scripts import put

PIPE = '''
box = PVTrivialProducer(registrationName="box")
view = CreateRenderView(ViewSize=[400, 300])
view.CameraPosition, view.CameraFocalPoint, view.CameraViewUp = [0.5, 3.2, 0.5], [0.5, 0.5, 0.5], [0, 0, 1]
view.OrientationAxesVisibility, view.UseColorPaletteForBackground, view.Background = 0, 0, [1, 1, 1]
shown = Show(box, view)
ColorBy(shown, ("CELLS", "temperature"))
GetColorTransferFunction("temperature").RescaleTransferFunction(0, 1.4)
png = CreateExtractor("PNG", view, registrationName="p").Writer
png.FileName, png.ImageResolution = "p_{timestep}.png", [400, 300]
'''
COUNT = 5
BY_NODE = 2, 2  # ranks of each


def found(folder, number):
    paths = [path for path in folder.rglob(f"p_{number}.png") if path.stat().st_size]
    return paths[0] if paths else None


def drawn(folder, after, code=PIPE, attributes="", timeout="8s"):
    """The log of a run of two nodes; after(run, iteration) once the picture of each iteration is there."""
    put(folder, code)
    return draw(folder, BOX, slabs(COUNT), folder / "pipe.py", parameters={"ranks": 4}, nodes=2, after=after, timeout=timeout,
                attributes=f'scope="run" failures="99" {attributes}')


def await_picture(folder, number):
    wait_until(lambda: found(folder, number), f"picture {number}")


def coloured(picture):
    return (picture.max(-1) - picture.min(-1) > 40) & ~is_note(picture)


def is_note(picture):
    """Its red letters, and no colour of the map."""
    return (picture[..., 0] > 150) & (picture[..., 1] < 25) & (picture[..., 2] < 25)


def kill_node(run, node):
    """All of it, at once; the ranks that were killed."""
    ranks = run.processes[node * BY_NODE[0]:][:BY_NODE[node]]
    for pid in [*(rank.pid for rank in ranks), run.server_of(node)]:
        os.kill(pid, signal.SIGKILL)
    return ranks


def halves(picture):
    """How much of the lower and of the upper half is drawn."""
    shown = coloured(picture)
    return shown[150:].mean(), shown[:150].mean()


def test_a_node_that_dies_is_missing_in_the_picture_which_says_so(tmp_path):
    def kill(run, iteration):
        await_picture(tmp_path, iteration)
        return kill_node(run, 1) if iteration == 1 else ()
    log = drawn(tmp_path, kill)
    assert "iteration 2 is drawn without the data of server 1 (of 2)" in log and log.count("is drawn without") == 1, log
    before, after = image(found(tmp_path, 1)), image(found(tmp_path, COUNT - 1))
    assert min(halves(before)) > 0.2 and not is_note(before).any(), "all of it"
    assert halves(after)[0] > 0.2 and halves(after)[1] < 0.02, "its own half alone"
    assert is_note(after)[270:].sum() > 100, "the words"


def test_when_the_first_node_dies_the_next_one_draws(tmp_path):
    def kill(run, iteration):
        await_picture(tmp_path, iteration)
        return kill_node(run, 0) if iteration == 1 else ()
    drawn(tmp_path, kill)
    before, after = found(tmp_path, 1), found(tmp_path, COUNT - 1)
    assert before.parent != after.parent, "each has a folder of its own"
    assert halves(image(after))[1] > 0.2 and halves(image(after))[0] < 0.02 and is_note(image(after)).any()


def test_a_server_that_is_killed_is_there_again_when_its_successor_is(tmp_path):
    def kill(run, iteration):
        if iteration < 3:
            await_picture(tmp_path, iteration)
        if iteration == 1:
            os.kill(run.server_of(1), signal.SIGKILL)
            time.sleep(0.2)  # a rank looks for it at most every 100 ms, and starts the next one then: not while it waits for a picture
    log = drawn(tmp_path, kill, timeout="20s")  # a third of it without a word is death, and its successor has to start first
    last = image(found(tmp_path, COUNT - 1))
    assert min(halves(last)) > 0.2 and not is_note(last).any(), log


def test_a_server_that_is_stopped_for_too_long_is_left_out(tmp_path):
    stopped = []

    def stop(run, iteration):
        await_picture(tmp_path, iteration)
        if iteration == 1:
            stopped.append(run.server_of(1))
            os.kill(stopped[0], signal.SIGSTOP)
        if iteration == 2:
            os.kill(stopped[0], signal.SIGCONT)
    log = drawn(tmp_path, stop)
    assert "iteration 2 is drawn without the data of server 1 (of 2)" in log and "FAILED" not in log, log
    assert log.count("the run goes on without this server, and so do its pictures") == 1, "the other one says so too"
    last = image(found(tmp_path, COUNT - 1))
    assert halves(last)[0] > 0.2 and halves(last)[1] < 0.02 and is_note(last).any()


def said(run):
    """By all ranks: whichever was first on its node has started the server, which says it there."""
    return "".join(path.read_text() for path in run.folder.glob("rank*.err"))


def test_a_rank_that_is_late_costs_the_pictures_of_its_iteration(tmp_path):
    """Its server lives, so it is waited for, as long as the script may take."""
    threads = []

    def go_on_when_said(run, pid):
        try:
            wait_until(lambda: errors_in(said(run), "pipe", 2), "that it took too long")
        finally:
            os.kill(pid, signal.SIGCONT)

    def stop(run, iteration):
        if iteration == 1:
            await_picture(tmp_path, iteration)
            os.kill(run.processes[3].pid, signal.SIGSTOP)
            threads.append(threading.Thread(target=go_on_when_said, args=(run, run.processes[3].pid)))
            threads[0].start()
    log = drawn(tmp_path, stop, attributes='timeout="15s"', timeout="40s")
    threads[0].join()
    assert "TimeoutError" in errors_in(log, "pipe", 2) and found(tmp_path, 2) is None, log
    assert min(halves(image(found(tmp_path, 4)))) > 0.2


def test_a_server_that_has_not_met_the_others_says_so_in_its_pictures(tmp_path):
    put(tmp_path, PIPE)
    box = BOX.replace('type="int" value="1"', 'type="int" value="2"')
    with NodesRun(tmp_path, config(box, tmp_path / "pipe.py", attributes='scope="run"', timeout="3s"), [[0], [1]]) as run:
        alone = run.ranks[0]
        alone.must("init_ranks", run.config, run.session, 0, 2, 0, 1)
        alone.must("set_position", "temperature", 0, "0,0,0")
        for i in range(2):
            assert alone.write("temperature", 8 * 8 * 16 * 16, i).ok
            alone.end()
        alone.call("finalize")
        log = run.log()
        del run.all_runtimes[1:]  # nobody was there
    assert log.count("its pictures are drawn without their data") == 1, log
    assert is_note(image(found(tmp_path, 1)))[270:].sum() > 100, "the words"


HANGS = PIPE + "def catalyst_execute(info):\n    while info.timestep == 1: pass\n"


def test_a_script_that_hangs_on_the_first_server_costs_that_iteration_on_all(tmp_path):
    log = drawn(tmp_path, None, HANGS, 'timeout="20s"', timeout="40s")
    assert "it took longer than" in errors_in(log, "pipe", 1), log
    assert [found(tmp_path, i) is not None for i in range(COUNT)] == [True, False, True, True, True], log

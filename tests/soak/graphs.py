# SPDX-License-Identifier: Apache-2.0
"""A graph of three modules in a chain, and a viewer that leaves iterations out; modules and servers are killed and stopped at random."""
import json
import re
import signal
import sys
import textwrap

from judge import judge
from simulation import Simulation, processes_of, send

GRAPH = '<scripts interpreter="{}"><script file="plan.json" form="graph" failures="1000"/></scripts>'
# The last sees what the first two have made of the same iteration, and whether it is right.
MODULE = """
    import time
    import leat.module as module
    name = module.name()
    while module.wait():
        total = sum(float(part.data.sum()) for part in module.parts("small"))
        before = [float(module.get(port)) for port in module.options()["before"]]
        good = all(each == total for each in before)
        with open(f"{name}.seen", "a") as file:
            file.write(f"{module.iteration()} {int(good)}\\n")
        module.put("total", total)
        time.sleep(0.002 * (name == "view"))
"""


def module(name, before, **others):
    inputs = [{"port": "small", "variable": "small"}, *({"port": each, "sources": [f"{each}/total"]} for each in before)]
    return {"name": name, "run": [sys.executable, "module.py"], "inputs": inputs, "outputs": [{"port": "total"}],
            "options": {"before": before}, **others}


def modules_killed(folder, chance):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "module.py").write_text(textwrap.dedent(MODULE))
    modules = [module("first", []), module("second", ["first"]), module("last", ["first", "second"]), module("view", [], latest=True)]
    (folder / "plan.json").write_text(json.dumps({"leat_graph": 1, "modules": modules}))
    run = Simulation(folder, chance, iterations=60, buffer="64MiB", timeout=60, more=GRAPH.format(sys.executable))
    run.start().begun()
    for _ in range(12):
        if not run.goes_on_for(chance.uniform(0.02, 0.3)):
            break
        if chance.random() < 0.25:
            run.kill_server()
        else:
            disturb_module(run, chance)
    return judge_modules(run, judge(run.finish(), cleaned=True))


def disturb_module(run, chance):
    """Kills one, or stops it: it is ended when that takes too long, or goes on."""
    found = [pid for pid, words in processes_of(run.runtime).items() if "module.py" in words]
    if not found:
        return
    victim = chance.choice(found)
    if chance.random() < 0.7:
        run.kills += send(victim, signal.SIGKILL)
    elif send(victim, signal.SIGSTOP):
        run.goes_on_for(chance.uniform(0.05, 0.3))
        send(victim, signal.SIGCONT)


def judge_modules(run, tally):
    """Each turn once, with what belongs to it; of those that are missing the log says how many."""
    for name in ("first", "second", "last", "view"):
        path, seen = run.folder / f"{name}.seen", []
        if path.exists():
            seen = [tuple(map(int, line.split())) for line in path.read_text().splitlines()]
        numbers = [number for number, _ in seen]
        if not all(good for _, good in seen):
            tally.blame("wrong", f"module {name} has had values of another iteration: {seen}")
        if any(a >= b for a, b in zip(numbers, numbers[1:])) and run.server_kills == 0:
            tally.blame("wrong", f"turns of module {name} are in another order: {numbers}")
        told = sum(int(n) for n in re.findall(rf'module "{name}" .*?skipped (\d+) iterations?', run.log()))
        told += sum(int(n) for n in re.findall(rf'module "{name}" failed (\d+) times?', run.log()))
        told += sum(int(n) for n in re.findall(rf'module "{name}" was called for none of (\d+) iterations?', run.log()))
        missing = set(range(run.iterations)) - set(numbers)
        for first, last in re.findall(r"may not have been called with iterations? (\d+)(?: to (\d+))?", run.log()):
            missing -= set(range(int(first), int(last or first) + 1))
        if len(missing) > told:
            tally.blame("lost", f"turns {sorted(missing)} of module {name}, {told} of which the log speaks of", len(missing) - told)
    return tally

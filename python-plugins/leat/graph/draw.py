# SPDX-License-Identifier: Apache-2.0
"""The picture of a graph, as SVG: what comes from the simulation on the left, what takes it on the right."""
from html import escape

_WIDTH, _LINE, _GAP_X, _GAP_Y, _MARGIN = 190, 20, 110, 28, 24
_COLOURS = {"node": "#e8f1fb", "idle": "#f4effa", "harvest": "#eef5dc", "staging": "#fdf1e3", "host": "#fbe8ee", "simulation": "#e9f6ec"}
_SAID = {"node": "on the dedicated cores", "idle": "in idle time", "harvest": "while ranks idle", "staging": "on staging nodes",
         "host": "on another host"}


def svg_of(plan):
    """Text of an SVG of a plan, see plan.py."""
    boxes = _boxes(plan)
    columns = _columns(boxes, plan)
    _place(boxes, columns)
    width = _MARGIN * 2 + len(columns) * _WIDTH + (len(columns) - 1) * _GAP_X
    height = max(box["y"] + box["height"] for box in boxes.values()) + _MARGIN + 22
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
             'font-family="sans-serif" font-size="12">',
             '<defs><marker id="end" markerWidth="8" markerHeight="8" refX="7" refY="3" orient="auto"><path d="M0,0 L7,3 L0,6 z" '
             'fill="#456"/></marker></defs>', f'<rect width="{width}" height="{height}" fill="white"/>']
    lines += [_edge(boxes, *edge) for edge in _edges(plan)]
    lines += [_box(box) for box in boxes.values()]
    lines += [_legend(plan, height), "</svg>"]
    return "\n".join(lines) + "\n"


def _kind(module):
    return module["place"].partition(":")[0]


def _boxes(plan):
    """{name: what is drawn of it}"""
    variables = sorted({port["variable"] for module in plan["modules"] for port in module["inputs"] if "variable" in port})
    steered = sorted({name for module in plan["modules"] for port in module["outputs"] for name in port.get("steers", [])})
    boxes = {"": {"title": plan["simulation"], "where": "simulation", "ins": [f"{name} (steered)" for name in steered], "outs": variables}}
    for module in plan["modules"]:
        boxes[module["name"]] = {"title": module["name"], "where": _kind(module), "ins": [port["port"] for port in module["inputs"]],
                                 "outs": [port["port"] for port in module["outputs"]], "command": " ".join(module["run"])}
        for port in module["inputs"]:
            for source in port.get("sources", []):
                name, _, product = source.partition("/")
                if all(each["name"] != name for each in plan["modules"]):
                    box = boxes.setdefault(name, {"title": name, "where": "simulation", "ins": [], "outs": []})
                    if product not in box["outs"]:
                        box["outs"].append(product)
    for box in boxes.values():
        box["height"] = 30 + _LINE * max(len(box["ins"]), len(box["outs"]), 1)
    return boxes


def _edges(plan):
    """(source, its port, target, its port, what is said of it)"""
    for module in plan["modules"]:
        for port in module["inputs"]:
            said = _policy(port, module)
            if "variable" in port:
                yield "", port["variable"], module["name"], port["port"], said
            for source in port.get("sources", []):
                name, _, product = source.partition("/")
                yield name, product, module["name"], port["port"], said
        for port in module["outputs"]:
            for name in port.get("steers", []):
                yield module["name"], port["port"], "", f"{name} (steered)", "steers"


def _policy(port, module):
    words = []
    if module.get("latest"):
        words.append("latest")
    if "rate" in port:
        words.append(f"{port['rate']:g} Hz")
    if port.get("every", 1) > 1:
        words.append(f"every {port['every']}" + (f" from {port['offset']}" if port.get("offset") else ""))
    if "sample" in port:
        words.append(f"{100 * port['sample']:g} %")
    if "when" in port:
        words.append(port["when"])
    if "tokens" in port:
        words.append(f"tokens {port['tokens']}")
    if port.get("greedy"):
        words.append("greedy")
    if "share" in port:
        words.append(f"share {port['share']['share'] + 1} of {port['share']['shares']}")
    return ", ".join(words)


def _columns(boxes, plan):
    """Each right of all that it takes from, but for loops."""
    depth = {name: 0 for name in boxes}
    edges = [(source, target) for source, port, target, _, said in _edges(plan) if said != "steers" and not said.startswith("tokens")]
    for _ in range(len(boxes)):
        for source, target in edges:
            if source != target:
                depth[target] = min(len(boxes), max(depth[target], depth[source] + 1))
    columns = [[] for _ in range(max(depth.values()) + 1)]
    for name in boxes:
        columns[depth[name]].append(name)
    return [column for column in columns if column]


def _place(boxes, columns):
    tallest = max(sum(boxes[name]["height"] + _GAP_Y for name in column) for column in columns)
    for number, column in enumerate(columns):
        y = _MARGIN + (tallest - sum(boxes[name]["height"] + _GAP_Y for name in column)) / 2
        for name in column:
            boxes[name].update(x=_MARGIN + number * (_WIDTH + _GAP_X), y=y)
            y += boxes[name]["height"] + _GAP_Y


def _port_at(box, side, port):
    ports = box[side]
    row = ports.index(port) if port in ports else 0
    return box["x"] + (_WIDTH if side == "outs" else 0), box["y"] + 38 + _LINE * row


def _edge(boxes, source, port, target, input_, said):
    x0, y0 = _port_at(boxes[source], "outs", port)
    x1, y1 = _port_at(boxes[target], "ins", input_)
    back = x1 <= x0
    bend = 60 if not back else 80
    dash = ' stroke-dasharray="5,4"' if said == "steers" or back else ""
    path = f"M{x0:.0f},{y0:.0f} C{x0 + bend:.0f},{y0:.0f} {x1 - bend:.0f},{y1:.0f} {x1 - 2:.0f},{y1:.0f}"
    if back:  # around, below both
        low = max(boxes[source]["y"] + boxes[source]["height"], boxes[target]["y"] + boxes[target]["height"]) + 14
        path = (f"M{x0:.0f},{y0:.0f} C{x0 + 40:.0f},{y0:.0f} {x0 + 40:.0f},{low:.0f} {x0 - 20:.0f},{low:.0f} "
                f"L{x1 + 20:.0f},{low:.0f} C{x1 - 40:.0f},{low:.0f} {x1 - 40:.0f},{y1:.0f} {x1 - 2:.0f},{y1:.0f}")
        middle, height = (x0 + x1) / 2, low - 4
    else:
        middle, height = (x0 + x1) / 2, (y0 + y1) / 2 - 5
    text = (f'<text x="{middle:.0f}" y="{height:.0f}" text-anchor="middle" font-size="11" fill="#456" paint-order="stroke" stroke="white" '
            f'stroke-width="3">{escape(said)}</text>') if said else ""
    return f'<path d="{path}" fill="none" stroke="#456" stroke-width="1.3" marker-end="url(#end)"{dash}/>{text}'


def _box(box):
    x, y = box["x"], box["y"]
    lines = [f'<rect x="{x}" y="{y:.0f}" width="{_WIDTH}" height="{box["height"]}" rx="5" fill="{_COLOURS[box["where"]]}" stroke="#789"/>',
             f'<text x="{x + _WIDTH / 2}" y="{y + 18:.0f}" text-anchor="middle" font-weight="bold">{escape(box["title"])}'
             + (f'<title>{escape(box["command"])}</title>' if "command" in box else "") + "</text>"]
    lines += [f'<text x="{x + 8}" y="{y + 42 + _LINE * i:.0f}">{escape(port)}</text>' for i, port in enumerate(box["ins"])]
    lines += [f'<text x="{x + _WIDTH - 8}" y="{y + 42 + _LINE * i:.0f}" text-anchor="end">{escape(port)}</text>'
              for i, port in enumerate(box["outs"])]
    return "\n".join(lines)


def _legend(plan, height):
    used = [where for where in _SAID if any(_kind(module) == where for module in plan["modules"])]
    return "\n".join(f'<rect x="{_MARGIN + 190 * i}" y="{height - 22}" width="12" height="12" fill="{_COLOURS[where]}" stroke="#789"/>'
                     f'<text x="{_MARGIN + 18 + 190 * i}" y="{height - 12}">{_SAID[where]}</text>' for i, where in enumerate(used))

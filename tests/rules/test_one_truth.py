# SPDX-License-Identifier: Apache-2.0
"""What is said twice is said the same."""
import ast
import re

from tree import files, text


def test_leat_h_has_the_status_codes_of_status_def():
    named = dict(re.findall(r"LEAT_(\w+) = (-?\d+)", text("client-api/api/leat.h")))
    declared = {n: v for n, v in named.items() if not n.startswith("TYPE_")}
    defined = dict(re.findall(r"LEAT_STATUS\((\w+),\s*(-?\d+)", text("lib/base/status.def")))
    assert declared == defined and len(defined) > 10


def enumerators(path, enum):
    """{name in lower case: value} of an enum of C or C++."""
    body = re.search(rf"enum (?:class )?{enum}[^{{;]*\{{(.*?)\}}", text(path), re.S).group(1)
    return {name.lower(): value for name, value in re.findall(r"(\w+) = (\d+)", body)}


def test_plugin_h_has_the_types_of_scalar_types_def():
    declared = {n.removeprefix("leat_"): v for n, v in enumerators("server/include/plugin.h", "leat_scalar").items()}
    defined = {n.lower(): v for n, v in re.findall(r"LEAT_SCALAR\((\w+),\s*(\d+)", text("lib/base/scalar_types.def"))}
    declared["character"] = declared.pop("char")  # "char" is no name in C++
    assert declared == defined and len(defined) > 10


def test_plugin_h_has_the_meshes_of_the_model():
    kinds, centerings = (enumerators("server/include/plugin.h", e) for e in ("leat_mesh_kind", "leat_centering"))
    assert {n.removeprefix("leat_mesh_"): v for n, v in kinds.items()} == enumerators("lib/model/model.hpp", "MeshKind")
    assert {n.removeprefix("leat_"): v for n, v in centerings.items()} == enumerators("lib/model/model.hpp", "Centering")


def test_leat_h_has_the_types_of_scalar_types_def():
    declared = {n.lower(): v for n, v in re.findall(r"LEAT_TYPE_(\w+) = (\d+)", text("client-api/api/leat.h"))}
    defined = dict(re.findall(r"LEAT_SCALAR\((\w+),\s*(\d+)", text("lib/base/scalar_types.def")))
    declared["character"] = declared.pop("char")
    assert declared == defined


def test_the_fortran_module_has_the_status_codes_of_status_def():
    declared = dict(re.findall(r"LEAT_(OK|UNWANTED|DROPPED|SERVED|ERROR_\w+) = (-?\d+)", text("fortran/leat.f90")))
    assert declared == dict(re.findall(r"LEAT_STATUS\((\w+),\s*(-?\d+)", text("lib/base/status.def")))


def test_the_c_reference_names_everything_that_leat_h_declares():
    headers = "".join(text(f"client-api/api/{name}.h") for name in ("leat", "leat_mpi", "leat_build"))
    header = re.sub(r"/\*.*?\*/", "", headers, flags=re.S)
    names = set(re.findall(r"\b(leat_\w+)\(|\b(LEAT_[A-Z]+_\w+) = |\} (leat_\w+);", header))
    declared = {name for found in names for name in found if name and not name.startswith("leat_mpi_")}  # those leat_split uses
    page = text("docs/reference/c-api.md")
    assert len(declared) > 50 and {n for n in declared if not re.search(rf"\b{n}\b", page)} == set()


def test_the_page_of_leat_ctl_has_the_verbs_of_verbs_def():
    verbs = [name.replace("_", "-") for name in re.findall(r"^LEAT_CONTROL_\w+\((\w+),", text("lib/control/verbs.def"), re.M)]
    table = text("docs/reference/leat-ctl.md").split("Where a run has")[0]
    assert sorted(re.findall(r"^\| `([\w-]+)[^`]*` \|", table, re.M)) == verbs and len(verbs) > 9


def test_the_readme_and_the_makefile_know_the_same_commands():
    made = set(re.findall(r"^## make (\w+)", text("Makefile"), re.M))
    named = set(re.findall(r"make (demo|test|build|bench|install)\b", text("README.md")))
    assert named <= made


# The keys of a run's description in JSON: made of the model, and by the hdf5 store of what the ABI tells it, for its own file.
DESCRIBES = ["lib/model/run_description.cpp", "server/plugins/hdf5/conventions/run_description.cpp"]
READS = ["python-plugins/leat/scripting/coordinates.py", "python-plugins/leat/scripting/model.py", "client-api/module/turn_order.cpp"]
KEY = re.compile(r'"(ghost_low|ghost_high|time_varying|time_parameter|cell_type)"')
FIELDS = "lib/model/fields.def"


def test_what_a_variable_is_is_said_as_json_in_one_place():
    rooms = ("lib/", "server/", "client-api/", "python-plugins/")
    code = [p for p in files() if p.startswith(rooms) and p.endswith((".cpp", ".hpp", ".py"))]
    assert sorted(p for p in code if KEY.search(text(p))) == sorted(DESCRIBES + READS)


# What a variable is, field by field. One type has them; who says them again, and who decides by one of them, has a reason.
FIELD = re.compile(r"\b(time_varying|ghost_low|ghost_high|standard_name|cell_methods)\b")
SAYS_FIELDS = {
    "lib/model/fields.def": "the fields of the XML as they are", "lib/model/model.hpp": "the other fields",
    "lib/model/read_layouts.cpp": "made of the XML", "lib/model/read_variables.cpp": "made of the XML",
    "lib/model/run_description.cpp": "the conversion to JSON",
    "server/pipeline/plugin_view.cpp": "the conversion to the plugin ABI", "server/include/plugin.h": "the plugin ABI, a contract",
    "server/state/clients/catalogue_writer.cpp": "the conversion to the segment", "lib/shm/layout.hpp": "the segment, a contract",
    "server/plugins/hdf5/conventions/run_description.cpp": "the JSON in a file, made of the ABI and read again",
    "python-plugins/leat/scripting/model.py": "made of the JSON",
}
USES_FIELDS = {
    "lib/model/derived_shapes.cpp": "what is made of others, or selected, may have no ghosts",
    "lib/model/derived_texts.cpp": "a variable that is made of others has what they have, where it says nothing itself",
    "lib/model/settle_derived.cpp": "what is made of others varies in time",
    "lib/model/explain.cpp": "what is written once is said to be",
    "lib/model/time_axes.cpp": "what does not vary in time is in each file of a store",
    "server/derive/constants.cpp": "what is written once is kept for what is made of it",
    "server/derive/derived_jobs.cpp": "what is written once need not be of all ranks",
    "server/derive/block_inputs.cpp": "blocks with other ghosts go together without them",
    "server/derive/coordinates.cpp": "coordinates have places without ghosts",
    "server/derive/neighbours.cpp": "what is beside a block is in its ghosts",
    "lib/model/read_vectors.cpp": "components of a vector vary in time or do not, all of them",
    "lib/model/read_places.cpp": "coordinates of a range are written once",
    "lib/model/checks.cpp": "a mesh that does not move; ghosts must fit into a block",
    "client-api/session/declared.cpp": "what a block must be in the global array",
    "client-api/session/declared.hpp": "which cells of a block are read",
    "server/plugins/checkpoint/checkpoint.cpp": "the conversion to the index of a checkpoint",
    "server/state/clients/block_reader.cpp": "what a block must be in the global array",
    "server/engine/events.cpp": "what is written once may come before the first iteration of a rank",
    "server/engine/overflow.cpp": "what is written once is not dropped",
    "server/pipeline/coverage/boxes.cpp": "ghosts are no part of a box",
    "server/pipeline/coverage/storing_check.cpp": "ghosts are not stored",
    "server/pipeline/coverage/array_checks.cpp": "ghosts may overlap; what is written once may come in two iterations",
    "server/workers/script_task.cpp": "what is written once goes to scripts in another file",
    "server/workers/script_hand_out.cpp": "what is written once goes to scripts in another file",
    "server/workers/graph/modules.cpp": "what is written once goes to modules in another file",
    "server/workers/graph/module_inputs.cpp": "what is written once is there in each iteration",
    "server/plugins/hdf5/arrays/blocks.cpp": "ghosts are not stored; what is written once has a table without iterations",
    "server/plugins/hdf5/output/cell_order.cpp": "an index has no place for ghosts",
    "server/plugins/analytics/values.hpp": "ghosts do not count",
    "server/plugins/analytics/values.cpp": "ghosts do not count",
    "server/plugins/hdf5/arrays/writer.hpp": "what is written once has no dimension of iterations",
    "server/plugins/hdf5/arrays/writer.cpp": "how an array lies in the file, and its attributes",
    "server/plugins/hdf5/conventions/coordinates.cpp": "attributes of the time itself, and a coordinate that does not move",
    "server/plugins/hdf5/conventions/coordinates.hpp": "attributes of the middles of cells are those of their nodes",
    "server/plugins/hdf5/conventions/dimension_scales.cpp": "attributes of the middles of cells are those of their nodes",
    "server/cli/set_values.cpp": "ghosts are no part of where a block lies",
    "server/plugins/hdf5/output/store.cpp": "what is written once is not an iteration's",
    "server/plugins/hdf5/output/store_open.hpp": "what is written once is not an iteration's",
    "server/plugins/hdf5/output/store_append.cpp": "what is written once is written again by a run that restarts",
    "server/plugins/hdf5/output/stored_form.cpp": "ghosts are not stored; a variable of errors varies as the one that they are of",
    "server/plugins/hdf5/output/stored_rows.cpp": "ghosts are not stored; what is written once has no dimension of iterations",
    "server/plugins/hdf5/output/append.cpp": "in what two models differ",
    "server/plugins/hdf5/vtkhdf/field.cpp": "what is written once is the same in each step",
    "server/plugins/hdf5/vtkhdf/unstructured.cpp": "what is written once is the same in each step",
    "python-plugins/leat/scripting/stored_run.py": "what is written once has no dimension of iterations",
    "python-plugins/leat/scripting/worker.py": "what is written once comes in another file",
    "python-plugins/leat/catalyst/whole.py": "what is written once is sent once",
    "python-plugins/leat/scripting/script.py": "what is written once is there in each iteration",
    "python-plugins/leat/damaris/data.py": "what is written once is in iteration 0 only, as for Damaris",
    "python-plugins/leat/files/model_datasets.py": "attributes of CF, whose names are these",
    "python-plugins/leat/xios/convert.py": "attributes of XIOS, whose names are these",
    "python-plugins/leat/xios/tables.py": "attributes of XIOS, whose names are these",
    "python-plugins/leat/scripting/coordinates.py": "a mesh that does not move, and attributes of the time itself",
}


def test_the_fields_of_a_variable_have_one_home():
    rooms = ("lib/", "server/", "client-api/", "fortran/", "python-plugins/")
    code = [p for p in files() if p.startswith(rooms) and p.endswith((".c", ".cpp", ".h", ".hpp", ".py", ".f90", ".def"))]
    assert {p for p in code if FIELD.search(text(p))} == SAYS_FIELDS.keys() | USES_FIELDS.keys()


def test_the_store_describes_a_run_with_the_keys_of_the_model():
    """Beside those of fields.def, which both take from there."""
    def keys(path):  # what is said in words of the XML is said for users
        numbers = text(path).split("// In words of the XML")[0]
        return set(re.findall(r'put\(&to, "(\w+)"|to\["(\w+)"\]|\{"(\w+)", ', numbers))

    ours, stores = ({name for found in keys(path) for name in found if name} for path in DESCRIBES)
    assert stores - ours == {"format", "store", "ranks"} and ours - stores == {"simulation", "parameters", "events", "scripts"}


def fields_seen_of(element):
    """[(type, member, its attribute in files)] of those that plugins see."""
    lines = text(FIELDS).split(f"LEAT_ELEMENT({element})")[1].split("LEAT_END")[0]
    return re.findall(r'^LEAT_SEEN\(([\w:]+), (\w+), .*, "[\w-]*", "(\w*)"\)', lines, re.M)


def test_scripts_call_the_texts_of_a_variable_as_files_do():
    told = {member: member for kind, member, _ in fields_seen_of("Variable") if kind == "std::string"}
    of_cf = dict(re.findall(r'"(\w+)": "(\w+)"', re.search(r"_OF_CF = \{.*\}", text(READS[1])).group()))
    assert {**told, **of_cf} == {m: name for kind, m, name in fields_seen_of("Variable") if kind == "std::string"} and len(told) > 3




def test_scripts_know_the_numbers_of_types_and_meshes():
    types = re.search(r"enumerate\(\((.*?)\), 1\)", text(READS[1]), re.S).group(1)
    defined = re.findall(r'LEAT_SCALAR\(\w+, (\d+), .*"(\w+)"\)', text("lib/base/scalar_types.def"))
    assert [(str(n), name) for n, name in enumerate(re.findall(r'"(\w+)"', types), 1)] == defined
    kinds = enumerators("server/include/plugin.h", "leat_mesh_kind")
    said = re.search(r"_UNIFORM = (\d)\n_CURVES = \((\d), (\d)\)", text(READS[0])).groups()
    assert said == tuple(kinds[f"leat_mesh_{k}"] for k in ("uniform", "rectilinear", "curvilinear"))
    centerings = enumerators("server/include/plugin.h", "leat_centering")
    assert f"_NODAL, _UNPLACED = {centerings['leat_nodal']}, {centerings['leat_unplaced']}\n" in text(READS[0])


def test_the_picture_of_orders_has_the_xml_where_its_page_has_it():
    """As Fortran declares the array: dimensions="nx,ny" of u(nx, ny)."""
    titles = re.findall(r">([^<]*: u[(\[].*?)<", text("docs/pictures/fortran-order.svg"))
    assert [("XML" in title, "(x, y)" in title, "[y, x]" in title) for title in titles] == [(True, True, False), (False, False, True)]
    assert '`u(nx, ny)` is\n`dimensions="nx,ny"`' in text("docs/how-to/add-to-fortran.md")


# Names in the sources that are none of the environment: statuses and macros as texts, and a beginning.
NO_VARIABLE = re.compile(r"LEAT_(OK|API|DROPPED|SERVED|UNWANTED|ERROR_\w+)?")
ROOMS_THAT_READ_VARIABLES = ("lib/", "server/", "client-api/", "fortran/", "python-plugins/")


def variables_in(source):
    """Names in quotes, as getenv and os.environ have them; "NAME=" is set for another process."""
    return {name for name in re.findall(r'"(LEAT(?:_[A-Z_]*)?)["=]', source) if not NO_VARIABLE.fullmatch(name)}


def test_the_page_of_environment_variables_has_those_of_the_sources():
    code = [p for p in files() if p.startswith(ROOMS_THAT_READ_VARIABLES) and p.endswith((".c", ".cpp", ".h", ".hpp", ".f90", ".py"))]
    read = set().union(*(variables_in(text(p)) for p in code))
    table = re.findall(r"^\| `(LEAT\w*)` \|", text("docs/reference/environment.md"), re.M)
    assert sorted(read) == sorted(table) and len(table) > 20


def test_a_variable_of_the_environment_is_found():
    source = 'getenv("LEAT"); put("LEAT_A=" + x); fail("LEAT_ERROR_LOST", "LEAT_OK", "LEAT_" + y); LEAT_API;'
    assert variables_in(source) == {"LEAT", "LEAT_A"}


def rows_of(page, headline):
    """Cells of the table that begins with this line."""
    table = text(page).split(headline + "\n", 1)[1].split("\n\n")[0]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table.splitlines()[1:]]


def test_the_page_of_calls_has_each_call_in_each_language():
    rows = rows_of("docs/reference/calls.md", "| for | C | C++ | Fortran | Python |")
    c, cpp, fortran, python = ("\n".join(row[i] for row in rows) for i in (1, 2, 3, 4))
    table = text("client-api/api/calls.def")
    names = re.findall(r"^LEAT_(?:CALL\(\w+|OTHER\([\w* ]+), (\w+),", table, re.M)
    calls = {name for name in names if name != "memory_node"} | {"init_mpi", "split"}
    not_in_c = {"write_all", "read_all"}  # an array there says neither its type nor how long the list of arrays is
    assert calls - not_in_c <= set(re.findall(r"\bleat_(\w+)", c)) and len(calls) > 25
    assert set(re.findall(r"\bleat_(\w+)", fortran)) == calls | {"get"}
    in_python = re.findall(r'"(\w+)"', re.search(r"_BY_HAND = .*?_VERBS", text("python-plugins/leat/__init__.py"), re.S)[0])
    said = set(re.findall(r"(?:^|[`= ])(\w+)[(`]", re.sub(r"`leat_\w+`", "", python), re.M))
    assert set(in_python) - {"Error"} == said & set(in_python) and said <= set(in_python), said ^ set(in_python)
    headers = text("client-api/api/leat.hpp") + text("client-api/api/leat_calls.hpp")
    own = set(re.findall(r"^(?:inline )?(?:leat_status|bool|std::int64_t|Array<T>|class) (\w+)", headers, re.M))
    assert own - {"check", "failed", "get_integer", "get_text", "Error"} == set(re.findall(r"leat::(\w+)", cpp))


def methods_of(path, name):
    (found,) = (node for node in ast.walk(ast.parse(text(path))) if isinstance(node, ast.ClassDef) and node.name == name)
    own = {node.name for node in found.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    return own, ast.get_docstring(found)


def names_in(rows):
    return {name for row in rows for name in re.findall(r"`(\w+)(?:\(.*?\))?`", row[0])}


def test_the_page_of_python_has_what_scripts_and_connections_have():
    methods, docstring = methods_of("python-plugins/leat/scripting/context.py", "Context")
    attributes = set(re.findall(r"^(?:    )?(\w+)  +\S", docstring, re.M)) | {"server", "is_first"}
    context = names_in(rows_of("docs/reference/python.md", "| `ctx.` | |"))
    assert context == methods | attributes and len(context) > 15
    methods, _ = methods_of("python-plugins/leat/control.py", "Connection")
    verbs, _ = methods_of("python-plugins/leat/_verbs.py", "Verbs")
    assert names_in(rows_of("docs/reference/python.md", "| method | |")) == methods | verbs and len(verbs) > 10
    arguments = re.search(r"def on_iteration\(function=None, \*, (.*?)\):", text("python-plugins/leat/scripting/declare.py"), re.S)[1]
    table = rows_of("docs/reference/python.md", "| argument of `on_iteration` | default | |")
    assert [row[0].strip("`") for row in table] == re.findall(r"(\w+)=", arguments)


def test_references_show_elements_in_code_as_they_are():
    for page in ("docs/reference/xml.md", "docs/reference/damaris.md"):
        assert re.findall(r"`[^`\n]*&lt;[^`\n]*`", text(page)) == []

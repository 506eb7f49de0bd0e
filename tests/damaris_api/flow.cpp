// SPDX-License-Identifier: Apache-2.0
// The calls of OPM Flow, in the order of its Main and its DamarisWriter (2026), with the class for memory of the server that comes
// with Damaris: damaris_flow FOLDER MODE STORE_OF_MESH. Each rank has cells from all over a row of cubes.
#include <Damaris.h>
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <damaris/env/Environment.hpp>
#include <damaris/model/ModifyModel.hpp>
#include <damaris/util/DamarisVar.hpp>

namespace {

using damaris::model::DamarisVar;

constexpr int kCells = 30, kSteps = 3;

const char* const kTemplate = R"V0G0N(<?xml version="1.0"?>
<simulation name="_SIM_NAME_" language="c" xmlns="http://damaris.gforge.inria.fr/damaris/model">
<architecture>
  <domains count="1"/>
  <dedicated cores="_DC_REGEX_" nodes="_DN_REGEX_"/>
  <buffer name="_SHMEM_NAME_" size="_SHMEM_BUFFER_BYTES_REGEX_" />
  <placement />
  <queue name="queue" size="300" />
</architecture>
<data>
  <parameter name="n_elements_total" type="int" value="1" />
  <parameter name="n_elements_local" type="int" value="1" />
  <parameter name="path_string_length" type="int" value="1" />
  <layout name="path" type="char" dimensions="path_string_length" />
  <variable name="OUTPUTDIR" layout="path" mesh="#" time-varying="false" store="#" script="_MAKE_AVAILABLE_IN_PYTHON_" />
  <layout name="cells_int" type="int" dimensions="n_elements_local" global="n_elements_total" />
  <variable name="GLOBAL_CELL_INDEX" layout="cells_int" time-varying="false" centering="zonal" store="_MYSTORE_OR_EMPTY_REGEX_" />
  <layout name="cells" type="double" dimensions="n_elements_local" global="n_elements_total" />
  <variable name="PRESSURE" layout="cells" mesh="us_mesh" unit="_PRESSURE_UNIT_" select-file="GLOBAL_CELL_INDEX" store="_MYSTORE_OR_EMPTY_REGEX_" />
  _MORE_VARIABLES_REGEX_
  <variable name="MPI_RANK" layout="cells_int" mesh="us_mesh" store="_MYSTORE_MESH_OR_EMPTY_REGEX_" time-varying="false" select-file="GLOBAL_CELL_INDEX" />
  <parameter name="n_coords_local" type="int" value="1" />
  <layout name="coords" type="double" dimensions="n_coords_local" />
  <group name="coordset/coords/values">
    <variable name="x" layout="coords" unit="m" time-varying="false" store="_MYSTORE_MESH_OR_EMPTY_REGEX_" />
    <variable name="y" layout="coords" unit="m" time-varying="false" store="_MYSTORE_MESH_OR_EMPTY_REGEX_" />
    <variable name="z" layout="coords" unit="m" time-varying="false" store="_MYSTORE_MESH_OR_EMPTY_REGEX_" />
  </group>
  <parameter name="n_connectivity_ph" type="int" value="1" />
  <layout name="corners" type="int" dimensions="n_connectivity_ph" />
  <parameter name="n_offsets_types_ph" type="int" value="1" />
  <layout name="offsets" type="int" dimensions="n_offsets_types_ph" />
  <layout name="types" type="char" dimensions="n_offsets_types_ph" />
  <group name="topologies/topo/elements">
    <variable name="connectivity" layout="corners" time-varying="false" store="_MYSTORE_MESH_OR_EMPTY_REGEX_" />
    <variable name="offsets" layout="offsets" time-varying="false" store="_MYSTORE_MESH_OR_EMPTY_REGEX_" />
    <variable name="types" layout="types" time-varying="false" store="_MYSTORE_MESH_OR_EMPTY_REGEX_" />
  </group>
  <mesh name="us_mesh" type="unstructured" topology="3" time-varying="false">
    <coord name="coordset/coords/values/x" unit="m" />
    <coord name="coordset/coords/values/y" unit="m" />
    <coord name="coordset/coords/values/z" unit="m" />
    <vertex_global_id name="#" offset="0" />
    <element_offsets name="topologies/topo/elements/offsets" />
    <section_types name="topologies/topo/elements/types" />
    <section_sizes name="#" />
    <section_connectivity name="topologies/topo/elements/connectivity" />
  </mesh>
</data>
<storage>
  <store name="MyStore" type="HDF5">
    <option key="FileMode">_File_Mode</option>
    <option key="XDMFMode">NoIteration</option>
    <option key="FilesPath">_PATH_REGEX_/</option>
  </store>
</storage>
<scripts>
  <_DISABLEPYTHONSTART_pyscript name="PythonScript" file="_PYTHON_SCRIPT_" language="python" frequency="1" /_DISABLEPYTHONFIN_>
</scripts>
<_DISABLEPARAVIEWSTART_paraview update-frequency="1" write-vtk="0" write-vtk-binary="false" >
  <script>_PARAVIEW_PYTHON_SCRIPT_</script>
</paraview _DISABLEPARAVIEWFIN_>
<actions>
</actions>
<log FileName="_PATH_REGEX_/damaris_log/_SIM_NAME_" RotationSize="5" LogFormat="[%TimeStamp%]: %Message%" Flush="_LOG_FLUSH_" LogLevel="_LOG_LEVEL_" />
</simulation>)V0G0N";

void must(int code, const char* what) {
  if (code == DAMARIS_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, damaris_error_string(code));
  MPI_Abort(MPI_COMM_WORLD, 1);
}
#define MUST(call) must(call, #call)

void set(const char* parameter, int value) {
  MUST(damaris_parameter_set(parameter, &value, sizeof value));
}

// As DamarisWriter::setGlobalIndexForDamaris: the index while other memory has been asked for, but has no size yet.
void write_index(const std::vector<int>& cells, std::int64_t first, int rank,
                 const std::string& folder) {
  const auto local = static_cast<int>(cells.size());
  MUST(damaris_set_position("GLOBAL_CELL_INDEX", &first));
  DamarisVar<int> ranks(1, {"n_elements_local"}, "MPI_RANK", rank);
  ranks.SetDamarisPosition({first});
  MUST(damaris_write("GLOBAL_CELL_INDEX", cells.data()));
  ranks.SetDamarisParameterAndShmem({local});
  std::fill(ranks.data(), ranks.data() + ranks.size(), rank);
  set("path_string_length", static_cast<int>(folder.size()));
  MUST(damaris_write("OUTPUTDIR", folder.c_str()));
}

// As writeDamarisGridOutput: all memory first, of two layouts that one parameter shapes, with two values of it; then what is in it.
void write_mesh(int local, int first, int rank) {
  const std::string values = "coordset/coords/values/", elements = "topologies/topo/elements/";
  const int vertices = 4 * (local + 1);
  DamarisVar<double> x(1, {"n_coords_local"}, values + "x", rank);
  x.SetDamarisParameterAndShmem({vertices});
  DamarisVar<double> y(1, {"n_coords_local"}, {vertices}, values + "y", rank);
  DamarisVar<double> z(1, {"n_coords_local"}, values + "z", rank);
  z.ParameterIsSet();
  z.SetPointersToDamarisShmem();
  for (int v = 0; v < vertices; ++v)
    x.data()[v] = first + v / 4, y.data()[v] = v % 2, z.data()[v] = v / 2 % 2;
  DamarisVar<int> connectivity(1, {"n_connectivity_ph"}, elements + "connectivity", rank);
  connectivity.SetDamarisParameterAndShmem({8 * local});
  DamarisVar<int> offsets(1, {"n_offsets_types_ph"}, elements + "offsets", rank);
  offsets.SetDamarisParameterAndShmem({local + 1});
  DamarisVar<char> types(1, {"n_offsets_types_ph"}, elements + "types", rank);
  types.SetDamarisParameterAndShmem({local});
  for (int c = 0; c < 8 * local; ++c) connectivity.data()[c] = 4 * (c / 8) + c % 8;
  for (int c = 0; c <= local; ++c) offsets.data()[c] = 8 * c;
  for (int c = 0; c < local; ++c) types.data()[c] = 12;
}

void compute(MPI_Comm comm, const std::string& folder) {
  int rank = 0, size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  std::vector<int> cells;  // in an order of its own
  for (int cell = rank; cell < kCells; cell += size) cells.insert(cells.begin(), cell);
  const auto local = static_cast<int>(cells.size());
  int end = 0;
  MPI_Scan(&local, &end, 1, MPI_INT, MPI_SUM, comm);
  const std::int64_t first = end - local;
  set("n_elements_local", local);
  set("n_elements_total", kCells);
  write_index(cells, first, rank, folder);
  write_mesh(local, 100 * rank, rank);
  const bool without_positions =
      std::getenv("FLOW_WITHOUT_POSITIONS") != nullptr;  // their index says it all
  for (int step = 0; step < kSteps; ++step) {
    std::vector<double> pressure, saturation;
    for (const int cell : cells) {
      pressure.push_back(1000. * step + cell);
      saturation.push_back(cell / 8. - step);
    }
    if (!without_positions) MUST(damaris_set_position("PRESSURE", &first));
    MUST(damaris_write("PRESSURE", pressure.data()));
    if (!without_positions) MUST(damaris_set_position("SWAT", &first));
    MUST(damaris_write("SWAT", saturation.data()));
    MUST(damaris_end_iteration());
  }
}

int initialize(const char* folder, const char* mode, const char* store_of_mesh) {
  damaris::model::DamarisVarXML more;
  more.var_name_ = "SWAT", more.layout_name_ = "cells", more.mesh_ = "us_mesh",
  more.store_ = "MyStore";
  more.select_file_ = "GLOBAL_CELL_INDEX";
  std::string text = kTemplate;
  damaris::model::ModifyModel model = damaris::model::ModifyModel(text);
  const std::map<std::string, std::string> keywords = {
      {"_SHMEM_BUFFER_BYTES_REGEX_", "16777216"},
      {"_DC_REGEX_", "1"},
      {"_DN_REGEX_", "0"},
      {"_File_Mode", mode},
      {"_MORE_VARIABLES_REGEX_", more.ReturnXMLForVariable()},
      {"_PATH_REGEX_", folder},
      {"_MYSTORE_OR_EMPTY_REGEX_", "MyStore"},
      {"_MYSTORE_MESH_OR_EMPTY_REGEX_", store_of_mesh},
      {"_PARAVIEW_PYTHON_SCRIPT_", ""},
      {"_PYTHON_SCRIPT_", ""},
      {"_PRESSURE_UNIT_", "Pa"},
      {"_MAKE_AVAILABLE_IN_PYTHON_", "#"},
      {"_SIM_NAME_", "flow"},
      {"_SHMEM_NAME_", "flow-buffer"},
      {"_LOG_LEVEL_", "info"},
      {"_LOG_FLUSH_", "false"},
      {"_DISABLEPYTHONSTART_", "!--"},
      {"_DISABLEPYTHONFIN_", "--"},
      {"_DISABLEPARAVIEWSTART_", "!--"},
      {"_DISABLEPARAVIEWFIN_", "--"}};
  model.RepalceWithRegEx(keywords);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const std::string file = std::string(folder) + "/damaris_config.xml";
  if (rank == 0) model.SaveXMLStringToFile(file);
  return damaris_initialize(file.c_str(), MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4) return 2;
  MUST(initialize(argv[1], argv[2], argv[3]));
  int is_client = 0;
  MUST(damaris_start(&is_client));
  if (is_client > 0) {
    MPI_Comm comm = MPI_COMM_NULL;
    MUST(damaris_client_comm_get(&comm));
    compute(comm, argv[1]);
    MUST(damaris_stop());
  }
  MUST(damaris_finalize());
  MPI_Finalize();
  return 0;
}

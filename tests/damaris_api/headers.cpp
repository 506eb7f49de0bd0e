// SPDX-License-Identifier: Apache-2.0
// What the headers for C++ do beside what flow.cpp calls: headers TEXT|FILE|WRONG. Prints what the test compares.
#include <Damaris.h>
#include <mpi.h>

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include <damaris/model/ModifyModel.hpp>
#include <damaris/util/DamarisVar.hpp>

namespace {

using namespace damaris::model;

// As the Damaris plugin of PDI puts one together, element by element.
std::string made_xml() {
  std::string text =
      "<simulation name=\"_SIM_\" language=\"c\" "
      "xmlns=\"http://damaris.gforge.inria.fr/damaris/model\">"
      "<architecture><domains count=\"1\"/><dedicated cores=\"0\" nodes=\"0\"/><buffer name=\"b\" "
      "size=\"16777216\"/>"
      "<queue name=\"q\" size=\"300\"/></architecture><data>_DATA_</data><storage>_STORE_</storage>"
      "<scripts>_SCRIPTS_</scripts><plugins>_PLUGINS_</plugins>"
      "<log FileName=\"log\" RotationSize=\"5\" LogFormat=\"x\" LogLevel=\"info\" "
      "Flush=\"true\"/></simulation>";
  ModifyModel model;
  model = ModifyModel(text);
  const auto add = [&](const std::string& key, const std::string& element) {
    model.RepalceWithRegEx({{key, element + "\n" + key}});
  };
  DamarisParameterXML n;
  n.param_name_ = "n", n.param_datatype_ = "int", n.param_value_ = "3";
  add("_DATA_", n.ReturnXMLForParameter());
  DamarisLayoutXML row;
  row.layout_name_ = "row", row.layout_dimensions_ = "n", row.layout_comment_ = "a < b & \"c\"";
  row.set_datatype("long");
  add("_DATA_", row.ReturnXMLForLayout());
  DamarisVarXML u;
  u.var_name_ = "u", u.layout_name_ = "row", u.store_ = "out", u.unit_ = "K";
  DamarisGroupXML inner("inner"), outer("outer");
  inner.add_ds_element(u);
  outer.add_sub_group(inner);
  add("_DATA_", outer.ReturnXMLForGroup());
  DamarisStoreXML store;
  store.store_name_ = "out", store.store_type_ = "HDF5", store.store_opt_FileMode_ = "FilePerCore";
  add("_STORE_", store.ReturnXMLForStore());
  model.RepalceWithRegEx(
      {{"_SIM_", "made"}, {"_DATA_", ""}, {"_STORE_", ""}, {"_SCRIPTS_", ""}, {"_PLUGINS_", ""}});
  return model.GetConfigString();
}

int write_one(const char* config) {
  if (damaris_initialize(config, MPI_COMM_WORLD) != DAMARIS_OK) return 3;
  int is_client = 0;
  damaris_start(&is_client);
  {
    DamarisVar<long> u(1, {"n"}, std::vector<int>{5}, "outer/inner/u", 0);
    for (std::size_t i = 0; i < u.size(); ++i) u.data_ptr()[i] = 10 * static_cast<long>(i);
    u.CommitVariableDamarisShmem();
  }
  damaris_end_iteration();
  damaris_stop();
  return damaris_finalize();
}

template <class Body>
void said(Body body) {
  try {
    body();
    std::printf("nothing\n");
  } catch (const std::runtime_error& e) {
    std::printf("%s\n", e.what());
  }
}

void be_wrong(const std::string& xml) {
  damaris_initialize(xml.c_str(), MPI_COMM_WORLD);
  int is_client = 0;
  damaris_start(&is_client);
  const std::string u = "outer/inner/u";
  said([&] { DamarisVar<int> wrong(1, {"n"}, u, 7); });
  said([&] { DamarisVar<long> wrong(1, {"n"}, "outer/inner/v", 7); });
  said([&] { DamarisVar<long> wrong(2, {"n"}, u, 7); });
  said([&] { DamarisVar<long>(1, {"m"}, u, 7).SetDamarisParameter({4}); });
  said([&] { DamarisVar<long>(1, {"n"}, u, 7).SetDamarisParameter({4, 4}); });
  said([&] { DamarisVar<long>(1, {"n"}, u, 7).SetPointersToDamarisShmem(); });
  said([&] { DamarisVar<long>(1, {"n"}, u, 7).SetDamarisPosition({0, 0}); });
  DAMARIS_TYPE_STR type = DAMARIS_TYPE_CHAR;
  std::printf(
      "%d %d\n", damaris_get_type(nullptr, &type) == DAMARIS_ARGUMENT_ERROR,
      damaris_get_type("w", &type) == DAMARIS_UNDEFINED_VARIABLE && type == DAMARIS_TYPE_UNDEFINED);
  std::printf("%d%d%d%d\n", damaris_has_plugin(DAMARIS_HAS_HDF5),
              damaris_has_plugin(DAMARIS_HAS_PYTHON), damaris_has_plugin(DAMARIS_HAS_VISIT),
              damaris_has_plugin(DAMARIS_HAS_CATALYST));
  std::printf("%s; %s\n", damaris_error_string(DAMARIS_UNDEFINED_VARIABLE),
              damaris_error_string(-4711));
  ModifyModel model(std::string("\"_A_\" X_A_ _A_B _PRE_A_ $1_C_"));
  model.RepalceWithRegEx({{"_A_", "$&[_A_]"}, {"_PRE_A_", "."}, {"", "never"}});
  std::printf("%s\n", model.GetConfigString().c_str());
  const bool saved = model.SaveXMLStringToFile("no/such/folder.xml");
  const bool read = model.ReadAndBroadcastXMLFromFile(MPI_COMM_WORLD, "none.xml");
  std::printf("%d %d\n", saved, read);
  damaris_finalize();
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string how = argc > 1 ? argv[1] : "";
  int code = 0;
  if (how == "TEXT") {
    code = write_one(made_xml().c_str());
  } else if (how == "FILE") {
    ModifyModel model(made_xml()), again;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && !model.SaveXMLStringToFile("made.xml")) return 4;
    if (!again.ReadAndBroadcastXMLFromFile(MPI_COMM_WORLD, "made.xml")) return 5;
    if (again.GetConfigString() != model.GetConfigString()) return 6;
    code = write_one("made.xml");
  } else if (how == "BAD") {
    code = write_one("<simulation name=\"bad\" language=\"c\"><dota/></simulation>");
  } else {
    be_wrong(made_xml());
  }
  MPI_Finalize();
  return code;
}

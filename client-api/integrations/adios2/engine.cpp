// SPDX-License-Identifier: Apache-2.0
// The engine `leat` of ADIOS2: a code that writes by ADIOS2 writes into Leat once the parameters of its engine say so.
// Whatever Leat refuses is an exception, as of the other engines. Who this rank is in the simulation, leat_init takes from the
// launcher: ADIOS2 gives plugins no communicator. Nor does it tell them of Variable::SetMemorySelection.
#include <adios2/plugin/PluginEngineInterface.h>
#include <leat_build.h>

#include <cctype>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "put_array.hpp"

#if !defined(ADIOS2_PLUGIN_ENGINE_INTERFACE) || ADIOS2_PLUGIN_ENGINE_INTERFACE < 2
#error "the engine leat needs ADIOS2 2.12 or newer"
#endif

namespace leat_adios2 {
namespace {

// A process has one session of Leat.
bool session_is_open = false;

// Lines for people are printed once for the run, by its first rank.
bool is_first_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PALS_RANKID", "SLURM_PROCID"}) {
    const char* const rank = std::getenv(name);
    if (rank) return std::atoi(rank) == 0;
  }
  return true;
}

void tell(const std::string& text) {
  if (is_first_rank()) std::fprintf(stderr, "leat: %s\n", text.c_str());
}

void check(leat_status status) {
  if (status < LEAT_OK) throw std::runtime_error(std::string("leat: ") + leat_last_error());
}

std::string lowered(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// What is known of a name.
struct Known {
  bool is_declared = false, is_global = false;  // in the XML
  std::int32_t char_type = LEAT_TYPE_CHAR;      // what char is there: Python's int8 comes as char
  bool is_hinted = false;
  std::size_t step = 0;    // of the last Put
  std::uint32_t puts = 0;  // in it
  adios2::Dims shape;      // given to parameters
};

class LeatEngine final : public adios2::plugin::PluginEngineInterface {
 public:
  LeatEngine(adios2::IO io, const std::string& name, adios2::Mode mode)
      : PluginEngineInterface(io, name, mode), parameters_(lowered_parameters(io)) {
    config_ = parameter("config");
    const std::string order = lowered(parameter("order")), first = parameter("firststep");
    is_fortran_ = order == "fortran";
    const std::string why = why_not(order, first);
    if (!why.empty()) throw std::invalid_argument("leat: " + why);
    check(leat_init(config_.c_str()));
    session_is_open = is_open_ = true;
    try {
      read_description();
      if (!first.empty()) check(leat_start_at(std::atoll(first.c_str())));
    } catch (...) {
      finish();
      throw;
    }
  }

  // Of a code that does not call Close, which ADIOS2 says.
  ~LeatEngine() override {
    if (is_open_ && finish() < LEAT_OK) std::fprintf(stderr, "leat: %s\n", leat_last_error());
  }

  adios2::StepStatus BeginStep(adios2::StepMode, const float) override {
    if (is_in_step_)
      throw std::logic_error("leat: BeginStep without EndStep of step " + std::to_string(step_));
    is_in_step_ = true;
    return adios2::StepStatus::OK;
  }

  void EndStep() override {
    if (!is_in_step_) throw std::logic_error("leat: EndStep without BeginStep");
    is_in_step_ = false;
    ++step_;
    check(leat_end_iteration());
  }

  std::size_t CurrentStep() const override { return step_; }

  void DoClose(const int transport) override {
    if (!is_open_ || transport != -1) return;
    if (is_in_step_) {
      tell("Close without EndStep of step " + std::to_string(step_) + ": it is ended here");
      (void)leat_end_iteration();  // of an error leat_finalize knows, too
    }
    tell_left_out();
    check(finish());
  }

// Leat copies at once: the array is the caller's again in both modes.
#define LEAT_PUT(T)                                                            \
  void DoPutSync(adios2::Variable<T> variable, const T* values) override {     \
    put(variable, values);                                                     \
  }                                                                            \
  void DoPutDeferred(adios2::Variable<T> variable, const T* values) override { \
    put(variable, values);                                                     \
  }
  ADIOS2_FOREACH_STDTYPE_1ARG(LEAT_PUT)
#undef LEAT_PUT

#define LEAT_PUT_SPAN(T)                                                                     \
  void DoPut(adios2::Variable<T> variable, adios2::Variable<T>::Span&, const bool, const T&) \
      override {                                                                             \
    refuse_span(variable.Name());                                                            \
  }
  ADIOS2_FOREACH_PRIMITIVE_STDTYPE_1ARG(LEAT_PUT_SPAN)
#undef LEAT_PUT_SPAN

 private:
  static adios2::Params lowered_parameters(adios2::IO& io) {
    adios2::Params all;
    for (const auto& [name, value] : io.Parameters()) all[lowered(name)] = value;
    return all;
  }

  std::string parameter(const std::string& name) const {
    const auto found = parameters_.find(name);
    return found == parameters_.end() ? "" : found->second;
  }

  std::string why_not(const std::string& order, const std::string& first) const {
    if (m_OpenMode == adios2::Mode::Append)
      return "this engine is opened with Mode::Write, once for the whole run. To continue an "
             "earlier run, set "
             "append=\"true\" of <store>, and the parameter FirstStep of the engine";
    if (m_OpenMode != adios2::Mode::Write)
      return "this engine writes, and cannot read. Open the HDF5 file that the <store> of the XML "
             "has written: by "
             "leat.open(), h5py or xarray in Python, or any program that reads HDF5";
    if (config_.empty())
      return "the engine needs the parameter Config, the path of the XML of the run: <parameter "
             "key=\"Config\" value=\"run.xml\"/>";
    if (!order.empty() && order != "fortran" && order != "c")
      return "the parameter Order is \"" + order + "\": it is \"fortran\" or \"c\"";
    if (first.find_first_not_of("0123456789") != std::string::npos)
      return "the parameter FirstStep is \"" + first + "\": it is the number of a step, from 0 on";
    if (session_is_open)
      return "another engine leat is open in this process, which can have one: put all variables "
             "into one IO, or close "
             "the other engine first";
    return "";
  }

  // Which names the XML declares; see leat_describe.
  void read_description() {
    is_off_ = leat_iteration() < 0;  // LEAT=off
    if (is_off_) return;
    char* text = nullptr;
    check(leat_describe(config_.c_str(), &text));
    std::istringstream lines(text);
    std::free(text);
    for (std::string line; std::getline(lines, line);) {
      std::istringstream words(line);
      std::string kind, name, type;
      std::getline(words, kind, '\t');
      std::getline(words, name, '\t');
      std::getline(words, type, '\t');
      if (kind == "type") known_[name].is_declared = true;
      if (kind == "type" && type == "int8") known_[name].char_type = LEAT_TYPE_INT8;
      if (kind == "type" && type == "uint8") known_[name].char_type = LEAT_TYPE_UINT8;
      if (kind == "variable") known_[name].is_global = true;
      if (kind == "parameter" && type == "int") numbers_.insert(name);
    }
  }

  template <class T>
  void put(adios2::Variable<T>& variable, const T* values) {
    const PutArray array = put_array_of(variable, values);
    if (variable.GetMemorySpace() != adios2::MemorySpace::Host &&
        variable.GetMemorySpace() != adios2::MemorySpace::Detect)
      throw std::invalid_argument("leat: \"" + array.name +
                                  "\" is in the memory of a GPU: copy it to the host before Put");
    has_operations_ = has_operations_ || !variable.Operations().empty();
    hand_over(array);
  }

  void hand_over(const PutArray& put) {
    if (is_off_) return;
    if (put.type == 0)
      throw std::invalid_argument("leat: \"" + put.name + "\" is of type " + put.type_name +
                                  ", which Leat has not: convert it, as to double");
    Known& known = known_[put.name];
    if (known.is_global && put.is_joined)
      throw std::invalid_argument("leat: \"" + put.name +
                                  "\" is a joined array, whose parts have no place: declare its "
                                  "layout without global in " +
                                  config_);
    if (known.step != step_) known.puts = 0;
    known.step = step_;
    if (known.puts > 0 && !known.is_declared && !put.count.empty())
      throw std::invalid_argument("leat: \"" + put.name + "\" is put twice in step " +
                                  std::to_string(step_) + " and not declared in " + config_ +
                                  ": declare it, and each Put of a step is a block of its own");
    leat_array array = array_of(put, is_fortran_);
    if (put.type == LEAT_TYPE_CHAR) array.type = known.char_type;
    const std::uint32_t block = put.count.empty() ? 0 : known.puts;
    if (known.is_declared) place(put, &known, block);
    const leat_status status = known.is_declared ? leat_write_array(put.name.c_str(), block, &array)
                                                 : leat_write_any_array(put.name.c_str(), &array);
    check(status);
    ++known.puts;
    if (status == LEAT_OK) hint(put, &known);
  }

  // Extents of the whole go to parameters NAME_shape_0, NAME_shape_1, ..., where the XML has them.
  void place(const PutArray& put, Known* known, std::uint32_t block) {
    if (!put.is_global) return;
    std::string prefix = put.name + "_shape_";
    for (char& c : prefix)
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    for (std::size_t d = 0; known->shape != put.shape && d < put.shape.size(); ++d) {
      const std::string parameter = prefix + std::to_string(d);
      if (numbers_.count(parameter))
        check(leat_set_int(parameter.c_str(), static_cast<std::int64_t>(put.shape[d])));
    }
    known->shape = put.shape;
    if (!known->is_global) return;
    const std::vector<std::int64_t> start(put.start.begin(), put.start.end());
    leat_list list{};
    list.struct_size = sizeof list;
    list.numbers = start.data();
    list.count = static_cast<std::int32_t>(start.size());
    list.column_major = is_fortran_;
    check(leat_set_position_list(put.name.c_str(), block, &list));
  }

  // One array to ADIOS2, many to Leat: that is to be known before somebody looks for it.
  void hint(const PutArray& put, Known* known) const {
    if (known->is_hinted || known->is_global || !put.is_global || put.shape == put.count) return;
    known->is_hinted = true;
    tell("\"" + put.name +
         "\" is stored block by block. To have it as one array, put this into <data> of " +
         config_ + ": " + xml_of_global(put, is_fortran_));
  }

  [[noreturn]] static void refuse_span(const std::string& name) {
    throw std::invalid_argument(
        "leat: Put of \"" + name +
        "\" with a span: plugins of ADIOS2 cannot give one; Put your own array");
  }

  void tell_left_out() {
    const auto attributes = m_IO.AvailableAttributes();
    if (!attributes.empty())
      tell(
          "attributes are not stored (\"" + attributes.begin()->first + "\"" +
          (attributes.size() > 1 ? " and " + std::to_string(attributes.size() - 1) + " more" : "") +
          "): write them into " + config_ + ", as unit=\"K\" and comment=\"...\" of <variable>");
    if (has_operations_)
      tell(
          "operators of variables are not applied, what is stored is exact: see compression of "
          "<store> in " +
          config_);
  }

  leat_status finish() {
    session_is_open = is_open_ = is_in_step_ = false;
    return leat_finalize();
  }

  adios2::Params parameters_;  // names in lower case
  std::string config_;
  std::map<std::string, Known> known_;
  std::set<std::string> numbers_;  // int parameters of the XML
  std::size_t step_ = 0;
  bool is_fortran_ = false, is_off_ = false, is_open_ = false, is_in_step_ = false,
       has_operations_ = false;
};

}  // namespace
}  // namespace leat_adios2

#define LEAT_EXPORT __attribute__((visibility("default")))
extern "C" LEAT_EXPORT adios2::plugin::PluginEngineInterface* EngineCreate(
    adios2::IO io, const std::string& name, const adios2::Mode mode) {
  return new leat_adios2::LeatEngine(io, name, mode);
}

extern "C" LEAT_EXPORT void EngineDestroy(adios2::plugin::PluginEngineInterface* engine) {
  delete engine;
}

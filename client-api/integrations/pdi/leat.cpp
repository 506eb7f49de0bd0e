// SPDX-License-Identifier: Apache-2.0
// The plugin `leat` of PDI: data that a code shares are written into Leat when they become available, and an event ends the
// iteration. Parameters of the XML get the data of their names. PDI calls it in the thread that called PDI.
#include <leat_build.h>
#include <pdi/array_datatype.h>
#include <pdi/context.h>
#include <pdi/error.h>
#include <pdi/expression.h>
#include <pdi/paraconf_wrapper.h>
#include <pdi/plugin.h>
#include <pdi/ref_any.h>
#include <pdi/scalar_datatype.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#ifdef LEAT_PDI_MPI
#include <leat_mpi.h>
#endif

namespace {

// How one name of PDI is written.
struct Written {
  std::string variable;
  PDI::Expression when;  // empty: always
  PDI::Expression block;
  std::vector<PDI::Expression> position;  // as many as dimensions, or none
  bool is_named = false;                  // in the configuration, not one of all
};

void check(leat_status status) {
  if (status < LEAT_OK) throw PDI::System_error{"{}", leat_last_error()};
}

// 0: Leat has none.
std::int32_t type_of(const PDI::Scalar_datatype& scalar) {
  using PDI::Scalar_kind;
  const std::size_t bytes = scalar.buffersize();
  const int power = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : -1;
  if (power < 0) return 0;
  if (scalar.kind() == Scalar_kind::SIGNED) return LEAT_TYPE_INT8 + power;
  if (scalar.kind() == Scalar_kind::UNSIGNED) return LEAT_TYPE_UINT8 + power;
  if (scalar.kind() == Scalar_kind::FLOAT && power >= 2) return LEAT_TYPE_FLOAT32 + power - 2;
  return 0;
}

// Whether it is scalars, in arrays in each other or not: fills *array then, but for its data, which begin `*offset` bytes
// behind those of PDI. A part of a larger array has strides.
bool describe(PDI::Datatype_sptr type, leat_array* array, std::int64_t* offset) {
  std::vector<std::int64_t> extent, start, size;
  while (const auto level = std::dynamic_pointer_cast<const PDI::Array_datatype>(type)) {
    extent.push_back(static_cast<std::int64_t>(level->subsize()));
    start.push_back(static_cast<std::int64_t>(level->start()));
    size.push_back(static_cast<std::int64_t>(level->size()));
    type = level->subtype();
  }
  const auto scalar = std::dynamic_pointer_cast<const PDI::Scalar_datatype>(type);
  if (!scalar || type_of(*scalar) == 0 || extent.size() > LEAT_MAX_DIMS) return false;
  *array = leat_array{};
  array->struct_size = sizeof *array;
  array->type = type_of(*scalar);
  array->dims = static_cast<std::int32_t>(extent.size());
  std::int64_t stride = static_cast<std::int64_t>(scalar->buffersize());
  *offset = 0;
  for (std::size_t d = extent.size(); d-- > 0;) {
    array->extent[d] = extent[d];
    array->stride[d] = stride;
    *offset += start[d] * stride;
    stride *= size[d];
  }
  return true;
}

class leat_plugin final : public PDI::Plugin {
 public:
  leat_plugin(PDI::Context& ctx, PC_tree_t config) : PDI::Plugin{ctx} {
    read(config);
    init(config);
    read_description();
    ctx.callbacks().add_data_callback(
        [this](const std::string& name, PDI::Ref ref) { on_data(name, ref); });
    for (const std::string& event : ends_)
      ctx.callbacks().add_event_callback([this](const std::string&) { end_iteration(); }, event);
  }

  ~leat_plugin() noexcept(false) override {
    if (leat_finalize() < LEAT_OK) context().logger().error("{}", leat_last_error());
  }

  // Its data exist when this plugin looks for its communicator.
  static std::pair<std::unordered_set<std::string>, std::unordered_set<std::string>>
  dependencies() {
    return {{}, {"mpi"}};
  }

  static std::string pretty_name() { return "Leat"; }

 private:
  void read(PC_tree_t config) {
    PDI::each(config, [&](PC_tree_t key_tree, PC_tree_t value) {
      const std::string key = PDI::to_string(key_tree);
      if (key == "config") {
        config_ = PDI::Expression{PDI::to_string(value)}.to_string(context());
      } else if (key == "on_event") {
        PDI::opt_each(value, [&](PC_tree_t event) { ends_.insert(PDI::to_string(event)); });
      } else if (key == "iteration") {
        iteration_ = PDI::Expression{PDI::to_string(value)};
      } else if (key == "data") {
        takes_all_ = false;
        read_data(value);
      } else if (key != "communicator" && key != "logging") {
        throw PDI::Spectree_error{
            key_tree,
            "the plugin leat has config, on_event, iteration, data and communicator, and no `{}'",
            key};
      }
    });
    if (config_.empty())
      throw PDI::Spectree_error{config,
                                "the plugin leat needs `config', the path of the XML of the run"};
    if (ends_.empty())
      throw PDI::Spectree_error{
          config, "the plugin leat needs `on_event', the event that ends an iteration"};
  }

  // A list of names, or a map of names to what is said of them.
  void read_data(PC_tree_t tree) {
    if (!PDI::is_map(tree)) {
      PDI::opt_each(tree, [&](PC_tree_t name) { name_of(PDI::to_string(name)); });
      return;
    }
    PDI::each(tree, [&](PC_tree_t name, PC_tree_t all) {
      Written& written = name_of(PDI::to_string(name));
      PDI::each(all, [&](PC_tree_t key_tree, PC_tree_t value) {
        const std::string key = PDI::to_string(key_tree);
        if (key == "variable") {
          written.variable = PDI::to_string(value);
        } else if (key == "when") {
          written.when = PDI::Expression{PDI::to_string(value)};
        } else if (key == "block") {
          written.block = PDI::Expression{PDI::to_string(value)};
        } else if (key == "position") {
          PDI::opt_each(value, [&](PC_tree_t index) {
            written.position.emplace_back(PDI::to_string(index));
          });
        } else {
          throw PDI::Spectree_error{
              key_tree,
              "data of the plugin leat have variable, when, block and position, and no `{}'", key};
        }
      });
    });
  }

  Written& name_of(const std::string& name) {
    Written& written = data_[name];
    written.variable = name;
    written.is_named = true;
    return written;
  }

  void init(PC_tree_t config) {
    const PC_tree_t tree = PC_get(config, ".communicator");
    if (PC_status(tree)) return check(leat_init(config_.c_str()));
#ifdef LEAT_PDI_MPI
    const PDI::Ref_r communicator{PDI::Expression{PDI::to_string(tree)}.to_ref(context())};
    check(leat_init_mpi(config_.c_str(), *static_cast<const MPI_Comm*>(communicator.get())));
#else
    throw PDI::Spectree_error{tree,
                              "the plugin leat was built without MPI, and knows no `communicator': "
                              "leave it out, or build it anew"};
#endif
  }

  // Which parameters and variables the XML declares; see leat_describe.
  void read_description() {
    if (leat_iteration() < 0) return;  // LEAT=off
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
      if (kind == "type") declared_.insert(name);
      if (kind == "parameter") parameters_[name] = type;
    }
  }

  // What a code asks to be filled (PDI_IN) cannot be read, and is for others.
  void on_data(const std::string& name, const PDI::Ref& ref) {
    const PDI::Ref_r data{ref};
    if (!data) return;
    if (const auto found = parameters_.find(name); found != parameters_.end())
      set_parameter(name, found->second, data);
    const auto found = data_.find(name);
    if (found != data_.end()) return write(name, found->second, data);
    if (!takes_all_ || parameters_.count(name) || context().desc(name).metadata()) return;
    Written all;
    all.variable = name;
    write(name, all, data);
  }

  void set_parameter(const std::string& name, const std::string& type, const PDI::Ref_r& data) {
    if (!std::dynamic_pointer_cast<const PDI::Scalar_datatype>(data.type())) return;
    if (type == "int") check(leat_set_int(name.c_str(), data.scalar_value<long>()));
    if (type == "double") check(leat_set_double(name.c_str(), data.scalar_value<double>()));
  }

  void write(const std::string& name, const Written& written, const PDI::Ref_r& data) {
    if (written.when && !written.when.to_long(context())) return;
    leat_array array;
    std::int64_t offset = 0;
    if (!describe(data.type(), &array, &offset)) return refuse(name, written, data);
    array.data = static_cast<char*>(const_cast<void*>(data.get())) + offset;  // only read
    if (!has_begun_ && iteration_) check(leat_begin_iteration(iteration_.to_long(context())));
    has_begun_ = true;
    const char* const variable = written.variable.c_str();
    if (declared_.count(written.variable) == 0)
      return check(leat_write_any_array(variable, &array));
    const auto block =
        static_cast<std::uint32_t>(written.block ? written.block.to_long(context()) : 0);
    if (!written.position.empty()) set_position(written, block);
    check(leat_write_array(variable, block, &array));
  }

  void set_position(const Written& written, std::uint32_t block) {
    std::vector<std::int64_t> numbers;
    for (const PDI::Expression& index : written.position)
      numbers.push_back(index.to_long(context()));
    leat_list list{};
    list.struct_size = sizeof list;
    list.numbers = numbers.data();
    list.count = static_cast<std::int32_t>(numbers.size());
    check(leat_set_position_list(written.variable.c_str(), block, &list));
  }

  // Of all data, those that are no arrays are handles and structures of the code, most often.
  void refuse(const std::string& name, const Written& written, const PDI::Ref_r& data) {
    if (written.is_named)
      throw PDI::Type_error{"`{}' is no array of numbers, and Leat takes no other data: {}", name,
                            data.type()->debug_string()};
    if (refused_.insert(name).second)
      context().logger().warn("`{}' is no array of numbers, and not stored", name);
  }

  void end_iteration() {
    has_begun_ = false;
    check(leat_end_iteration());
  }

  std::string config_;
  std::set<std::string> ends_;  // events that end an iteration
  PDI::Expression iteration_;   // its number; empty: they are counted
  bool takes_all_ = true, has_begun_ = false;
  std::map<std::string, Written> data_;
  std::map<std::string, std::string> parameters_;  // of the XML, with their types
  std::set<std::string> declared_, refused_;
};

}  // namespace

PDI_PLUGIN(leat)

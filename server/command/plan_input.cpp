// SPDX-License-Identifier: Apache-2.0
#include "server/command/plan_input.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <tuple>

#include "lib/base/text.hpp"
#include "lib/model/units.hpp"
#include "lib/model/xml/tree.hpp"
#include "server/command/check_report.hpp"

namespace leat::command {
namespace {

// What a rank copies in a second where nothing was measured: half of what one core of today does.
constexpr double kCopied = 4e9;

constexpr std::int64_t kTypical = 1000;
constexpr std::int64_t kMostCores = 65536;
constexpr double kMostSeconds = 366 * 86400.0;

Error wrong_words(const std::string& message) { return {Status::ERROR_ARGUMENT, message}; }
Error not_good(const std::string& message) { return {Status::ERROR_CONFIG, message}; }

Result<double> duration(const std::string& option, const std::string& text) {
  const std::optional<double> seconds = model::parse_duration(text);
  if (seconds && *seconds >= 0) return *seconds;
  return wrong_words(option + " " + text +
                     ": expected a time with its unit, like 50ms, 1.5s or 2min");
}

// "1.2GiB", with decimals.
std::optional<double> size(const std::string& text) {
  const std::size_t unit = text.find_first_not_of("0123456789.");
  if (unit == 0 || unit == std::string::npos) return std::nullopt;
  const std::optional<std::uint64_t> one = model::parse_size("1" + text.substr(unit));
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (!one || end != text.c_str() + unit || number <= 0) return std::nullopt;
  return number * static_cast<double>(*one);
}

Result<double> rate(const std::string& text) {
  const std::string what = text.ends_with("/s") ? text.substr(0, text.size() - 2) : "";
  if (const std::optional<double> bytes = size(what)) return *bytes;
  return wrong_words("--disk " + text +
                     ": expected a rate with its unit, like 1.2GiB/s or 300MB/s");
}

class Reader {
 public:
  explicit Reader(const PlanOptions& options) : options_(options) {
    input_.load.iterations = kTypical;
  }

  Result<PlanInput> run() {
    for (const auto step :
         {&Reader::check, &Reader::from_report, &Reader::judge, &Reader::from_file,
          &Reader::from_words, &Reader::from_disk, &Reader::judge}) {
      if (const Result<void> done = (this->*step)(); !done) return done.error();
    }
    if (options_.file.empty()) return input_;
    return finished();
  }

 private:
  Result<void> check() {
    if (!options_.from.empty()) return {};
    if (options_.file.empty())
      return wrong_words(
          "say the XML of the simulation, or --from the report of a run, NAME.report.json");
    if (options_.compute.empty())
      return wrong_words("say how long an iteration computes, --compute 50ms, or --from a report");
    if (options_.disk.empty() && options_.measure.empty())
      return wrong_words(
          "nothing is known of the disk: say --disk 1.2GiB/s, --from a report, or --measure FOLDER "
          "to write 256 MiB there and see");
    return {};
  }

  Result<void> from_report() {
    if (options_.from.empty()) return {};
    const Result<std::string> text = model::read_source(options_.from);
    if (!text) return wrong_words("--from " + options_.from + ": " + text.error().message);
    const nlohmann::json report = nlohmann::json::parse(*text, nullptr, false);
    if (!report.is_object() || report.value("leat_report", 0) != 1)
      return not_good(options_.from + " is no report of a run of Leat of this version");
    try {
      take(report);
    } catch (const nlohmann::json::exception& e) {
      return not_good(options_.from + " lacks something, or has it of another type: " + e.what());
    }
    return {};
  }

  void take(const nlohmann::json& report) {
    input_.simulation = report.at("simulation");
    input_.dedicated = report.at("dedicated_cores");
    const plan::Measured run{.compute = report.at("compute_seconds"),
                             .inside = report.at("inside_seconds"),
                             .output = report.at("store_seconds"),
                             .analysis = report.at("script_seconds"),
                             .ranks = report.at("ranks"),
                             .dedicated = input_.dedicated,
                             .iterations = report.at("iterations"),
                             .is_shared = report.at("cores_are_shared"),
                             .is_synchronous = report.at("synchronous")};
    input_.load = plan::load_of(run);
    input_.was = plan::as_it_was(run);
    input_.computing_is_estimated = input_.load.compute != run.compute;
    const plan::Load& load = input_.load;
    input_.bytes = load.iterations > 0 ? report.at("bytes").get<std::uint64_t>() /
                                             static_cast<std::uint64_t>(load.iterations)
                                       : 0;
    input_.buffer_bytes = report.at("buffer_bytes");
    input_.measured = report.at("measured_seconds").get<double>();
    input_.expected = report.at("expected_seconds").get<double>();
  }

  Result<void> from_file() {
    if (options_.file.empty()) return {};
    const std::int64_t ranks = options_.ranks.value_or(input_.load.computing);
    CheckOptions options;
    options.file = options_.file;
    options.ranks = options.per_node = ranks;
    options.set = options_.set;
    const Result<CheckReport> sized = size_up(options);
    if (!sized) return sized.error();
    if (!sized->model)
      return not_good(model::format(sized->diagnostics) + "`leat check " + options_.file +
                      "` says more");
    input_.simulation = sized->model->name;
    input_.dedicated = sized->model->architecture.dedicated_cores;
    input_.buffer_bytes = sized->memory.buffer_bytes;
    input_.bytes = sized->memory.known_bytes_per_node;
    is_size_known_ = sized->memory_complete;
    sizes_need_ = sized->sizes_need;
    sizes_at_writes_ = sized->sizes_at_writes;
    input_.placeholders = sized->placeholders;
    input_.load.computing = ranks;
    input_.load.cores = ranks + input_.dedicated;
    return {};
  }

  Result<void> from_words() {
    plan::Load& load = input_.load;
    for (const auto& [option, text, to] :
         {std::tuple{"--compute", &options_.compute, &load.compute},
          std::tuple{"--analysis", &options_.analysis, &load.analysis}}) {
      if (text->empty()) continue;
      const Result<double> seconds = duration(option, *text);
      if (!seconds) return seconds.error();
      *to = *seconds;
    }
    if (!options_.bytes.empty()) {
      const std::optional<double> bytes = size(options_.bytes);
      if (!bytes) return wrong_words("--bytes " + options_.bytes + ": expected a size like 300MiB");
      input_.bytes = static_cast<std::uint64_t>(*bytes);
      is_size_known_ = true;
      input_.placeholders.clear();
    }
    load.sequential = options_.sequential / 100;
    if (options_.ranks) {
      load.cores += *options_.ranks - load.computing;
      load.computing = *options_.ranks;
    }
    if (options_.iterations) load.iterations = *options_.iterations;
    if (options_.parallel) load.parallel = *options_.parallel;
    if (options_.cores) load.cores = *options_.cores;
    if (options_.ranks || options_.cores || !options_.file.empty()) input_.was.reset();
    if (load.cores < load.computing)
      return wrong_words("--cores " + std::to_string(load.cores) + ": the " +
                         std::to_string(load.computing) + " ranks of a node need one each");
    return {};
  }

  Result<void> from_disk() {
    if (options_.disk.empty() && options_.measure.empty()) return {};
    const Result<double> bytes_per_second =
        options_.disk.empty() ? measure_disk(options_.measure) : rate(options_.disk);
    if (!bytes_per_second) return bytes_per_second.error();
    input_.bytes_per_second = *bytes_per_second;
    input_.load.output = static_cast<double>(input_.bytes) / *bytes_per_second;
    return {};
  }

  // Whatever a report says.
  Result<void> judge() {
    const plan::Load& load = input_.load;
    bool is_sound = load.computing >= 1 && load.cores >= 1 && load.cores <= kMostCores &&
                    load.iterations >= 1 && load.parallel >= 1 && input_.dedicated >= 1;
    for (const double each : {load.compute, load.inside, load.output, load.analysis})
      is_sound = is_sound && each >= 0 && each < kMostSeconds;
    if (is_sound) return {};
    return not_good("there is no such run: a node has 1 to " + std::to_string(kMostCores) +
                    " cores, an iteration takes no less than nothing, and less than a year");
  }

  Result<PlanInput> finished() {
    if (!is_size_known_) return wrong_words(why_size_is_unknown());
    if (input_.load.inside == 0)
      input_.load.inside =
          static_cast<double>(input_.bytes) / static_cast<double>(input_.load.computing) / kCopied;
    return input_;
  }

  std::string why_size_is_unknown() const {
    const std::string begin = "how much " + options_.file + " hands over is not known: ",
                      bytes = "--bytes 300MiB of a node in an iteration";
    if (sizes_at_writes_.empty() && sizes_need_.empty())
      return begin + "`leat check " + options_.file + "` says why";
    if (sizes_at_writes_.empty())
      return begin + "the simulation sets " + joined(sizes_need_, ", ") + "; say " +
             options_of(sizes_need_) + ", or " + bytes;
    return begin + "how large \"" + joined(sizes_at_writes_, "\", \"") +
           "\" is, each write says; say " + bytes;
  }

  const PlanOptions& options_;
  PlanInput input_;
  bool is_size_known_ = false;
  std::vector<std::string> sizes_need_, sizes_at_writes_;  // see CheckReport
};

}  // namespace

Result<PlanInput> plan_input(const PlanOptions& options) { return Reader(options).run(); }

}  // namespace leat::command

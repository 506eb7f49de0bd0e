// SPDX-License-Identifier: Apache-2.0
// How often something is done: the text to phases, and back.
#include "lib/model/every.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "lib/base/text.hpp"

namespace leat::model {
namespace {

constexpr const char* kWhatIsPossible =
    "expected a number of iterations like \"10\", a time like \"6 h\", \"1 mo\" or \"10 min "
    "wall\", \"first\", \"last\", \"run\", or phases like \"1 h for 5 d, then 3 h\"";

Error config_error(const std::string& message) { return {Status::ERROR_CONFIG, message}; }

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_decimal(char c) { return c >= '0' && c <= '9'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// The first word, which is taken off the text.
std::string_view take_word(std::string_view* text) {
  *text = trimmed(*text);
  const auto end = std::find_if(text->begin(), text->end(), is_blank);
  const std::string_view word = text->substr(0, static_cast<std::size_t>(end - text->begin()));
  text->remove_prefix(word.size());
  *text = trimmed(*text);
  return word;
}

// A number, and the words behind it.
struct Term {
  Period period;
  bool is_wall = false;

  Every::Clock clock() const {
    if (!period.unit) return Every::Clock::iterations;
    return is_wall ? Every::Clock::wall : Every::Clock::simulation;
  }
};

// Takes the digits at the front; false when there are none.
bool take_digits(std::string_view* text, std::string* digits) {
  const std::size_t before = digits->size();
  while (!text->empty() && is_decimal(text->front())) {
    digits->push_back(text->front());
    text->remove_prefix(1);
  }
  return digits->size() > before;
}

// "0.50" is 5 / 10.
Result<Period> take_number(std::string_view* text) {
  constexpr std::size_t kMostDigits = 15, kMostDecimals = 9;
  const std::string_view all = *text;
  std::string digits, decimals;
  const bool has_digits = take_digits(text, &digits);
  if (text->starts_with('.')) {
    text->remove_prefix(1);
    if (!take_digits(text, &decimals))
      return config_error(in_quotes(all) + " has no digit behind its point");
  } else if (has_digits && text->size() > 1 && text->front() == ',' && is_decimal((*text)[1])) {
    return config_error(in_quotes(all) + ": a decimal has a point, like \"0.5 s\"");
  }
  if (!has_digits && decimals.empty())
    return config_error(in_quotes(all) + " does not begin with a number");
  while (decimals.ends_with('0')) decimals.pop_back();
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  if (digits.size() + decimals.size() > kMostDigits || decimals.size() > kMostDecimals)
    return config_error(in_quotes(all) + ": a number has 15 digits and 9 decimals at most");
  digits += decimals;
  if (digits.find_first_not_of('0') == std::string::npos)
    return config_error(in_quotes(all) + ": a period is longer than nothing");
  return Period{std::stoll(digits), static_cast<int>(decimals.size()), std::nullopt};
}

// Words that other programs have, and people.
struct Advice {
  std::string_view word, what;
};

constexpr Advice kAdvices[] = {
    {"m", "did you mean \"min\" or \"mo\"?"},
    {"M", "did you mean \"min\" or \"mo\"?"},
    {"w", "write \"7 d\" for a week"},
    {"week", "write \"7 d\" for a week"},
    {"weeks", "write \"7 d\" for a week"},
    {"ts", "a number of iterations stands alone, like \"10\""},
    {"it", "a number of iterations stands alone, like \"10\""},
    {"iteration", "a number of iterations stands alone, like \"10\""},
    {"iterations", "a number of iterations stands alone, like \"10\""},
    {"step", "a number of iterations stands alone, like \"10\""},
    {"steps", "a number of iterations stands alone, like \"10\""},
    {"wall", "a time of the wall clock has a unit, like \"10 min wall\""},
    {"once", "write \"first\" for the first iteration alone"},
    {"never", "leave the attribute out"},
    {"always", "write \"1\" for each iteration"},
    {"hourly", "write \"1 h\""},
    {"daily", "write \"1 d\""},
    {"weekly", "write \"7 d\""},
    {"monthly", "write \"1 mo\""},
    {"yearly", "write \"1 y\""},
};

std::string advice_for(std::string_view word) {
  for (const Advice& each : kAdvices) {
    if (each.word == word) return std::string("; ") + std::string(each.what);
  }
  return "";
}

Error unknown_unit(std::string_view word) {
  constexpr std::size_t kShort = 7;
  std::string more = advice_for(word);
  std::vector<std::string> words = time_unit_words();
  const std::string nearest = nearest_name(word, words);
  words.resize(kShort);
  if (more.empty() && !nearest.empty()) more = "; did you mean " + in_quotes(nearest) + "?";
  if (more.empty()) more = did_you_mean(word, words);
  return config_error(in_quotes(word) + " is no unit of time" + more);
}

bool is_known_unit(const std::optional<TimeUnit>& unit) {
  return unit && !short_word(*unit).empty();
}

std::string number_text(const Period& period) {
  std::string digits = std::to_string(period.count);
  if (period.decimals == 0) return digits;
  const auto decimals = static_cast<std::size_t>(period.decimals);
  if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
  return digits.insert(digits.size() - decimals, ".");
}

std::string period_text(const Period& period, const char* between) {
  if (!period.unit) return number_text(period);
  return number_text(period) + between + std::string(short_word(*period.unit));
}

std::string why_no_period(const Period& period, bool is_wall) {
  const std::string number = number_text(period);
  if (period.decimals > 0 && !period.unit)
    return "iterations are counted in whole numbers, and " + in_quotes(number) +
           " is none; or is a unit missing, like \"" + number + " s\"?";
  if (period.decimals > 0 && period.unit->months != 0)
    return "months and years are counted in whole numbers, and " + in_quotes(number) +
           " is none; write \"6 mo\" for half a year, \"15 d\" for some days";
  if (is_wall && period.unit->months != 0)
    return "the wall clock has no months and years; write days, like \"30 d wall\"";
  return "";
}

// "6 h", "6h wall", "10".
Result<Term> parse_term(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return config_error("a period is missing");
  if (text.front() == '-')
    return config_error(in_quotes(text) + ": a period is longer than nothing");
  const std::string_view all = text;
  const Result<Period> number = take_number(&text);
  if (!number) return number.error();
  Term term{*number, false};
  const bool is_exponent = text.size() > 1 && (text[0] == 'e' || text[0] == 'E') &&
                           (is_decimal(text[1]) || text[1] == '-' || text[1] == '+');
  if (is_exponent) return config_error(in_quotes(all) + ": write the number without an exponent");
  if (const std::string_view word = take_word(&text); !word.empty()) {
    term.period.unit = time_unit(word);
    if (!is_known_unit(term.period.unit)) return unknown_unit(word);
  }
  const std::string_view word = take_word(&text);
  term.is_wall = word == "wall";
  if (!text.empty() || (!word.empty() && !term.is_wall))
    return config_error(in_quotes(all) + ": behind the unit only \"wall\" may stand, not " +
                        in_quotes(term.is_wall ? text : word));
  if (const std::string why = why_no_period(term.period, term.is_wall); !why.empty())
    return config_error(why);
  return term;
}

const char* clock_words(Every::Clock clock) {
  switch (clock) {
    case Every::Clock::iterations:
      return "iterations";
    case Every::Clock::simulation:
      return "time of the simulation";
    case Every::Clock::wall:
      return "wall clock time";
    case Every::Clock::first:
    case Every::Clock::last:
    case Every::Clock::run:
      return "no period";
  }
  return "";
}

// Where the word stands between blanks; npos where it does not.
std::size_t find_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || is_blank(text[at - 1]);
    if (begins && (end == text.size() || is_blank(text[end]))) return at;
  }
  return std::string_view::npos;
}

// Cuts a text into its phases, of which one stands between commas.
class PhaseReader {
 public:
  explicit PhaseReader(std::string_view text) : rest_(text) {}

  Result<Every> read() {
    while (!is_at_end_) {
      if (auto done = read_phase(); !done) return done.error();
    }
    return every_;
  }

 private:
  Result<void> read_phase() {
    std::string_view part = take_part();
    if (!every_.phases.empty()) {
      if (take_word(&part) != "then")
        return config_error(
            "behind \",\" the next phase begins with \"then\", like \"1 h for 5 d, "
            "then 3 h\"");
    }
    const std::size_t at = find_word(part, "for");
    const bool has_length = at != std::string_view::npos;
    Every::Phase phase;
    if (auto done = take_term(part.substr(0, at), &phase.period); !done) return done;
    if (has_length) {
      constexpr std::size_t kFor = 3;
      if (auto done = take_term(part.substr(at + kFor), &phase.length.emplace()); !done)
        return done;
    }
    if (has_length && is_at_end_)
      return config_error("what comes behind " + in_quotes(trimmed(part)) + "? Write " +
                          in_quotes(std::string(trimmed(part)) + ", then ...") +
                          " with the period from then on");
    if (!has_length && !is_at_end_)
      return config_error("how long is it " + in_quotes(trimmed(part)) + "? Write " +
                          in_quotes(std::string(trimmed(part)) + " for ..., then") +
                          ", like \"1 h for 5 d, then 3 h\"");
    every_.phases.push_back(phase);
    return {};
  }

  // Up to the next comma that is none of a decimal.
  std::string_view take_part() {
    std::size_t at = rest_.find(',');
    while (at != std::string_view::npos && at + 1 < rest_.size() && is_decimal(rest_[at + 1]))
      at = rest_.find(',', at + 1);
    const std::string_view part = rest_.substr(0, at);
    is_at_end_ = at == std::string_view::npos;
    rest_.remove_prefix(is_at_end_ ? rest_.size() : at + 1);
    return part;
  }

  Result<void> take_term(std::string_view text, Period* period) {
    const Result<Term> term = parse_term(text);
    if (!term) return term.error();
    *period = term->period;
    if (first_.empty()) {
      first_ = std::string(trimmed(text));
      every_.clock = term->clock();
    }
    if (term->clock() == every_.clock) return {};
    return config_error(in_quotes(first_) + " is " + clock_words(every_.clock) + ", and " +
                        in_quotes(trimmed(text)) + " is " + clock_words(term->clock()) +
                        "; all of one text are of one clock");
  }

  std::string_view rest_;
  bool is_at_end_ = false;
  std::string first_;
  Every every_;
};

constexpr std::pair<const char*, Every::Clock> kAlone[] = {
    {"first", Every::Clock::first}, {"last", Every::Clock::last}, {"run", Every::Clock::run}};

// Of one that has no phases; else null.
const char* word_alone(const Every& every) {
  for (const auto& [word, clock] : kAlone)
    if (every.clock == clock) return word;
  return nullptr;
}

std::string period_words(const Every& every) {
  if (const char* const word = word_alone(every)) return word;
  const char* const wall = every.clock == Every::Clock::wall ? " wall" : "";
  std::string text;
  for (const Every::Phase& phase : every.phases) {
    text += (text.empty() ? "" : ", then ") + period_text(phase.period, " ") + wall;
    if (phase.length) text += " for " + period_text(*phase.length, " ") + wall;
  }
  return text;
}

// Letters and digits as they are; comparisons as words.
std::string condition_file_text(const std::string& condition) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {">=", "ge"}, {"<=", "le"}, {"==", "eq"}, {"!=", "ne"}, {"&&", "and"},
      {"||", "or"}, {">", "gt"},  {"<", "lt"},  {"+", "plus"}};
  std::string text;
  const auto add = [&](std::string_view word, bool is_apart) {
    const bool has_end = text.empty() || text.back() == '-';
    if (is_apart && !has_end) text += '-';
    text += word;
    if (is_apart && !word.empty()) text += '-';
  };
  for (std::size_t at = 0; at < condition.size();) {
    const auto word = std::find_if(std::begin(kWords), std::end(kWords), [&](const auto& each) {
      return condition.compare(at, each.first.size(), each.first) == 0;
    });
    if (word != std::end(kWords)) {
      add(word->second, true);
      at += word->first.size();
      continue;
    }
    const char c = condition[at++];
    const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    add(is_plain ? std::string_view(&c, 1) : std::string_view(), !is_plain);
  }
  while (text.ends_with('-')) text.pop_back();
  return text;
}

std::string period_file_text(const Every& every) {
  if (const char* const word = word_alone(every)) return word;
  std::string text;
  for (const Every::Phase& phase : every.phases) {
    text += (text.empty() ? "" : "-") + period_text(phase.period, "");
    if (phase.length) text += "-" + period_text(*phase.length, "");
  }
  return every.clock == Every::Clock::wall ? text + "-wall" : text;
}

bool is_each_iteration(const Every& every) {
  return every.clock == Every::Clock::iterations && every.phases.size() == 1 &&
         every.phases[0].period.count == 1;
}

}  // namespace

Result<Every> parse_every(std::string_view text) {
  text = trimmed(text);
  constexpr std::size_t kLongest = 1000;
  if (text.size() > kLongest) return config_error("a period has 1000 characters at most");
  for (const auto& [word, clock] : kAlone)
    if (text == word) return Every{clock, {}};
  if (text.empty()) return config_error(kWhatIsPossible);
  const bool is_number = is_decimal(text.front()) || text.front() == '.' || text.front() == '-';
  if (is_number) return PhaseReader(text).read();
  if (const std::string advice = advice_for(text); !advice.empty())
    return config_error(in_quotes(text) + " is no period" + advice);
  if (is_known_unit(time_unit(text)))
    return config_error("the number is missing: write " + in_quotes("1 " + std::string(text)));
  const std::string near = nearest_name(text, {"first", "last", "run"});
  if (!near.empty())
    return config_error(in_quotes(text) + " is no period; did you mean " + in_quotes(near) + "?");
  return config_error(in_quotes(text) + " is no period; " + kWhatIsPossible);
}

std::string to_text(const Every& every) {
  if (every.condition.empty()) return period_words(every);
  const std::string when = "when " + every.condition;
  return is_each_iteration(every) ? when : period_words(every) + " " + when;
}

std::string file_name_text(const Every& every, const std::string& word) {
  if (every.clock == Every::Clock::last) return "last";
  if (every.condition.empty()) return word + "-" + period_file_text(every);
  const std::string when = "when-" + condition_file_text(every.condition);
  return is_each_iteration(every) ? when : word + "-" + period_file_text(every) + "-" + when;
}

std::optional<double> seconds_of(const Period& period) {
  if (!period.unit || period.unit->months != 0) return std::nullopt;
  constexpr double kMicroseconds = 1e6, kBase = 10;
  const double microseconds = static_cast<double>(period.count) *
                              static_cast<double>(period.unit->microseconds) /
                              std::pow(kBase, period.decimals);
  return microseconds / kMicroseconds;
}

bool is_at_end(const Every& every) noexcept {
  return every.clock == Every::Clock::last || every.clock == Every::Clock::run;
}

std::int64_t iterations_of(const Every& every) {
  const bool is_one = every.clock == Every::Clock::iterations && every.phases.size() == 1 &&
                      every.condition.empty();
  return is_one ? every.phases[0].period.count : 0;
}

}  // namespace leat::model

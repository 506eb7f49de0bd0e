// SPDX-License-Identifier: Apache-2.0
// Numbers are little-endian as on all machines that Leat runs on; lists have their length in front.
#include "lib/comm/message.hpp"

#include <bit>
#include <cstring>
#include <type_traits>

namespace leat::comm {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint8_t kMessageVersion = 2;

template <class T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

class Writer {
 public:
  Writer() { bytes_.reserve(kMostOften); }
  template <Plain T>
  void put(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put(const std::string& text) {
    put_size(text.size());
    bytes_ += text;
  }
  template <Plain T>
  void put(const std::vector<T>& list) {
    put_size(list.size());
    bytes_.append(reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T));
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put_size(list.size());
    for (const T& each : list) put(each);
  }
  void put(const RankSet& set) {
    static_assert(sizeof(RankSet::Range) == 2 * sizeof(Rank));
    put_size(set.ranges().size());
    bytes_.append(reinterpret_cast<const char*>(set.ranges().data()),
                  set.ranges().size() * sizeof(RankSet::Range));
  }
  void put(const ExactSum& sum) {
    const ExactSum::Digits digits = sum.digits();
    put(digits.special);
    put(static_cast<std::uint8_t>(digits.first));
    put(static_cast<std::uint8_t>(digits.digits.size()));
    for (std::size_t i = 0; i + 1 < digits.digits.size(); ++i)
      put(static_cast<std::uint32_t>(digits.digits[i]));
    if (!digits.digits.empty()) put(digits.digits.back());
  }
  void put(const Integers& column) {
    put(column.op);
    put(column.values);
  }
  void put(const Reals& column) {
    put(column.op);
    put(column.values);
  }
  void put(const Sums& column) { put(column.values); }
  void put(const Gathered& column) {
    put_size(column.parts.size());
    for (const auto& [rank, text] : column.parts) {
      put(rank);
      put(text);
    }
  }
  template <class... T>
  void put(const std::variant<T...>& one) {
    put(static_cast<std::uint8_t>(one.index()));
    std::visit([this](const auto& each) { this->put(each); }, one);
  }
  void put(const Start& start) { all(start.epoch, start.known); }
  void put(const View& view) {
    all(view.epoch, view.root, view.version, view.dead, view.left, view.starts);
  }
  void put(const Round& round) { all(round.channel, round.number); }
  void put(const Up& up) { all(up.view, up.attached, up.leaving, up.known, up.confirmed); }
  void put(const Awaited& awaited) { all(awaited.round, awaited.of); }
  void put(const Down& down) {
    all(down.view, down.pulse, down.known, down.confirmed, down.kept, down.awaited);
  }
  void put(const Partial& partial) {
    all(partial.round, partial.by, partial.of, partial.passed, partial.over, partial.columns);
  }
  void put(const Outcome& each) {
    all(each.sequence, each.epoch, each.round, each.of, each.columns);
  }
  void put(const Want& want) { put(want.from); }
  void put(const Ask& ask) { put(ask.view); }

  std::string take() { return std::move(bytes_); }

 private:
  static constexpr std::size_t kMostOften = 128;  // bytes of one of those that time alone brings

  template <class... T>
  void all(const T&... values) {
    (put(values), ...);
  }
  void put_size(std::size_t size) { put(static_cast<std::uint32_t>(size)); }

  std::string bytes_;
};

// Each get() is false where there is no such thing; what it has set then means nothing.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool at_end() const { return rest_.empty(); }

  template <Plain T>
  bool get(T* value) {
    if (rest_.size() < sizeof *value) return false;
    std::memcpy(value, rest_.data(), sizeof *value);
    rest_.remove_prefix(sizeof *value);
    return true;
  }
  bool get(std::string* text) {
    std::uint32_t size = 0;
    if (!get(&size) || rest_.size() < size) return false;
    text->assign(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return true;
  }
  template <class T>
  bool get(std::vector<T>* list) {
    std::uint32_t size = 0;
    if (!get(&size) || rest_.size() < size || !may_take(size)) return false;
    for (std::uint32_t i = 0; i < size; ++i)
      if (!get(&list->emplace_back())) return false;
    return true;
  }
  template <Plain T>
  bool get(std::vector<T>* list) {
    std::uint32_t size = 0;
    if (!get(&size) || rest_.size() / sizeof(T) < size) return false;
    list->resize(size);
    std::memcpy(list->data(), rest_.data(), size * sizeof(T));
    rest_.remove_prefix(size * sizeof(T));
    return true;
  }
  bool get(RankSet* set) {
    std::uint32_t size = 0;
    if (!get(&size) || rest_.size() / sizeof(RankSet::Range) < size) return false;
    std::vector<RankSet::Range> ranges(size);
    const std::size_t bytes = size * sizeof(RankSet::Range);
    if (bytes > 0) std::memcpy(ranges.data(), rest_.data(), bytes);
    rest_.remove_prefix(bytes);
    return set->set(std::move(ranges)) && (set->empty() || set->ranges().back().last <= kMostRank);
  }
  bool get(ExactSum* sum) {
    ExactSum::Digits digits;
    std::uint8_t first = 0, size = 0;
    if (!get(&digits.special) || !get(&first) || !get(&size)) return false;
    digits.first = first;
    digits.digits.resize(size);
    std::uint32_t low = 0;
    for (std::size_t i = 0; i + 1 < digits.digits.size(); ++i) {
      if (!get(&low)) return false;
      digits.digits[i] = low;
    }
    return (size == 0 || get(&digits.digits.back())) && sum->set(digits);
  }
  bool get(Integers* column) {
    return get(&column->op) && column->op <= Op::bit_or && get(&column->values);
  }
  bool get(Reals* column) {
    return get(&column->op) && column->op <= Op::max && get(&column->values);
  }
  bool get(Sums* column) { return get(&column->values); }
  bool get(Gathered* column) {
    std::uint32_t size = 0;
    if (!get(&size) || !may_take(size)) return false;
    for (std::uint32_t i = 0; i < size; ++i) {
      Rank rank = 0;
      if (!get(&rank) || !get(&column->parts[rank])) return false;
    }
    return true;
  }
  template <class... T>
  bool get(std::variant<T...>* one) {
    std::uint8_t index = 0;
    if (!get(&index) || index >= sizeof...(T)) return false;
    std::uint8_t i = 0;
    bool good = false;
    ((i++ == index ? void(good = get(&one->template emplace<T>())) : void()), ...);
    return good;
  }
  bool get(Start* start) { return all(&start->epoch, &start->known); }
  bool get(View* view) {
    return all(&view->epoch, &view->root, &view->version, &view->dead, &view->left, &view->starts);
  }
  bool get(Round* round) { return all(&round->channel, &round->number); }
  bool get(Up* up) {
    return all(&up->view, &up->attached, &up->leaving, &up->known, &up->confirmed);
  }
  bool get(Awaited* awaited) { return all(&awaited->round, &awaited->of); }
  bool get(Down* down) {
    return all(&down->view, &down->pulse, &down->known, &down->confirmed, &down->kept,
               &down->awaited);
  }
  bool get(Partial* partial) {
    return all(&partial->round, &partial->by, &partial->of, &partial->passed, &partial->over,
               &partial->columns);
  }
  bool get(Outcome* each) {
    return all(&each->sequence, &each->epoch, &each->round, &each->of, &each->columns);
  }
  bool get(Want* want) { return get(&want->from); }
  bool get(Ask* ask) { return get(&ask->view); }

 private:
  static constexpr Rank kMostRank = 1 << 24;
  static constexpr std::uint32_t kMostParts = 1 << 21;

  // Columns, sums and parts that are gathered may be some bytes long, and take some hundred in memory.
  bool may_take(std::uint32_t parts) {
    if (parts > kMostParts - parts_) return false;
    parts_ += parts;
    return true;
  }

  template <class... T>
  bool all(T*... values) {
    return (get(values) && ...);
  }

  std::string_view rest_;
  std::uint32_t parts_ = 0;
};

}  // namespace

std::int64_t View::epoch_of(std::int64_t sequence) const {
  std::int64_t of = 0;
  for (const Start& start : starts)
    if (start.known < sequence) of = start.epoch;
  return of;
}

std::string bytes_of(const Message& message) {
  Writer writer;
  writer.put(kMessageVersion);
  writer.put(message);
  return writer.take();
}

std::optional<Message> message_in(std::string_view bytes) {
  Reader reader(bytes);
  std::uint8_t version = 0;
  Message message;
  if (!reader.get(&version) || version != kMessageVersion || !reader.get(&message) ||
      !reader.at_end())
    return std::nullopt;
  return message;
}

}  // namespace leat::comm

# SPDX-License-Identifier: Apache-2.0
"""A function fits on a screen."""
import pytest
from shapes import shapes
from tree import sources, text

MOST_LINES = 60
CODE = [p for p in sources() if not p.startswith("tests/")]


def is_too_large(shape):
    return shape.kind == "function" and shape.lines > MOST_LINES


@pytest.mark.parametrize("path", CODE)
def test_functions_are_small(path):
    assert {s.name for s in shapes(text(path)) if is_too_large(s)} == set()


SOURCE = """
namespace a { // "}"
class Big final : public Base<int, long> {
 public:
  explicit Big(int x) : x_{x}, y_(1) { f(); }
  Big(const Big&) = delete;
  void f() noexcept {
    if (x_) {
      g([] { return '}'; });
    }
  }
  int g(const std::function<void()>& call = {}) const;
  bool operator==(const Big& other) const = default;
  std::map<int, std::vector<int>> of() const { return {}; }
  static constexpr int kMost = 3;

 private:
  struct Inner { int a = 0, b; };
  std::function<void(int)> wake_;
  int x_ = f(3), y_{2};
  std::atomic<bool> open_{false};
};
template <class T>
Result<T> long_one(T value) {
""" + "  go();\n" * 60 + """}
enum class Kind { one, two };
}  // namespace a
"""


def test_the_sizes_are_counted():
    found = {(s.kind, s.name): s for s in shapes(SOURCE)}
    big, inner = found["class", "Big"], found["struct", "Inner"]
    assert (big.methods, big.members) == (3, 4) and (inner.methods, inner.members) == (0, 2)
    assert found["function", "long_one"].lines == 63 and found["function", "f"].lines == 5
    assert [s.name for s in shapes(SOURCE) if is_too_large(s)] == ["long_one"]

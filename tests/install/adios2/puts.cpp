// SPDX-License-Identifier: Apache-2.0
// What ADIOS2's Python cannot say: Put with a span, a type that Leat has not, single values, char, blocks of one rank, an operator.
#include <adios2.h>

#include <array>
#include <cstdio>
#include <exception>

template <class F>
static void attempt(const F& put) {
  try {
    put();
  } catch (const std::exception& e) {
    std::printf("%s\n", e.what());
  }
}

int main() {
  adios2::ADIOS adios("adios2.xml");
  adios2::IO io = adios.DeclareIO("out");
  const auto span = io.DefineVariable<double>("span", {}, {}, {4});
  const auto wide = io.DefineVariable<long double>("wide");
  const auto letters = io.DefineVariable<char>("letters", {}, {}, {3});
  const auto small = io.DefineVariable<std::int8_t>("small");
  const auto local = io.DefineVariable<std::int32_t>("local", {adios2::LocalValueDim});
  auto tiles = io.DefineVariable<float>("tiles", {4, 2}, {0, 0}, {2, 2});
  adios2::Engine engine = io.Open("puts.bp", adios2::Mode::Write);
  for (int step = 0; step < 2; ++step) {
    engine.BeginStep();
    if (step == 0) attempt([&] { engine.Put(span); });
    if (step == 0) attempt([&] { engine.Put(wide, 1.5L); });
    engine.Put(letters, "abc");
    engine.Put(small, static_cast<std::int8_t>(-7 - step));
    engine.Put(local, 70000 + step);
    for (std::size_t tile = 0; tile < 2; ++tile) {
      const float first = static_cast<float>(100 * step + 4 * tile);
      std::array<float, 4> values{first, first + 1, first + 2, first + 3};
      tiles.SetSelection({{2 * tile, 0}, {2, 2}});
      engine.Put(tiles, values.data());
      values.fill(-1);  // as none may, before EndStep: Leat has its copy
    }
    engine.EndStep();
  }
  engine.Close();
}

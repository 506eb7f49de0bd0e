// SPDX-License-Identifier: Apache-2.0
#include "parameters.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>

#include "Damaris.h"
#include "status.hpp"

namespace leat::damaris {
namespace {

static_assert(std::endian::native == std::endian::little,
              "a number's first bytes are its low ones");

// The widest C type that fits, of those of this kind.
unsigned int width_of(const Value& value, unsigned int size) {
  const unsigned int least = std::holds_alternative<double>(value) ? sizeof(float) : 1;
  for (const unsigned int width : {8u, 4u, 2u, 1u}) {
    if (size >= width && width >= least) return width;
  }
  return 0;
}

struct Write {
  void* buffer;
  unsigned int size, width;

  void operator()(std::int64_t value) const { std::memcpy(buffer, &value, width); }
  void operator()(double value) const {
    const auto narrow = static_cast<float>(value);
    std::memcpy(buffer, width == sizeof value ? static_cast<const void*>(&value) : &narrow, width);
  }
  // One char has no room for an end; a longer text has one where it fits.
  void operator()(const std::string& value) const {
    std::memcpy(buffer, value.c_str(), std::min<std::size_t>(size, value.size() + 1));
  }
};

struct Read {
  const void* buffer;
  unsigned int size, width;

  Value operator()(std::int64_t) const {
    std::int64_t value = 0;
    std::memcpy(&value, buffer, width);
    const unsigned int unused = 64 - 8 * width;
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused;
  }
  Value operator()(double) const {
    double wide = 0;
    float narrow = 0;
    std::memcpy(width == sizeof wide ? static_cast<void*>(&wide) : &narrow, buffer, width);
    return width == sizeof wide ? wide : double{narrow};
  }
  Value operator()(const std::string&) const {
    const char* const text = static_cast<const char*>(buffer);
    return std::string(text, strnlen(text, size));
  }
};

int refuse_size(const char* call) {
  return refuse(DAMARIS_ARGUMENT_ERROR, call,
                "the size is that of no type that the parameter could have");
}

}  // namespace

Parameter* Parameters::find(const char* call, const char* name, const void* buffer, int* code) {
  if (!name || !buffer) {
    *code = refuse(DAMARIS_ARGUMENT_ERROR, call, "the name or the buffer is NULL");
    return nullptr;
  }
  const auto found = parameters_.find(std::string_view(name));
  if (found != parameters_.end()) return &found->second;
  *code = DAMARIS_UNDEFINED_PARAMETER;
  std::int64_t value = 0;
  if (in_session_) {
    leat_get_int(name, &value);  // says which one may be meant
  } else {
    std::fprintf(stderr, "leat: %s: the XML declares no parameter \"%s\"\n", call, name);
  }
  return nullptr;
}

// A script may have steered it.
void Parameters::refresh(const char* name, Parameter& parameter) {
  if (auto* const integer = std::get_if<std::int64_t>(&parameter.value)) {
    leat_get_int(name, integer);
  } else if (auto* const real = std::get_if<double>(&parameter.value)) {
    leat_get_double(name, real);
  } else {
    std::uint64_t needed = 0;
    if (leat_get_string(name, nullptr, 0, &needed) != LEAT_OK || needed == 0) return;
    std::string text(needed, ' ');
    if (leat_get_string(name, text.data(), needed, nullptr) != LEAT_OK) return;
    text.pop_back();
    parameter.value = text;
  }
}

int Parameters::get(const char* name, void* buffer, unsigned int size) {
  int code = DAMARIS_OK;
  Parameter* const parameter = find("damaris_parameter_get", name, buffer, &code);
  if (!parameter) return code;
  if (in_session_ && parameter->known) refresh(name, *parameter);
  const unsigned int width = width_of(parameter->value, size);
  if (width == 0) return refuse_size("damaris_parameter_get");
  if (!parameter->known)
    return refuse(DAMARIS_UNDEFINED_PARAMETER, "damaris_parameter_get",
                  "a parameter that has no value in the XML was not set yet");
  std::visit(Write{buffer, size, width}, parameter->value);
  return DAMARIS_OK;
}

int Parameters::set(const char* name, const void* buffer, unsigned int size) {
  int code = DAMARIS_OK;
  Parameter* const parameter = find("damaris_parameter_set", name, buffer, &code);
  if (!parameter) return code;
  const unsigned int width = width_of(parameter->value, size);
  if (width == 0) return refuse_size("damaris_parameter_set");
  Parameter now{std::visit(Read{buffer, size, width}, parameter->value), true, !in_session_};
  if (in_session_) code = tell(name, now);
  if (code == DAMARIS_OK) *parameter = std::move(now);
  return code;
}

int Parameters::tell(const char* name, const Parameter& parameter) {
  leat_status status = LEAT_OK;
  if (const auto* const integer = std::get_if<std::int64_t>(&parameter.value)) {
    status = leat_set_int(name, *integer);
  } else if (const auto* const real = std::get_if<double>(&parameter.value)) {
    status = leat_set_double(name, *real);
  } else {
    status = leat_set_string(name, std::get<std::string>(parameter.value).c_str());
  }
  // It shapes what was written already: see docs/reference/damaris.md.
  if (status == LEAT_ERROR_STATE) return DAMARIS_INVALID_DIMENSIONS;
  return code_of(status, Named::parameter);
}

int Parameters::session_began() {
  in_session_ = true;
  int code = DAMARIS_OK;
  for (auto& [name, parameter] : parameters_) {
    if (parameter.set) code = std::max(code, tell(name.c_str(), parameter));
    parameter.set = false;
  }
  return code;
}

void Parameters::session_ends() {
  for (auto& [name, parameter] : parameters_) {
    if (!parameter.known) continue;
    refresh(name.c_str(), parameter);
    parameter.set = true;  // another session begins with it
  }
  in_session_ = false;
}

}  // namespace leat::damaris

#pragma once

#include <ronde/nn/module.h>

namespace ronde::inline v0 {

/// The first of a net's modules, itself included, of which `is_it` is true; nullptr: none is.
template <class Predicate>
const Module* find_module(const Module& module, Predicate&& is_it) {
  if (is_it(module)) return &module;
  for (const Module* child : module.children())
    if (const Module* found = find_module(*child, is_it)) return found;
  return nullptr;
}

}  // namespace ronde::inline v0

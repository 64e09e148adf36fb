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

/// Calls f with a net's modules, itself included, in the order in which find_module asks them.
template <class F>
void for_each_module(const Module& module, const F& f) {
  f(module);
  for (const Module* child : module.children()) for_each_module(*child, f);
}

}  // namespace ronde::inline v0

/// What every kind of communicator promises beside its results: errors that all ranks throw and after which
/// life goes on, names, groups, objects and plain values. Functions that each rank calls on its communicator.
#pragma once

#include <ronde/distributed/communicator.h>

namespace ronde::test {

Tensor host_zeros(const Shape& shape, DType dtype = DType::f32);
/// All ranks are still together.
void expect_usable(Communicator& c);
/// Each rank starts the operations of three groups in a random order of its own, in which only those of one
/// group keep theirs, and waits for them in another one.
void check_groups_at_once(Communicator& c);
/// Whatever each rank calls, several at a time: all learn the same of each call, and it is an error exactly
/// where calls differ or are wrong.
void check_random_calls(Communicator& c);
/// Objects of any type: of one rank for all, and of all.
void check_objects(Communicator& c);
/// Plain values, spans and vectors instead of tensors.
void check_values(Communicator& c);
/// All of the above, except `check_groups_at_once`, for which communicators must overlap.
void check_contract(Communicator& c);

}  // namespace ronde::test

/// NumPy's files: .npy (one array) and .npz (a zip archive of them, as np.savez writes it).
///
///     Tensor x = read_npy("x.npy");
///     std::map<std::string, Tensor> arrays = read_npz("mnist.npz");    // x_train, y_train, x_test, y_test
///     std::string bytes = encode_npz({{"x", x}});                      // np.load gives {"x": ...}
///
/// Arrays are little-endian and in C order, of u8, i32, i64, f32 or f64. Archive members may be stored or
/// deflated; their CRC-32 is checked. Errors: IoError when the file is missing or cannot be read, InputError
/// when it is damaged or its arrays take more than `max_bytes`. No memory is taken for what the file cannot
/// hold.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include <ronde/core/tensor.h>

namespace ronde::inline v0 {

RONDE_API Tensor read_npy(const std::string& path, std::uint64_t max_bytes = std::uint64_t{4} << 30);
/// The arrays by name, without ".npy".
RONDE_API std::map<std::string, Tensor> read_npz(const std::string& path,
                                                 std::uint64_t max_bytes = std::uint64_t{4} << 30);
/// The same from the bytes of an archive; `source` names them in errors.
RONDE_API std::map<std::string, Tensor> decode_npz(std::string_view archive, const std::string& source,
                                                   std::uint64_t max_bytes = std::uint64_t{4} << 30);

/// The bytes of a .npy file of version 1, in C order. bf16, which NumPy does not know, becomes f32.
RONDE_API std::string encode_npy(const Tensor& array);
/// The bytes of an .npz archive, not compressed. An Error above 4 GiB.
RONDE_API std::string encode_npz(const std::map<std::string, Tensor>& arrays);

}  // namespace ronde::inline v0

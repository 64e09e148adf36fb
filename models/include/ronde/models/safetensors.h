/// safetensors: the file format in which PyTorch's and Hugging Face's world keeps weights.
///
///     write_safetensors("net.safetensors", model.module(), WeightNames::torch);
///     assign_named_weights(model.module(), read_safetensors("net.safetensors").tensors);
///
/// In Python: `net.load_state_dict(safetensors.torch.load_file("net.safetensors"))`.
///
/// A file is the length of a JSON header (8 bytes, little-endian), the header, then the arrays, dense,
/// without holes and without overlap. Readers trust nothing: lengths, offsets, shapes and the header itself
/// are checked before memory is taken. What is written here has a SHA-256 of the file among its metadata,
/// `ronde_sha256`, which is checked when it is there; the format itself has no checksum. Thread safety: free
/// functions, may be called from several threads.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <ronde/models/named_weights.h>

namespace ronde::inline v0 {

struct Safetensors {
  NamedTensors tensors;
  std::map<std::string, std::string> metadata;  ///< free text
};

/// Replaces the file atomically. f32, f64, bf16, u8, i32, i64. IoError.
RONDE_API void write_safetensors(const std::string& path, const Safetensors& file);
/// The net's weights; the metadata has {"format": "pt"} for WeightNames::torch, {"format": "keras"} else.
RONDE_API void write_safetensors(const std::string& path, const Module& net,
                                 WeightNames names = WeightNames::keras);
/// F16 becomes f32; of the other types those of Ronde are read. IoError; InputError, with the path, when it
/// is no such file, is damaged or has another type.
RONDE_API Safetensors read_safetensors(const std::string& path);

/// The file's bytes.
RONDE_API std::string encode_safetensors(const Safetensors& file);
/// `source` names the bytes in errors.
RONDE_API Safetensors decode_safetensors(std::string_view bytes, const std::string& source);

}  // namespace ronde::inline v0

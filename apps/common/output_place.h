/// Whether a place can be written to, found out before the work rather than after it. Errors are IoErrors
/// that name the option and the reason. On this process alone.
#pragma once

#include <filesystem>
#include <string>

namespace ronde::apps {

/// Makes the directory, with those above it, and tries it.
void make_place(const std::string& option, const std::filesystem::path& directory);

/// Of an option that names a file: its folder must be there, as one that is not is more likely a mistake.
void require_place(const std::string& option, const std::string& file);

}  // namespace ronde::apps

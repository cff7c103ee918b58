#pragma once
// JSON and JSON Lines files on nlohmann/json, whose full header only the .cpp files that build values include.
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace kc {

// Whether lists and objects of a JSON text are nested more than 500 deep: the library copies, compares and prints
// values by recursion, so whoever parses a text from outside by other means than those below asks first.
bool nested_too_deep(std::string_view text);

// Error{bad_data} that starts with `where` (a file's name) when ill-formed, with the position, when an object holds
// a key twice, of which only one could count, or when it is nested too deep.
nlohmann::json parse_json(std::string_view text, const std::string& where);

// The same of a whole file, which may be missing as well.
nlohmann::json read_json_file(const std::filesystem::path& path);
// The same of a file that belongs to a folder, which is a regular one: reading a pipe in its place would wait for ever.
nlohmann::json read_folder_json(const std::filesystem::path& path);

// A value as messages show it: long texts are cut, lists of more than a few numbers or texts are "a list", objects "an
// object".
std::string shown(const nlohmann::json& value);

// Atomic (atomic_file.h), two-space indentation, final newline. NaN and infinities become null.
void write_json_file(const std::filesystem::path& path, const nlohmann::json& value);

// Calls `visit(value, line_number)` for each non-empty line; reads .gz files as well. Error{bad_data} names file and
// line, of one that is nested too deep as well.
void for_each_json_line(const std::filesystem::path& path,
                        const std::function<void(const nlohmann::json& value, std::size_t line_number)>& visit);

// Append-only JSON Lines log: a line is written in one write() call, so a killed program leaves whole lines
// but for at most the last, which `repair` cuts on opening.
class JsonLinesWriter {
 public:
  enum class Mode { truncate, append_repairing };
  JsonLinesWriter(const std::filesystem::path& path, Mode mode);
  void write(const nlohmann::json& value);

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace kc

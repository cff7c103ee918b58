#pragma once
// Configuration: layered YAML, `--set` overrides, and readers that declare a key where they read it.
//
// A component reads its section once, before any work:
//
//   WarmupOptions read_warmup_options(Config& config) {
//     ConfigSection s = config.section("warmup");
//     WarmupOptions o;
//     o.steps = s.integer("steps", 600, {.meaning = "optimiser steps of stage 1", .unit = "steps", .min = 0});
//     ...
//
// The call is at once the declaration (for --help-config), the default, the check and the read. After all components
// have read, `finish()` reports every ill-typed or out-of-range value, every missing required key, and every key of the
// file that nobody read, with file, line and the nearest declared key: a key that changes nothing is an error.
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kc {

struct KeyDoc {
  std::string meaning;
  std::string unit = {};  // empty: a pure number or a name
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool required = false;  // a file or --set must give the key; the fallback only stands in until finish() throws
};

class ConfigSection;

class Config {
 public:
  struct Impl;  // defined inside base

  // Loads `file` and, first, the parent that its top-level key `base:` names (relative to the file), then applies
  // `sets` ("section.key=value", value parsed as YAML). Error{config} with file and line when unreadable; Error{usage}
  // for a set without "=".
  static Config load(const std::filesystem::path& file, std::span<const std::string> sets = {});
  // As if the file were empty: defaults and `sets` only.
  static Config defaults(std::span<const std::string> sets = {});
  // YAML text instead of a file; `name` stands for the file in messages.
  static Config parse(std::string_view yaml, const std::string& name, std::span<const std::string> sets = {});

  Config(Config&&) noexcept;
  Config& operator=(Config&&) noexcept;
  ~Config();

  // `name` may be nested ("data.split"). Stays valid when the Config moves.
  ConfigSection section(const std::string& name);

  // Marks a whole section as belonging to another program: its keys may stand in the file unread.
  void ignore_section(const std::string& name);

  // Error{config} listing everything found wrong; call after all readers and before any work.
  void finish() const;

  std::string resolved_yaml() const;  // every declared key with its value: what --print-config shows and runs store;
                                      // loading it again gives the same values
  std::string help() const;           // every declared key: type, default, unit, range, meaning
  std::string hash() const;  // SHA-256 of the sorted "key: value" lines of resolved_yaml(), section run left out
  std::string name() const;  // the file's stem, "defaults" without a file

 private:
  explicit Config(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Readers never throw for a bad value: they record the fault for finish() and return the default.
class ConfigSection {
 public:
  std::int64_t integer(const std::string& key, std::int64_t fallback, const KeyDoc& doc);
  double number(const std::string& key, double fallback, const KeyDoc& doc);
  bool boolean(const std::string& key, bool fallback, const KeyDoc& doc);
  std::string text(const std::string& key, const std::string& fallback, const KeyDoc& doc);
  std::string choice(const std::string& key, const std::string& fallback, const std::vector<std::string>& choices,
                     const KeyDoc& doc);
  std::vector<std::string> texts(const std::string& key, const std::vector<std::string>& fallback, const KeyDoc& doc);
  std::vector<std::int64_t> integers(const std::string& key, const std::vector<std::int64_t>& fallback,
                                     const KeyDoc& doc);
  std::vector<double> numbers(const std::string& key, const std::vector<double>& fallback, const KeyDoc& doc);
  // True when the file or --set gives the key; does not count as a read.
  bool has(const std::string& key) const;
  // Records a fault found by the component itself (two keys that exclude each other), shown by finish() with file and
  // line.
  void fault(const std::string& key, const std::string& message);

 private:
  friend class Config;
  ConfigSection(Config::Impl* config, std::string name) : config_(config), name_(std::move(name)) {}
  Config::Impl* config_;
  std::string name_;
};

}  // namespace kc

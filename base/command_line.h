#pragma once
// One command-line style for every program: --help with examples, --version, --json, --config, --set, --print-config,
// --help-config; errors as one message and the exit codes of error.h.
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/config.h"

namespace kc {

struct CommonOptions {
  bool json = false;  // machine-readable result on stdout
  std::optional<std::filesystem::path> config;
  std::vector<std::string> sets;  // "key.sub=value"
  bool print_config = false;
  bool help_config = false;
};

// A program, or one of its subcommands (`measure label`).
class CommandLine {
 public:
  // `with_config` adds --config, --set, --print-config, --help-config.
  CommandLine(const std::string& program, const std::string& summary, const std::string& examples, bool with_config);
  ~CommandLine();
  CommandLine(CommandLine&&) noexcept;

  // Names as CLI11 spells them ("--out,-o", "reference"); a name without dashes is positional. A list is given by
  // repeating its option, or as the last positional arguments. Variables must outlive run().
  // A required text must not be empty.
  CommandLine& option(const std::string& name, std::string& value, const std::string& help, bool required = false);
  CommandLine& option(const std::string& name, std::int64_t& value, const std::string& help, bool required = false);
  CommandLine& option(const std::string& name, double& value, const std::string& help, bool required = false);
  CommandLine& option(const std::string& name, std::vector<std::string>& values, const std::string& help,
                      bool required = false);
  CommandLine& flag(const std::string& name, bool& value, const std::string& help);

  // A subcommand; `action` runs when it is chosen. The reference stays valid.
  CommandLine& subcommand(const std::string& name, const std::string& summary, const std::string& examples,
                          bool with_config, std::function<int()> action);

  // Filled by run(); each subcommand has its own.
  CommonOptions& common();

  // Parses, prints help or version where asked, runs `action` (or the subcommand's), turns kc::Error and other
  // exceptions into one message on stderr, and returns the exit code. From here on a file that outgrows RLIMIT_FSIZE is
  // a failed write, not a killed process.
  int run(int argc, char** argv, const std::function<int()>& action = {});

 private:
  struct Impl;
  explicit CommandLine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The configuration that --config and --set give; defaults and --set without --config.
Config load_config(const CommonOptions& options);

// To be called after all readers and before any work. True: --help-config or --print-config was asked for and is now on
// stdout, the program is done. False: go on. Throws what Config::finish() throws, but for --help-config.
bool show_config(const CommonOptions& options, const Config& config);

// Commit, LibTorch and compiler of this build, as --version prints them.
std::string version_text();

}  // namespace kc

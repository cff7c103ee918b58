#include "base/command_line.h"

#include <signal.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <new>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/suggest.h"

namespace kc {
namespace {

constexpr const char* kExitCodes =
    "Exit codes: 0 done, 1 a check failed, 2 usage or configuration, 3 bad data or environment, 130 interrupted";

std::string footer(const std::string& examples) {
  std::istringstream lines(examples);
  std::string text = "Examples:\n";
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (!line.empty()) text += "  " + line + "\n";
  }
  return text + "\n" + kExitCodes;
}

const CLI::App& deepest(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : deepest(*chosen.front());
}

std::vector<std::string> known_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  for (const CLI::App* sub : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(sub->get_name());
  return names;
}

// An argument that nothing took is the likelier mistake than what is missing because of it.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> extra = app.remaining(true);
  if (extra.empty()) return error.what();
  const std::string name = extra.front().substr(0, extra.front().find('='));
  return "unknown argument '" + extra.front() + "'" + did_you_mean(name, known_names(deepest(app)));
}

// CLI11 would take the nearest number that fits.
std::string fits_64_bits(const std::string& text) {
  errno = 0;
  [[maybe_unused]] const long long number = std::strtoll(text.c_str(), nullptr, 0);
  return errno == ERANGE ? "the number " + text + " does not fit 64 bits" : "";
}

std::string says_something(const std::string& text) { return text.empty() ? "an empty text says nothing" : ""; }

// A write beyond RLIMIT_FSIZE then fails like one to a full disk, and what is half-written is removed; the default is
// death. A handler, since programs that are started from here inherit SIG_IGN, but no handler.
void survive_the_file_size_limit() {
  struct sigaction action{};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGXFSZ, &action, nullptr);
}

int report(const std::string& program, const std::string& message, ErrorKind kind) {
  std::cerr << program << ": " << printable(message, "\n\t") << std::endl;
  return exit_code(kind);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

int guarded(const std::string& program, const std::function<int()>& action) {
  try {
    const int code = action ? action() : 0;
    const bool written = std::cout.flush().good() && std::fflush(stdout) == 0;
    if (!written) throw Error(ErrorKind::environment, "cannot write the result to standard output; is the disk full?");
    return code;
  } catch (const Error& error) {
    return report(program, error.what(), error.kind());
  } catch (const std::filesystem::filesystem_error& error) {
    return report(program, error.what(), ErrorKind::environment);
  } catch (const std::bad_alloc&) {
    return report(program, "out of memory; use a smaller batch or model", ErrorKind::environment);
  } catch (const std::exception& error) {
    return report(program, "internal error: " + first_line(error.what()), ErrorKind::internal);
  }
}

}  // namespace

struct CommandLine::Impl {
  std::unique_ptr<CLI::App> owned;  // none in a subcommand, whose app belongs to its parent
  CLI::App* app = nullptr;
  CommonOptions common;
  std::vector<std::unique_ptr<CommandLine>> children;
  std::function<int()> action;

  void set_up(const std::string& examples, bool with_config) {
    app->footer(footer(examples));
    app->get_formatter()->column_width(32);
    app->set_help_flag("--help,-h", "show this help");
    app->add_flag("--json", common.json, "write the result as JSON on standard output");
    if (!with_config) return;
    const auto set_config = [this](const std::string& file) { common.config = file; };
    app->add_option_function<std::string>("--config", set_config, "configuration file")->type_name("FILE");
    app->add_option("--set", common.sets, "override one key of the configuration; may be repeated")
        ->type_name("SECTION.KEY=VALUE")
        ->allow_extra_args(false);
    app->add_flag("--print-config", common.print_config, "print the resolved configuration and stop");
    app->add_flag("--help-config", common.help_config, "list all keys of the configuration and stop");
  }

  const Impl& chosen() const {
    for (const auto& child : children) {
      if (child->impl_->app->parsed()) return child->impl_->chosen();
    }
    return *this;
  }
};

CommandLine::CommandLine(const std::string& program, const std::string& summary, const std::string& examples,
                         bool with_config)
    : impl_(std::make_unique<Impl>()) {
  impl_->owned = std::make_unique<CLI::App>(summary, program);
  impl_->app = impl_->owned.get();
  impl_->set_up(examples, with_config);
  impl_->app->set_version_flag("--version", version_text(), "show commit, LibTorch and compiler of this build");
}

CommandLine::CommandLine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CommandLine::~CommandLine() = default;
CommandLine::CommandLine(CommandLine&&) noexcept = default;

CommandLine& CommandLine::option(const std::string& name, std::string& value, const std::string& help, bool required) {
  CLI::Option* option = impl_->app->add_option(name, value, help)->required(required)->capture_default_str();
  if (required) option->check(says_something);
  return *this;
}

CommandLine& CommandLine::option(const std::string& name, std::int64_t& value, const std::string& help, bool required) {
  impl_->app->add_option(name, value, help)->required(required)->capture_default_str()->check(fits_64_bits);
  return *this;
}

CommandLine& CommandLine::option(const std::string& name, double& value, const std::string& help, bool required) {
  impl_->app->add_option(name, value, help)->required(required)->capture_default_str();
  return *this;
}

CommandLine& CommandLine::option(const std::string& name, std::vector<std::string>& values, const std::string& help,
                                 bool required) {
  CLI::Option* option = impl_->app->add_option(name, values, help)->required(required);
  if (name.starts_with('-')) option->allow_extra_args(false);
  return *this;
}

CommandLine& CommandLine::flag(const std::string& name, bool& value, const std::string& help) {
  impl_->app->add_flag(name, value, help);
  return *this;
}

CommandLine& CommandLine::subcommand(const std::string& name, const std::string& summary, const std::string& examples,
                                     bool with_config, std::function<int()> action) {
  auto impl = std::make_unique<Impl>();
  impl->app = impl_->app->add_subcommand(name, summary);
  impl->action = std::move(action);
  impl->set_up(examples, with_config);
  impl_->children.push_back(std::unique_ptr<CommandLine>(new CommandLine(std::move(impl))));
  return *impl_->children.back();
}

CommonOptions& CommandLine::common() { return impl_->common; }

int CommandLine::run(int argc, char** argv, const std::function<int()>& action) {
  survive_the_file_size_limit();
  CLI::App& app = *impl_->app;
  if (!impl_->children.empty() && !action) app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::string full_name = app.get_name();
    if (&deepest(app) != &app) full_name += " " + deepest(app).get_name();
    return report(full_name, explain(app, error) + "\n" + full_name + " --help shows what there is", ErrorKind::usage);
  }
  const Impl& chosen = impl_->chosen();
  return guarded(app.get_name(), chosen.action ? chosen.action : action);
}

Config load_config(const CommonOptions& options) {
  return options.config ? Config::load(*options.config, options.sets) : Config::defaults(options.sets);
}

bool show_config(const CommonOptions& options, const Config& config) {
  if (options.help_config) {
    std::cout << config.help();
    return true;
  }
  config.finish();
  if (options.print_config) std::cout << config.resolved_yaml();
  return options.print_config;
}

}  // namespace kc

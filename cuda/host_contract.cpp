#include "cuda/host_contract.h"

#include <fmt/format.h>

namespace kc {
namespace {

constexpr std::string_view kOnce = "#pragma once\n";  // of a header; here it stands in the file itself

}  // namespace

std::string host_prelude(const TaskPack& pack, const CudaContract& contract, const Parameters& parameters,
                         const std::string& file) {
  std::string text(host_table_text());
  text.erase(text.find(kOnce), kOnce.size());
  text += "struct Case {";
  for (const std::string& name : pack.size_names) text += fmt::format(" long long {};", name);
  text += " };\n";
  // Pointers are the device's.
  text += fmt::format("extern \"C\" {};\n", kHostPrototype);
  for (const auto& [name, value] : parameters) text += fmt::format("#define {} {}\n", name, value);
  return text + fmt::format("#line {} \"{}\"\n", contract.host_line + 1, file);
}

CompileJob host_job(const TaskPack& pack, const CudaContract& contract, const Parameters& parameters,
                    const std::string& file, const std::filesystem::path& folder) {
  return {host_prelude(pack, contract, parameters, file) + contract.host_source, kHostFunction, {"-O2"}, folder};
}

}  // namespace kc

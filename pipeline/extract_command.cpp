#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/source_text.h"
#include "base/table.h"
#include "cuda/extract.h"
#include "pipeline/measure_commands.h"
#include "pipeline/measure_setup.h"

namespace kc {
namespace {

struct ExtractedFile {
  std::filesystem::path path;
  Expected<ExtractedDevice, std::string> device;
};

// FOLDER/NAME.cu, when there is a folder to write to.
std::filesystem::path target_of(const ExtractedFile& file, const std::string& folder) {
  return folder.empty() ? std::filesystem::path() : folder / file.path.stem().concat(".cu");
}

// Two sources of one name would overwrite each other.
void require_different_targets(const std::vector<ExtractedFile>& files, const std::string& folder) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (target_of(files[i], folder) != target_of(files[j], folder)) continue;
      throw Error(ErrorKind::usage,
                  fmt::format("{} and {} would both become {}: extract them into different folders",
                              files[j].path.string(), files[i].path.string(), target_of(files[i], folder).string()));
    }
  }
}

// A draft is edited by hand from then on, and --out may be the folder of the sources.
void require_new_targets(const std::vector<ExtractedFile>& files, const std::string& folder) {
  for (const ExtractedFile& file : files) {
    if (!file.device) continue;
    const std::filesystem::path target = target_of(file, folder);
    std::error_code ignored;
    if (!std::filesystem::exists(std::filesystem::symlink_status(target, ignored))) continue;
    throw Error(ErrorKind::usage, fmt::format("--out {}: {} is there already: name another folder, or remove the file",
                                              folder, target.string()));
  }
}

nlohmann::json to_json(const ExtractedFile& file, const std::string& folder) {
  if (!file.device) return {{"file", file.path.string()}, {"refused", file.device.error()}};
  const ExtractedDevice& device = *file.device;
  nlohmann::json launches = nlohmann::json::array();
  for (const ForeignLaunch& launch : device.launches) {
    launches.push_back({{"kernel", launch.kernel},
                        {"grid", launch.grid},
                        {"block", launch.block},
                        {"shared", launch.shared},
                        {"arguments", launch.arguments}});
  }
  nlohmann::json value = {{"file", file.path.string()},
                          {"kernels", device.kernels},
                          {"instances", device.instances},
                          {"launches", launches},
                          {"candidate", draft_candidate(device)}};
  if (!folder.empty()) value["written"] = target_of(file, folder).string();
  return value;
}

std::string table_of(const std::vector<ExtractedFile>& files, const std::string& folder) {
  Table table({"file", "kernels", "launches", "result"});
  for (const ExtractedFile& file : files) {
    if (file.device) {
      table.add_row({file.path.string(), fmt::format("{}", fmt::join(file.device->kernels, ", ")),
                     std::to_string(file.device->launches.size()), target_of(file, folder).string()});
    } else {
      table.add_row({file.path.string(), "", "", "refused: " + file.device.error()});
    }
  }
  return table.render();
}

// CUDA text whatever happens: refusals are comments.
std::string sources_of(const std::vector<ExtractedFile>& files) {
  std::string text;
  for (const ExtractedFile& file : files) {
    text += fmt::format("// {}{}\n", file.path.string(), file.device ? "" : ": refused: " + file.device.error());
    if (file.device) text += draft_candidate(*file.device);
  }
  return text;
}

}  // namespace

int extract_command(const CommonOptions& common, const MeasureArguments& arguments) {
  std::vector<ExtractedFile> files;
  for (const std::string& path : arguments.files) files.push_back({path, extract_device_code(read_source_text(path))});
  if (files.empty()) throw Error(ErrorKind::usage, "give the files to extract device code from (.cu or .py)");
  if (!arguments.out.empty()) {
    require_different_targets(files, arguments.out);
    require_new_targets(files, arguments.out);
  }
  bool all = true;
  nlohmann::json list = nlohmann::json::array();
  for (const ExtractedFile& file : files) {
    all = all && file.device;
    if (file.device && !arguments.out.empty()) {
      write_file_atomically(target_of(file, arguments.out), draft_candidate(*file.device));
    }
    list.push_back(to_json(file, arguments.out));
  }
  if (common.json) {
    print_json(list);
  } else {
    std::cout << (arguments.out.empty() ? sources_of(files) : table_of(files, arguments.out));
  }
  return all ? 0 : exit_code(ErrorKind::check_failed);
}

}  // namespace kc

#pragma once
// The weight files of a model folder: which layout it is, which tensors stand where, what does not fit.
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weights/gpt_oss_config.h"
#include "weights/safetensors.h"

namespace kc {

enum class CheckpointLayout {
  hugging_face,  // config.json with model_type; model.safetensors, or shards that model.safetensors.index.json names
  original,      // OpenAI's: config.json of its own; every *.safetensors of the folder
};

// config.json alone, of either layout.
GptOssConfig load_checkpoint_config(const std::filesystem::path& folder);

// Whether config.json is there and a model's, of any kind (model_type) or in the original layout. Somebody else's, or
// one that cannot be read, is not.
bool has_model_config(const std::filesystem::path& folder);

// A run folder's checkpoints (best, latest, warm_start) that hold `file`, config.json of a model or
// adapter_config.json; empty: none does, or it is no run folder. For the message to whoever names the run instead of
// one of them.
std::vector<std::string> checkpoints_of_run(const std::filesystem::path& run, const char* file);

struct StoredTensor {
  const SafetensorsFile* file = nullptr;
  const TensorEntry* entry = nullptr;
};

// Where the values of one tensor of tensor_table come from.
struct TensorSource {
  StoredTensor values;
  StoredTensor scales = {};  // set: values are MXFP4 blocks to be decoded and turned to [in, out]
  std::int64_t first_row = 0;
};

class CheckpointFiles {
 public:
  // Reads config.json and every header, no tensor. Error{bad_data} with the first problem (and how many more there are)
  // when something does not fit: see problems(). `tolerant`: keeps them instead, and throws only when config.json
  // cannot be read.
  explicit CheckpointFiles(const std::filesystem::path& folder, bool tolerant = false);

  // As stored: dtype and experts are those of the files. Where config.json states no dtype, the tensors' own.
  const GptOssConfig& config() const { return config_; }
  CheckpointLayout layout() const { return layout_; }
  const std::filesystem::path& folder() const { return folder_; }
  const std::vector<std::unique_ptr<SafetensorsFile>>& files() const { return files_; }
  std::int64_t bytes() const;  // of all tensors
  // What the index gives as that sum (metadata.total_size): nothing without an index or without the key. Only verify
  // looks at it, since no tensor depends on it. Error{bad_data} when it is no whole number or metadata is no object.
  std::optional<std::int64_t> stated_bytes() const;
  const std::filesystem::path& index() const { return index_; }  // empty when there is none

  // Damaged or absent files; tensors that are missing, unexpected, in two files, in another file than the index says,
  // or of another dtype or shape than the configuration's. Each names file and tensor.
  const std::vector<std::string>& problems() const { return problems_; }

  // Null file when there is no such tensor.
  StoredTensor find(const std::string& stored_name) const;

  // The source of `wanted`, a tensor of tensor_table(config) for `config` = config() with other dtype or experts.
  // Error{bad_data} when the folder cannot give it: experts as MXFP4 from a folder that holds them expanded.
  TensorSource source(const TensorHeader& wanted) const;

 private:
  void open_listed_files();
  void open_all_files();
  void open(const std::filesystem::path& file);
  void collect();
  void settle_dtype();
  void check_table();
  void complain(const std::filesystem::path& file, const std::string& problem);

  std::filesystem::path folder_, index_;
  GptOssConfig config_;
  CheckpointLayout layout_ = CheckpointLayout::hugging_face;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, StoredTensor> stored_;
  std::map<std::string, std::string> listed_;  // by the index: tensor to file
  std::vector<std::string> problems_;
};

}  // namespace kc

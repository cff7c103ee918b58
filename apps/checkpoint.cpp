// checkpoint: look at, check and rewrite model folders. Each subcommand is registered by the folder that does its work.
#include "base/command_line.h"
#ifdef KC_WITH_TORCH
#include "model/checkpoint_logits.h"
#include "model/merge.h"
#endif
#include "weights/checkpoint_commands.h"

namespace {

constexpr const char* kExamples =
    "  checkpoint inspect --model gpt-oss-20b                              how many parameters, where\n"
    "  checkpoint verify --model gpt-oss-20b                               is every byte sound?\n"
    "  checkpoint convert --model gpt-oss-20b --out bf16 --experts bf16    expand MXFP4 experts\n"
    "  checkpoint merge --model gpt-oss-20b --adapter runs/a/best --out tuned  fold an adapter into its base";

}  // namespace

int main(int argc, char** argv) {
  kc::CommandLine line("checkpoint", "Inspect, verify and convert model folders", kExamples, false);
  kc::add_inspect_command(line);
  kc::add_verify_command(line);
  kc::add_convert_command(line);
#ifdef KC_WITH_TORCH
  kc::add_logits_command(line);
  kc::add_merge_command(line);
#endif
  return line.run(argc, argv);
}

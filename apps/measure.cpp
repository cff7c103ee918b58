// measure: compile, check and time candidate kernels; store the labels; serve a device to other machines.
#include "base/command_line.h"
#include "pipeline/measure_commands.h"

namespace {

constexpr const char* kExamples =
    "  measure label --tasks tasks --device host --out labels.h5\n"
    "  measure label --tasks tasks/softmax --out softmax.h5 --limit 50 --set measure.time_budget_s=0.5\n"
    "  measure compare --task matmul a.cpp b.cpp             which is faster, and is the difference real?\n"
    "  measure check --tasks tasks/softmax                   is this task pack sound?\n"
    "  measure check --device cuda --tasks tasks/softmax     and its device code? needs no GPU\n"
    "  measure extract extension.cu module.py --out drafts   device code out of PyTorch extensions and KernelBench "
    "modules\n"
    "  measure doctor                                        what does this machine offer, and what is missing?\n"
    "  measure serve --token-file token                      this machine's device for others\n"
    "  measure label --device http://127.0.0.1:8377 --token-file token --out labels.h5";

using Command = int (*)(const kc::CommonOptions&, const kc::MeasureArguments&);

kc::CommandLine& add(kc::CommandLine& line, const char* name, const char* summary, Command command,
                     const kc::MeasureArguments& arguments, bool with_config = true) {
  // The action needs its own subcommand's common options, which exist once it is made.
  auto* own = new kc::CommandLine*;  // lives as long as the program
  *own = &line.subcommand(name, summary, kExamples, with_config,
                          [own, command, &arguments] { return command((*own)->common(), arguments); });
  return **own;
}

void add_device(kc::CommandLine& line, kc::MeasureArguments& arguments) {
  line.option("--device", arguments.device, kc::kDeviceHelp)
      .option("--token-file", arguments.token_file, "of remote devices; default: the environment's KERNELCAST_TOKEN")
      .option("--tasks", arguments.tasks, "a task pack or a folder of them");
}

}  // namespace

int main(int argc, char** argv) {
  kc::CommandLine line("measure", "Compile, check and time candidate kernels", kExamples, false);
  kc::MeasureArguments arguments;
  kc::CommandLine& label =
      add(line, "label", "Measure every candidate of the tasks and store the labels", kc::label_command, arguments);
  add_device(label, arguments);
  label.option("--out", arguments.out, "labels (HDF5); continued when it exists")
      .option("--reuse", arguments.reuse, "another store whose labels of the same device and build are taken over")
      .option("--limit", arguments.limit,
              "at most so many candidates of each task, its seed among them, the others drawn by --seed; 0: all")
      .option("--seed", arguments.seed, "seed of that draw")
      .option("--max-candidates", arguments.candidates, "stop after so many; 0: no limit")
      .option("--max-seconds", arguments.seconds, "stop after so many seconds of measuring; 0: no limit")
      .option("--confirm", arguments.confirm, "measure so many of each task's fastest once more: the best is lucky")
      .flag("--again", arguments.again, "measure also what is stored already");
  kc::CommandLine& compare = add(line, "compare", "Which of two kernels is faster, and is the difference real?",
                                 kc::compare_command, arguments);
  add_device(compare, arguments);
  compare.option("files", arguments.files, "two kernels of the task: files, or names as label prints them", true)
      .option("--task", arguments.task, "name of the task pack", true);
  add(line, "check", "Admit task packs: reference, seed and tolerance are sound", kc::check_command, arguments)
      .option("--device", arguments.device, "host, or cuda: device code, as far as that needs no GPU")
      .option("--tasks", arguments.tasks, "a task pack or a folder of them");
  add(line, "extract", "Take device code out of PyTorch extensions and KernelBench modules", kc::extract_command,
      arguments, false)
      .option("files", arguments.files, "sources with CUDA kernels (.cu, .py)", true)
      .option("--out", arguments.out, "folder for a draft of a candidate each; without: print them");
  add(line, "doctor", "What this machine offers to measurements, and what is missing", kc::doctor_command, arguments)
      .option("--device", arguments.device, "host or cuda[:N]");
  kc::CommandLine& serve = add(line, "serve", "Measure for clients on other machines", kc::serve_command, arguments);
  serve.option("--device", arguments.device, "host, cuda[:N], replay:FILE.h5[#DEVICE], or several alike, by commas")
      .option("--tasks", arguments.tasks, "a task pack or a folder of them")
      .option("--token-file", arguments.token_file, "the secret that clients must send; made when it is not there")
      .option("--address", arguments.address, "of this machine to listen on")
      .option("--port", arguments.port, "to listen on; 0: any free one");
  return line.run(argc, argv);
}

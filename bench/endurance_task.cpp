#include "bench/endurance_task.h"

#include <iterator>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/hash.h"

namespace kc {
namespace {

constexpr const char* kYaml = R"(name: endurance
title: y = 2 x + 1
sizes: [N]
cases: [{{name: only, sizes: {{N: 4096}}}}]
inputs: [{{name: x, dtype: f32, shape: "N", generator: {{kind: normal}}}}]
outputs: [{{name: y, dtype: f32, shape: "N"}}]
tolerance: {{relative: 1.0e-6, absolute: 1.0e-6, reason: two roundings}}
reference: reference.cpp
seed: {{source: honest.cpp, set: {{INSTANCE: 0}}}}
candidates: [{{source: honest.cpp, tunables: {{INSTANCE: [{}]}}}}]
compiler: {{flags: [-O2]}}
work: "N"
)";

constexpr const char* kReference = R"(void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  for (long long i = 0; i < c->N; ++i) ((double*)outputs[0])[i] = 2.0 * ((const float*)inputs[0])[i] + 1.0;
}
)";

constexpr const char* kHonest = R"(static const int kInstance = INSTANCE;
void run(const Case* c, const void* const* inputs, void* const* outputs) {
  for (long long i = 0; i < c->N; ++i) ((float*)outputs[0])[i] = 2.0f * ((const float*)inputs[0])[i] + 1.0f;
  if (kInstance < 0) ((float*)outputs[0])[0] = 0;
}
)";

// Before `run`, and its body.
constexpr const char* kHostile[][2] = {
    {"", "for (volatile int forever = 1; forever;) {}"},
    {"", "*(volatile int*)16 = 1;"},
    {"#include <stdlib.h>\n", "exit(0);"},
    {"#include <unistd.h>\n", "while (fork() >= 0) {}"},
    {"#include <pthread.h>\nstatic void* spin(void*) { for (volatile int f = 1; f;) {} return 0; }\n",
     "pthread_t t; for (int i = 0; i < 100; ++i) pthread_create(&t, 0, spin, 0);"},
    {"#include <stdlib.h>\n#include <string.h>\n", "for (;;) memset(malloc(1 << 26), 1, 1 << 26);"},
    {"#include <fcntl.h>\n#include <unistd.h>\n",
     "int f = open(\"left-behind\", O_CREAT | O_WRONLY, 0600); for (;;) write(f, c, 8);"},
    {"#include <sys/socket.h>\n", "socket(AF_INET, SOCK_STREAM, 0);"},
    {"#include <stdio.h>\n", "for (;;) puts(\"a line of a flood\");"},
    {"struct Early { Early() { for (volatile int f = 1; f;) {} } } early;\n", ""},
    {"#include <stdlib.h>\nstruct Late { ~Late() { for (volatile int f = 1; f;) {} } } late;\n", "exit(0);"},
    {"template <int K> struct S { typedef typename S<K + 1>::type type; }; typedef S<0>::type bomb;\n", ""},
    {"#include \"/etc/shadow\"\n", ""},
    {"int broken = ;\n", ""},
    {"", "((float*)outputs[0])[-1] = 1;"},
    {"", ""},
};

}  // namespace

TaskPack make_endurance_task(const std::filesystem::path& folder, std::size_t instances) {
  std::string values;
  for (std::size_t i = 0; i < instances; ++i) values += fmt::format("{}{}", i == 0 ? "" : ", ", i);
  const std::filesystem::path pack = folder / "endurance";
  write_file_atomically(pack / "task.yaml", fmt::format(fmt::runtime(kYaml), values));
  write_file_atomically(pack / "reference.cpp", kReference);
  write_file_atomically(pack / "honest.cpp", kHonest);
  return load_task_pack(pack);
}

std::size_t hostile_kinds() { return std::size(kHostile); }

Candidate hostile_candidate(std::size_t index) {
  const auto& [before, body] = kHostile[index % hostile_kinds()];
  std::string source = fmt::format(
      "// hostile {}\n{}void run(const Case* c, const void* const* inputs, "
      "void* const* outputs) {{\n  (void)c; (void)inputs; (void)outputs;\n  {}\n}}\n",
      index, before, body);
  Candidate candidate;
  candidate.name = fmt::format("hostile-{}.cpp", index);
  candidate.kernel = {"cpp", sha256_hex(source), std::move(source), {}};
  return candidate;
}

}  // namespace kc

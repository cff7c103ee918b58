// `measure serve` and a client as programs: on the loopback address, and between two network namespaces.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/atomic_file.h"
#include "dataset/label_store.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kMeasure = std::string(KC_BIN_DIR) + "/measure";
const std::string kTasks = std::string(KC_SOURCE_DIR) + "/tasks/softmax";

bool shell(const std::string& command) { return std::system((command + " > /dev/null 2>&1").c_str()) == 0; }

// Runs in the background until it goes.
class Background {
 public:
  Background(const std::string& command, const std::filesystem::path& out) {
    pid_ = ::fork();
    if (pid_ != 0) return;
    ::setpgid(0, 0);
    ::execl("/bin/sh", "sh", "-c", ("exec " + command + " > '" + out.string() + "' 2>&1").c_str(), nullptr);
    ::_exit(127);
  }
  ~Background() {
    ::kill(-pid_, SIGTERM);
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

 private:
  pid_t pid_ = 0;
};

bool wait_for(const std::filesystem::path& file, const std::string& text) {
  for (int i = 0; i < 600; ++i) {
    if (std::filesystem::exists(file) && read_file(file).find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

std::string serve(const TempFolder& folder, const std::string& more) {
  return "'" + kMeasure + "' serve --device fake --tasks '" + kTasks + "' --token-file '" +
         (folder / "token").string() + "' " + more;
}

TEST(Serving, AClientLabelsWithAnotherProcessesDevice) {
  const TempFolder folder;
  const Background server(serve(folder, "--port 0 --json"), folder / "out");
  ASSERT_TRUE(wait_for(folder / "out", "url")) << read_file(folder / "out");
  const std::string text = read_file(folder / "out");
  const std::size_t begin = text.find("http://"), end = text.find('"', begin);
  const ProgramResult result =
      run_program({"measure",
                   {"label", "--tasks", kTasks, "--device", text.substr(begin, end - begin), "--token-file",
                    (folder / "token").string(), "--out", (folder / "labels.h5").string(), "--limit", "30"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(read_store(folder / "labels.h5").measurements.size(), 30U);
  EXPECT_EQ(read_store(folder / "labels.h5").measurements[0].provenance.device, "fake");
}

TEST(Serving, WhatCannotBeServedIsAnErrorOfUsage) {
  const TempFolder folder;
  const auto fault = [&](const std::string& device, const std::string& address) {
    const ProgramCall call{"measure",
                           {"serve", "--device", device, "--address", address, "--port", "0", "--tasks", kTasks,
                            "--token-file", (folder / "token").string()},
                           60};
    const ProgramResult result = run_program(call);
    EXPECT_EQ(result.exit_code, 2) << device << " at '" << address << "': " << result.err;
    return result.err;
  };
  for (const char* device : {"http://127.0.0.1:8377", "fake,http://127.0.0.1:8377"}) {
    EXPECT_THAT(fault(device, "127.0.0.1"), HasSubstr("that other server's address themselves"));
  }
  EXPECT_THAT(fault("fake", ""), HasSubstr("--address"));
  EXPECT_FALSE(std::filesystem::exists(folder / "token"));
  EXPECT_THAT(run_program({"measure", {"serve", "--help"}}).out, Not(HasSubstr("http://HOST:PORT")));
}

// Two namespaces with a virtual cable between them; taken away at the end.
class TwoNamespaces {
 public:
  TwoNamespaces() {
    const std::string id = std::to_string(::getpid());
    server = "kcs" + id, client = "kcc" + id;
    const std::string a = "kca" + id, b = "kcb" + id;
    made = shell("ip netns add " + server) && shell("ip netns add " + client) &&
           shell("ip link add " + a + " type veth peer name " + b) && shell("ip link set " + a + " netns " + server) &&
           shell("ip link set " + b + " netns " + client) &&
           shell("ip -n " + server + " addr add 10.234.56.1/24 dev " + a) &&
           shell("ip -n " + client + " addr add 10.234.56.2/24 dev " + b) &&
           shell("ip -n " + server + " link set " + a + " up") && shell("ip -n " + client + " link set " + b + " up");
  }
  ~TwoNamespaces() {
    shell("ip netns del " + server);
    shell("ip netns del " + client);
  }
  TwoNamespaces(const TwoNamespaces&) = delete;
  TwoNamespaces& operator=(const TwoNamespaces&) = delete;
  std::string server, client;
  bool made = false;
};

TEST(Serving, WorksBetweenTwoNetworkNamespaces) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make named network namespaces";
  if (!shell("ip -V")) GTEST_SKIP() << "no program `ip` (iproute2) here";
  const TwoNamespaces network;
  if (!network.made) GTEST_SKIP() << "this machine does not let us join two network namespaces";
  const TempFolder folder;
  const Background server(
      "ip netns exec " + network.server + " " + serve(folder, "--address 10.234.56.1 --port 8377 --json"),
      folder / "out");
  ASSERT_TRUE(wait_for(folder / "out", "10.234.56.1:8377")) << read_file(folder / "out");
  EXPECT_THAT(read_file(folder / "out"), HasSubstr("not encrypted"));
  const std::string label = "'" + kMeasure + "' label --tasks '" + kTasks +
                            "' --device http://10.234.56.1:8377 --token-file '" + (folder / "token").string() +
                            "' --limit 20 --out '" + (folder / "labels.h5").string() + "'";
  EXPECT_TRUE(shell("ip netns exec " + network.client + " " + label));
  EXPECT_EQ(read_store(folder / "labels.h5").measurements.size(), 20U);
  EXPECT_FALSE(shell("timeout 10 " + label)) << "the server is not to be reached from outside its network";
}

}  // namespace
}  // namespace kc::test

#include "cuda/cubin.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

namespace kc {
namespace {

// EIATTR codes of .nv.info, as `cuobjdump -elf` names them.
constexpr std::uint8_t kFormatSized = 0x04;  // a 16-bit length follows; other formats carry 16 bits in place
constexpr std::uint8_t kMaxThreads = 0x05;
constexpr std::uint8_t kFrameSize = 0x11;
constexpr std::uint8_t kRegisterCount = 0x2f;

template <class T>
std::optional<T> at(std::string_view bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string_view part(std::string_view bytes, std::uint64_t offset, std::uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return {};
  return bytes.substr(offset, size);
}

std::string_view text_at(std::string_view table, std::size_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view rest = table.substr(offset);
  return rest.substr(0, std::min(rest.find('\0'), rest.size()));
}

class Elf {
 public:
  explicit Elf(std::string_view bytes) : bytes_(bytes) {
    const auto header = at<Elf64_Ehdr>(bytes, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_machine != EM_CUDA) {
      return;
    }
    for (std::size_t i = 0; i < header->e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(bytes, header->e_shoff + i * sizeof(Elf64_Shdr));
      if (!section) return;
      sections_.push_back(*section);
    }
    if (header->e_shstrndx >= sections_.size()) return;
    names_ = contents(sections_[header->e_shstrndx]);
    ok_ = true;
  }

  bool ok() const { return ok_; }
  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  std::string_view name(const Elf64_Shdr& section) const { return text_at(names_, section.sh_name); }
  std::string_view contents(const Elf64_Shdr& section) const {
    return section.sh_type == SHT_NOBITS ? std::string_view{} : part(bytes_, section.sh_offset, section.sh_size);
  }

  struct Symbol {
    std::string name;
    Elf64_Sym entry;
    std::string section;
  };
  std::vector<Symbol> symbols() const {
    std::vector<Symbol> symbols;
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections_.size()) continue;
      const std::string_view table = contents(section);
      const std::string_view strings = contents(sections_[section.sh_link]);
      for (std::size_t offset = 0; auto entry = at<Elf64_Sym>(table, offset); offset += sizeof(Elf64_Sym)) {
        std::string owner;
        if (entry->st_shndx != SHN_UNDEF && entry->st_shndx < sections_.size()) {
          owner = name(sections_[entry->st_shndx]);
        }
        symbols.push_back({std::string(text_at(strings, entry->st_name)), *entry, std::move(owner)});
      }
    }
    return symbols;
  }

 private:
  std::string_view bytes_;
  std::vector<Elf64_Shdr> sections_;
  std::string_view names_;
  bool ok_ = false;
};

KernelFacts* find_kernel(CubinFacts& facts, std::string_view name) {
  const auto found = std::find_if(facts.kernels.begin(), facts.kernels.end(),
                                  [&](const KernelFacts& kernel) { return kernel.name == name; });
  return found == facts.kernels.end() ? nullptr : &*found;
}

// Calls visit(code, payload) for every attribute of a .nv.info section.
template <class F>
void for_each_attribute(std::string_view info, const F& visit) {
  for (std::size_t offset = 0; offset + 4 <= info.size();) {
    const auto format = static_cast<std::uint8_t>(info[offset]);
    const auto code = static_cast<std::uint8_t>(info[offset + 1]);
    const std::size_t length = format == kFormatSized ? *at<std::uint16_t>(info, offset + 2) : 0;
    visit(code, part(info, offset + 4, length));
    offset += 4 + length;
  }
}

void read_shared_attributes(const Elf& elf, std::string_view info, const std::vector<Elf::Symbol>& symbols,
                            CubinFacts& facts) {
  static_cast<void>(elf);
  for_each_attribute(info, [&](std::uint8_t code, std::string_view payload) {
    const auto index = at<std::uint32_t>(payload, 0);
    const auto value = at<std::uint32_t>(payload, 4);
    if (!index || !value || *index >= symbols.size()) return;
    KernelFacts* kernel = find_kernel(facts, symbols[*index].name);
    if (kernel == nullptr) return;
    if (code == kRegisterCount) kernel->registers = static_cast<int>(*value);
    if (code == kFrameSize) kernel->stack_bytes = *value;
  });
}

void read_own_attributes(std::string_view info, KernelFacts& kernel) {
  for_each_attribute(info, [&](std::uint8_t code, std::string_view payload) {
    if (code != kMaxThreads) return;
    const auto x = at<std::uint32_t>(payload, 0);
    const auto y = at<std::uint32_t>(payload, 4);
    const auto z = at<std::uint32_t>(payload, 8);
    if (x && y && z) kernel.max_threads = static_cast<int>(*x * *y * *z);
  });
}

void read_elf(const Elf& elf, CubinFacts& facts) {
  const std::vector<Elf::Symbol> symbols = elf.symbols();
  constexpr unsigned char kEntry = 0x10;  // of st_other: a kernel, not a device function
  for (const Elf::Symbol& symbol : symbols) {
    const unsigned char type = ELF64_ST_TYPE(symbol.entry.st_info);
    if (type == STT_FUNC && symbol.section == ".text." + symbol.name && (symbol.entry.st_other & kEntry) != 0) {
      facts.kernels.push_back({.name = symbol.name});
    } else if (type == STT_OBJECT && symbol.section == ".nv.global") {
      facts.writable_symbols.push_back(symbol.name);
    } else if (symbol.entry.st_shndx == SHN_UNDEF && type == STT_FUNC && !symbol.name.empty()) {
      facts.undefined.push_back(symbol.name);
    }
  }
  for (const Elf64_Shdr& section : elf.sections()) {
    const std::string_view name = elf.name(section);
    constexpr std::string_view kInfo = ".nv.info.";
    if (name == ".nv.info") read_shared_attributes(elf, elf.contents(section), symbols, facts);
    if (name == ".nv.global.init") facts.initialised_bytes = section.sh_size;
    if (!name.starts_with(kInfo)) continue;
    if (KernelFacts* kernel = find_kernel(facts, name.substr(kInfo.size()))) {
      read_own_attributes(elf.contents(section), *kernel);
    }
  }
}

// The number before `word` in a line like "Used 32 registers, 256 bytes smem".
std::optional<std::size_t> number_before(std::string_view line, std::string_view word) {
  const std::size_t end = line.find(word);
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  std::size_t start = end;
  while (start > 0 && line[start - 1] >= '0' && line[start - 1] <= '9') --start;
  std::size_t number = 0;
  if (std::from_chars(line.data() + start, line.data() + end, number).ec != std::errc{}) return std::nullopt;
  return number;
}

void read_report(std::string_view report, CubinFacts& facts) {
  KernelFacts* kernel = nullptr;
  while (!report.empty()) {
    const std::string_view line = report.substr(0, report.find('\n'));
    report.remove_prefix(std::min(report.size(), line.size() + 1));
    constexpr std::string_view kCompiling = "Compiling entry function '";
    if (const std::size_t start = line.find(kCompiling); start != std::string_view::npos) {
      const std::string_view rest = line.substr(start + kCompiling.size());
      kernel = find_kernel(facts, rest.substr(0, rest.find('\'')));
    }
    if (kernel == nullptr) continue;
    if (const auto bytes = number_before(line, " bytes stack frame")) kernel->stack_bytes = *bytes;
    if (const auto bytes = number_before(line, " bytes spill stores")) kernel->spill_store_bytes = *bytes;
    if (const auto bytes = number_before(line, " bytes spill loads")) kernel->spill_load_bytes = *bytes;
    if (const auto count = number_before(line, " registers")) kernel->registers = static_cast<int>(*count);
    if (const auto bytes = number_before(line, " bytes smem")) kernel->static_shared_bytes = *bytes;
  }
}

}  // namespace

CubinReading read_cubin(std::string_view cubin, std::string_view report) {
  CubinReading reading;
  const Elf elf(cubin);
  if (!elf.ok()) return reading;
  reading.ok = true;
  read_elf(elf, reading.facts);
  read_report(report, reading.facts);
  return reading;
}

SplitLog split_log(std::string_view log) {
  SplitLog split;
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find('\n'));
    log.remove_prefix(std::min(log.size(), line.size() + 1));
    const bool is_report = line.starts_with("ptxas info") || line.starts_with("ptxas         .");
    (is_report ? split.report : split.messages).append(line).append("\n");
  }
  return split;
}

}  // namespace kc

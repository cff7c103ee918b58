#include "dataset/record.h"

#include <bit>
#include <cstring>
#include <type_traits>
#include <unordered_map>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"

namespace kc {
namespace {

static_assert(std::endian::native == std::endian::little, "records are little-endian");

// Version 2 adds facts. A row without facts is still written as version 1, so that its hash stays what it was.
constexpr std::uint64_t kRecordVersion = 2;

class ByteWriter {
 public:
  template <class T>
  void number(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
  }
  void text(std::string_view value) {
    number<std::uint64_t>(value.size());
    bytes_ += value;
  }
  void floats(const std::vector<float>& values) {
    number<std::uint64_t>(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T number() {
    T value;
    next(sizeof(T)).copy(reinterpret_cast<char*>(&value), sizeof(T));
    return value;
  }
  std::string text() { return std::string(next(number<std::uint64_t>())); }
  std::vector<float> floats() {
    const std::string_view raw = next(number<std::uint64_t>(), sizeof(float));
    std::vector<float> values(raw.size() / sizeof(float));
    if (!raw.empty()) std::memcpy(values.data(), raw.data(), raw.size());
    return values;
  }
  // A count of items that each take at least one byte.
  std::uint64_t count() {
    const auto n = number<std::uint64_t>();
    if (n > bytes_.size()) refuse();
    return n;
  }
  void expect_end() const {
    if (!bytes_.empty()) refuse();
  }

 private:
  [[noreturn]] static void refuse() {
    throw Error(ErrorKind::bad_data, "a record is damaged: its lengths do not fit its size");
  }
  std::string_view next(std::uint64_t count, std::uint64_t width = 1) {
    if (count > bytes_.size() / width) refuse();
    const std::string_view part = bytes_.substr(0, count * width);
    bytes_.remove_prefix(part.size());
    return part;
  }
  std::string_view bytes_;
};

void put_kernel(ByteWriter& out, const KernelText& kernel, std::string_view source) {
  out.text(kernel.language);
  out.text(kernel.template_id);
  out.text(source);
  out.number<std::uint64_t>(kernel.parameters.size());
  for (const auto& [name, value] : kernel.parameters) {
    out.text(name);
    out.text(value);
  }
  out.text(kernel.prologue);
}

KernelText get_kernel(ByteReader& in) {
  KernelText kernel;
  kernel.language = in.text();
  kernel.template_id = in.text();
  kernel.source = in.text();
  for (auto n = in.count(); n > 0; --n) {
    std::string name = in.text();
    kernel.parameters.emplace_back(std::move(name), in.text());
  }
  kernel.prologue = in.text();
  return kernel;
}

void put_provenance(ByteWriter& out, const Provenance& provenance) {
  visit_fields(provenance, [&](const char*, const auto& field) {
    if constexpr (std::is_same_v<decltype(field), const std::string&>) {
      out.text(field);
    } else {
      out.number(field);
    }
  });
}

Provenance get_provenance(ByteReader& in) {
  Provenance provenance;
  visit_fields(provenance, [&](const char*, auto& field) {
    if constexpr (std::is_same_v<decltype(field), std::string&>) {
      field = in.text();
    } else {
      field = in.number<double>();
    }
  });
  return provenance;
}

void put_facts(ByteWriter& out, const Facts& facts) {
  out.number<std::uint64_t>(facts.size());
  for (const auto& [name, value] : facts) {
    out.text(name);
    out.number(value);
  }
}

Facts get_facts(ByteReader& in) {
  Facts facts;
  for (auto n = in.count(); n > 0; --n) {
    std::string name = in.text();
    facts[std::move(name)] = in.number<double>();
  }
  return facts;
}

std::string encode_with(const Measurement& m, std::string_view source) {
  ByteWriter out;
  out.number<std::uint64_t>(m.facts.empty() ? 1 : kRecordVersion);
  out.text(m.task);
  put_kernel(out, m.kernel, source);
  out.text(m.kernel_name);
  out.text(name_of(m.status));
  out.text(m.log);
  out.number<std::uint64_t>(m.cases.size());
  for (const CaseTiming& timing : m.cases) {
    out.text(timing.name);
    out.number(timing.work);
    out.floats(timing.candidate_ns);
    out.floats(timing.reference_ns);
  }
  put_provenance(out, m.provenance);
  out.number<std::uint8_t>(m.is_seed);
  if (!m.facts.empty()) put_facts(out, m.facts);
  return out.take();
}

std::string encode_with(const RatioRow& row, std::string_view source) {
  ByteWriter out;
  out.text(row.task);
  out.text(row.device);
  put_kernel(out, row.kernel, source);
  put_kernel(out, row.reference, sha256_hex(row.reference.source));
  out.text(row.baseline);
  out.number(row.value);
  out.number(row.n);
  out.text(row.source);
  return out.take();
}

}  // namespace

std::string encode(const Measurement& measurement) { return encode_with(measurement, measurement.kernel.source); }

Measurement decode(std::string_view bytes) {
  ByteReader in(bytes);
  const auto version = in.number<std::uint64_t>();
  if (version < 1 || version > kRecordVersion) {
    throw Error(ErrorKind::bad_data,
                fmt::format("a record has version {}; this program reads 1 to {}", version, kRecordVersion));
  }
  Measurement m;
  m.task = in.text();
  m.kernel = get_kernel(in);
  m.kernel_name = in.text();
  m.status = measurement_status_of(in.text());
  m.log = in.text();
  for (auto n = in.count(); n > 0; --n) {
    CaseTiming timing;
    timing.name = in.text();
    timing.work = in.number<double>();
    timing.candidate_ns = in.floats();
    timing.reference_ns = in.floats();
    m.cases.push_back(std::move(timing));
  }
  m.provenance = get_provenance(in);
  m.is_seed = in.number<std::uint8_t>() != 0;
  if (version >= 2) m.facts = get_facts(in);
  in.expect_end();
  return m;
}

std::vector<std::string> row_hashes(const Store& store) {
  std::unordered_map<std::string_view, std::string> source_hashes;
  const auto source_hash = [&source_hashes](const std::string& source) -> const std::string& {
    const auto [it, added] = source_hashes.try_emplace(source);
    if (added) it->second = sha256_hex(source);
    return it->second;
  };
  std::vector<std::string> hashes;
  hashes.reserve(store.measurements.size() + store.ratios.size());
  for (const Measurement& m : store.measurements) {
    hashes.push_back(sha256_hex(encode_with(m, source_hash(m.kernel.source))));
  }
  for (const RatioRow& row : store.ratios) {
    hashes.push_back(sha256_hex(encode_with(row, source_hash(row.kernel.source))));
  }
  return hashes;
}

std::string content_hash_of(const std::vector<std::string>& row_hashes) {
  std::string joined;
  joined.reserve(64 * row_hashes.size());
  for (const std::string& hash : row_hashes) joined += hash;
  return sha256_hex(joined);
}

void check_storable(const Measurement& measurement) {
  const auto check = [&measurement](const std::string& field, const std::string& value) {
    if (value.find('\0') == std::string::npos) return;
    throw Error(ErrorKind::bad_data, fmt::format("measurement of '{}' (task {}): its {} holds a NUL byte",
                                                 measurement.kernel_name, measurement.task, field));
  };
  check("task", measurement.task);
  check("language", measurement.kernel.language);
  check("template_id", measurement.kernel.template_id);
  for (const CaseTiming& timing : measurement.cases) check("case name", timing.name);
  for (const auto& [name, value] : measurement.facts) check("fact", name);
}

}  // namespace kc

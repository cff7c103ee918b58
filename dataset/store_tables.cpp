#include "dataset/store_tables.h"

#include <initializer_list>
#include <map>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace kc {
namespace {

using nlohmann::json;

std::string parameters_json(const Parameters& parameters) {
  json list = json::array();
  for (const auto& [name, value] : parameters) list.push_back({name, value});
  return list.dump(-1, ' ', false, json::error_handler_t::replace);
}

class TableBuilder {
 public:
  explicit TableBuilder(StoreTables& tables) : t_(tables) {}

  std::uint32_t kernel(const KernelText& kernel) {
    const std::uint32_t source = intern(kernel.source);
    std::string parameters = parameters_json(kernel.parameters);
    const auto key = std::tuple(source, parameters, kernel.language, kernel.template_id, kernel.prologue);
    const auto [it, added] = kernels_.try_emplace(key, static_cast<std::uint32_t>(kernels_.size()));
    if (added) {
      t_.kernels.id.push_back(kernel_id(kernel));
      t_.kernels.language.push_back(kernel.language);
      t_.kernels.template_id.push_back(kernel.template_id);
      t_.kernels.source.push_back(source);
      t_.kernels.parameters.push_back(std::move(parameters));
      t_.kernels.prologue.push_back(kernel.prologue);
    }
    return it->second;
  }

  std::uint32_t run(const Provenance& p) {
    const auto key = std::tuple(p.run_id, p.device, p.processor, p.compiler, p.compiler_flags, p.harness_version,
                                p.started_at, p.source, p.noise_floor);
    const auto [it, added] = runs_.try_emplace(key, static_cast<std::uint32_t>(runs_.size()));
    if (added) {
      RunTable& r = t_.runs;
      r.run_id.push_back(p.run_id);
      r.device.push_back(p.device);
      r.processor.push_back(p.processor);
      r.compiler.push_back(p.compiler);
      r.compiler_flags.push_back(p.compiler_flags);
      r.harness_version.push_back(p.harness_version);
      r.started_at.push_back(p.started_at);
      r.source.push_back(p.source);
      r.noise_floor.push_back(p.noise_floor);
    }
    return it->second;
  }

  void add(const Measurement& m) {
    MeasurementTable& rows = t_.measurements;
    rows.task.push_back(m.task);
    rows.status.emplace_back(name_of(m.status));
    rows.kernel_name.push_back(m.kernel_name);
    rows.log.push_back(m.log);
    rows.kernel.push_back(kernel(m.kernel));
    rows.run.push_back(run(m.provenance));
    rows.is_seed.push_back(m.is_seed ? 1 : 0);
    for (const CaseTiming& timing : m.cases) add(timing);
    rows.case_offsets.push_back(t_.cases.name.size());
    for (const auto& [name, value] : m.facts) {
      t_.facts.name.push_back(name);
      t_.facts.value.push_back(value);
    }
    rows.fact_offsets.push_back(t_.facts.name.size());
  }

  void add(const RatioRow& row) {
    RatioTable& rows = t_.ratios;
    rows.task.push_back(row.task);
    rows.device.push_back(row.device);
    rows.baseline.push_back(row.baseline);
    rows.source.push_back(row.source);
    rows.kernel.push_back(kernel(row.kernel));
    rows.reference.push_back(row.reference.source.empty() ? -1 : std::int64_t{kernel(row.reference)});
    rows.value.push_back(row.value);
    rows.n.push_back(row.n);
  }

 private:
  void add(const CaseTiming& timing) {
    CaseTable& c = t_.cases;
    c.name.push_back(timing.name);
    c.work.push_back(timing.work);
    c.candidate_ns.insert(c.candidate_ns.end(), timing.candidate_ns.begin(), timing.candidate_ns.end());
    c.reference_ns.insert(c.reference_ns.end(), timing.reference_ns.begin(), timing.reference_ns.end());
    c.candidate_offsets.push_back(c.candidate_ns.size());
    c.reference_offsets.push_back(c.reference_ns.size());
  }

  std::uint32_t intern(const std::string& source) {
    const auto [it, added] = sources_.try_emplace(source, static_cast<std::uint32_t>(sources_.size()));
    if (added) t_.sources.push_back(source);
    return it->second;
  }

  using KernelKey = std::tuple<std::uint32_t, std::string, std::string, std::string, std::string>;
  using RunKey = std::tuple<std::string, std::string, std::string, std::string, std::string, std::string, std::string,
                            std::string, double>;
  StoreTables& t_;
  std::unordered_map<std::string_view, std::uint32_t> sources_;  // views into the store that is being built from
  std::map<KernelKey, std::uint32_t> kernels_;
  std::map<RunKey, std::uint32_t> runs_;
};

class TableReader {
 public:
  TableReader(const StoreTables& tables, const std::filesystem::path& file) : t_(tables), file_(file) {}

  Store read() {
    check_lengths();
    Store store;
    store.content_hash = t_.content_hash;
    store.measurements.reserve(t_.measurements.task.size());
    for (std::size_t i = 0; i < t_.measurements.task.size(); ++i) store.measurements.push_back(measurement(i));
    store.ratios.reserve(t_.ratios.task.size());
    for (std::size_t i = 0; i < t_.ratios.task.size(); ++i) store.ratios.push_back(ratio(i));
    return store;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::bad_data, fmt::format("cannot read {}: {}; the file is damaged", file_.string(), what));
  }

  void same(const char* table, std::size_t rows, std::initializer_list<std::size_t> sizes) const {
    for (const std::size_t size : sizes) {
      if (size != rows) fail(fmt::format("table {} has columns of {} and {} rows", table, rows, size));
    }
  }

  void check_lengths() const {
    const KernelTable& k = t_.kernels;
    same("kernels", k.id.size(),
         {k.language.size(), k.template_id.size(), k.source.size(), k.parameters.size(), k.prologue.size()});
    const RunTable& r = t_.runs;
    same("runs", r.run_id.size(),
         {r.device.size(), r.processor.size(), r.compiler.size(), r.compiler_flags.size(), r.harness_version.size(),
          r.started_at.size(), r.source.size(), r.noise_floor.size()});
    const MeasurementTable& m = t_.measurements;
    same("measurements", m.task.size(),
         {m.status.size(), m.kernel_name.size(), m.log.size(), m.kernel.size(), m.run.size(), m.is_seed.size(),
          m.case_offsets.size() - 1, m.fact_offsets.size() - 1});
    same("facts", t_.facts.name.size(), {t_.facts.value.size()});
    const CaseTable& c = t_.cases;
    same("cases", c.name.size(), {c.work.size(), c.candidate_offsets.size() - 1, c.reference_offsets.size() - 1});
    const RatioTable& q = t_.ratios;
    same("ratios", q.task.size(),
         {q.device.size(), q.baseline.size(), q.source.size(), q.kernel.size(), q.reference.size(), q.value.size(),
          q.n.size()});
  }

  Parameters parameters(std::size_t kernel) const {
    try {
      return json::parse(t_.kernels.parameters[kernel]).get<Parameters>();
    } catch (const json::exception&) {
      fail(fmt::format("the parameters of kernel {} are no list of pairs", kernel));
    }
  }

  KernelText kernel(std::size_t i) const {
    const KernelTable& k = t_.kernels;
    if (i >= k.id.size()) fail(fmt::format("a row refers to kernel {} of {}", i, k.id.size()));
    if (k.source[i] >= t_.sources.size()) fail(fmt::format("kernel {} has no source", i));
    return {k.language[i], k.template_id[i], t_.sources[k.source[i]], parameters(i), k.prologue[i]};
  }

  Provenance provenance(std::size_t i) const {
    const RunTable& r = t_.runs;
    if (i >= r.run_id.size()) fail(fmt::format("a row refers to run {} of {}", i, r.run_id.size()));
    return {r.run_id[i],          r.device[i],     r.processor[i], r.compiler[i],   r.compiler_flags[i],
            r.harness_version[i], r.started_at[i], r.source[i],    r.noise_floor[i]};
  }

  CaseTiming timing(std::size_t i) const {
    const CaseTable& c = t_.cases;
    const auto slice = [i](const std::vector<float>& all, const std::vector<std::uint64_t>& offsets) {
      return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(offsets[i]),
                                all.begin() + static_cast<std::ptrdiff_t>(offsets[i + 1]));
    };
    return {c.name[i], c.work[i], slice(c.candidate_ns, c.candidate_offsets),
            slice(c.reference_ns, c.reference_offsets)};
  }

  Measurement measurement(std::size_t i) const {
    const MeasurementTable& rows = t_.measurements;
    Measurement m;
    m.task = rows.task[i];
    m.kernel = kernel(rows.kernel[i]);
    m.kernel_name = rows.kernel_name[i];
    m.status = measurement_status_of(rows.status[i]);
    m.log = rows.log[i];
    for (std::size_t c = rows.case_offsets[i]; c < rows.case_offsets[i + 1]; ++c) m.cases.push_back(timing(c));
    m.provenance = provenance(rows.run[i]);
    m.is_seed = rows.is_seed[i] != 0;
    for (std::size_t f = rows.fact_offsets[i]; f < rows.fact_offsets[i + 1]; ++f) {
      m.facts[t_.facts.name[f]] = t_.facts.value[f];
    }
    return m;
  }

  RatioRow ratio(std::size_t i) const {
    const RatioTable& rows = t_.ratios;
    RatioRow row;
    row.task = rows.task[i];
    row.device = rows.device[i];
    row.kernel = kernel(rows.kernel[i]);
    if (rows.reference[i] >= 0) row.reference = kernel(static_cast<std::size_t>(rows.reference[i]));
    row.baseline = rows.baseline[i];
    row.value = rows.value[i];
    row.n = rows.n[i];
    row.source = rows.source[i];
    return row;
  }

  const StoreTables& t_;
  const std::filesystem::path& file_;
};

}  // namespace

StoreTables tables_of(const Store& store) {
  StoreTables tables;
  tables.content_hash = store.content_hash;
  TableBuilder builder(tables);
  for (const Measurement& m : store.measurements) builder.add(m);
  for (const RatioRow& row : store.ratios) builder.add(row);
  return tables;
}

Store store_of(const StoreTables& tables, const std::filesystem::path& file) {
  return TableReader(tables, file).read();
}

}  // namespace kc

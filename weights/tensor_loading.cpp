#include "weights/tensor_loading.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "base/error.h"
#include "base/progress.h"
#include "weights/bfloat16.h"
#include "weights/mxfp4.h"

namespace kc {
namespace {

constexpr std::int64_t kTaskBytes = std::int64_t{8} << 20;

std::int64_t row_bytes(const TensorHeader& spec) {
  return spec.shape.empty() || spec.shape[0] == 0 ? spec.bytes() : spec.bytes() / spec.shape[0];
}

// Through memcpy: a foreign file's data need not be aligned.
template <class In, class Out, class F>
void convert_each(std::span<const std::byte> in, std::byte* out, const F& f) {
  for (std::size_t i = 0; i < in.size() / sizeof(In); ++i) {
    In value;
    std::memcpy(&value, in.data() + i * sizeof(In), sizeof(In));
    const Out converted = f(value);
    std::memcpy(out + i * sizeof(Out), &converted, sizeof(Out));
  }
}

void convert(Dtype from, std::span<const std::byte> in, Dtype to, std::byte* out, const std::string& name) {
  if (from == to) {
    std::memcpy(out, in.data(), in.size());
  } else if (from == Dtype::bf16 && to == Dtype::f32) {
    convert_each<std::uint16_t, float>(in, out, float_of_bfloat16);
  } else if (from == Dtype::f32 && to == Dtype::bf16) {
    convert_each<float, std::uint16_t>(in, out, bfloat16_of_float);
  } else {
    throw Error(ErrorKind::bad_data,
                fmt::format("tensor \"{}\": {} cannot be read as {}", name, name_of(from), name_of(to)));
  }
}

void read_plain_rows(const TensorSource& source, const TensorHeader& wanted, std::int64_t from, std::int64_t to,
                     std::byte* out) {
  const TensorHeader& stored = source.values.entry->spec;
  const auto bytes = static_cast<std::size_t>(row_bytes(stored));
  const auto first = static_cast<std::size_t>(source.first_row + from);
  const auto part = source.values.file->data(*source.values.entry)
                        .subspan(first * bytes, static_cast<std::size_t>(to - from) * bytes);
  const MappedFile& mapped = source.values.file->mapped();
  mapped.fetch(part);
  convert(stored.dtype, part, wanted.dtype, out, wanted.name);
  mapped.release(part);
}

// wanted [E, in, out] from blocks [E, out, in / 32, 16].
void read_packed_experts(const TensorSource& source, const TensorHeader& wanted, std::int64_t from, std::int64_t to,
                         std::byte* out) {
  const auto blocks = source.values.file->data(*source.values.entry);
  const auto scales = source.scales.file->data(*source.scales.entry);
  const std::int64_t columns = wanted.shape[1], rows = wanted.shape[2];
  for (std::int64_t e = from; e < to; ++e) {
    const Mxfp4Matrix matrix = mxfp4_expert(reinterpret_cast<const std::uint8_t*>(blocks.data()),
                                            reinterpret_cast<const std::uint8_t*>(scales.data()), e, rows, columns);
    const auto part = std::as_bytes(std::span(matrix.blocks, static_cast<std::size_t>(rows * columns / 2)));
    source.values.file->mapped().fetch(part);
    std::byte* target = out + (e - from) * row_bytes(wanted);
    if (wanted.dtype == Dtype::bf16)
      decode_mxfp4_transposed(matrix, 0, rows, reinterpret_cast<std::uint16_t*>(target), rows);
    else if (wanted.dtype == Dtype::f32)
      decode_mxfp4_transposed(matrix, 0, rows, reinterpret_cast<float*>(target), rows);
    else
      throw Error(ErrorKind::internal, "read_rows: MXFP4 is decoded to float32 or bfloat16");
    source.values.file->mapped().release(part);
  }
}

struct Task {
  const LoadTarget* target;
  const TensorSource* source;
  std::int64_t from, to;
};

}  // namespace

void run_in_parallel(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task) {
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (std::int64_t i = next++; i < count && !failed; i = next++) task(i);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  const std::int64_t wanted = std::min<std::int64_t>(count, threads > 0 ? threads : usable_cores());
  {
    std::vector<std::jthread> team;
    for (std::int64_t i = 1; i < wanted; ++i) team.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

void read_rows(const TensorSource& source, const TensorHeader& wanted, std::int64_t from, std::int64_t to,
               std::byte* out) {
  if (source.scales.file != nullptr) {
    read_packed_experts(source, wanted, from, to, out);
  } else {
    read_plain_rows(source, wanted, from, to, out);
  }
}

std::vector<std::pair<std::int64_t, std::int64_t>> row_ranges(const TensorHeader& spec) {
  const std::int64_t rows = spec.shape.empty() ? 1 : spec.shape[0];
  const std::int64_t step = std::max<std::int64_t>(1, kTaskBytes / std::max<std::int64_t>(1, row_bytes(spec)));
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::int64_t from = 0; from < rows; from += step) ranges.emplace_back(from, std::min(rows, from + step));
  return ranges;
}

void load_tensors(const CheckpointFiles& files, std::span<const LoadTarget> targets, int threads) {
  std::vector<TensorSource> sources;
  sources.reserve(targets.size());
  for (const LoadTarget& target : targets) sources.push_back(files.source(target.wanted));
  std::vector<Task> tasks;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    for (const auto& [from, to] : row_ranges(targets[i].wanted)) tasks.push_back({&targets[i], &sources[i], from, to});
    bytes += targets[i].wanted.bytes();
  }
  // In the order of the disk.
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) {
    const auto place = [](const Task& t) {
      return std::tuple(t.source->values.file->path().native(), t.source->values.entry->from);
    };
    return place(a) < place(b);
  });
  Progress progress("loading " + files.folder().string(), bytes >> 20, "MB");
  std::atomic<std::int64_t> done{0};
  run_in_parallel(static_cast<std::int64_t>(tasks.size()), threads, [&](std::int64_t i) {
    const Task& t = tasks[static_cast<std::size_t>(i)];
    const std::int64_t size = row_bytes(t.target->wanted);
    read_rows(*t.source, t.target->wanted, t.from, t.to, t.target->data + t.from * size);
    const std::int64_t before = done.fetch_add((t.to - t.from) * size);
    progress.advance(((before + (t.to - t.from) * size) >> 20) - (before >> 20));
  });
}

}  // namespace kc

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "eval/report.h"

namespace kc {

namespace {

// Geometry in pixels.
constexpr double kWidth = 520, kHeight = 600;
constexpr double kLeft = 64, kTop = 56, kSide = 420;                // the square of confidence against accuracy
constexpr double kCountTop = kTop + kSide + 16, kCountHeight = 44;  // the strip of counts below it

double x_of(double confidence) { return kLeft + confidence * kSide; }
double y_of(double accuracy) { return kTop + (1 - accuracy) * kSide; }

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '&':
        result += "&amp;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string line(double x1, double y1, double x2, double y2, const char* css) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" class=\"{}\"/>\n", x1, y1, x2, y2,
                     css);
}

std::string rect(double x, double y, double width, double height, const char* css) {
  return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" class=\"{}\"/>\n", x, y, width,
                     height, css);
}

std::string text(double x, double y, const char* css, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\">{}</text>\n", x, y, css, escaped(words));
}

std::string head() {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"Helvetica, Arial, sans-serif\">\n<style>.bar{{fill:#7aa6d8;stroke:#3f6ea5}}"
      ".count{{fill:#c9ced6}}.grid{{stroke:#e4e7ec}}.axis{{stroke:#4a5260}}.diagonal{{stroke:#8a8f98;"
      "stroke-dasharray:5 4}}.interval{{stroke:#1f2a3a;stroke-width:1.5}}.mean{{fill:#c8452f}}"
      ".title{{font-size:15px;font-weight:600;fill:#1f2a3a}}.label{{font-size:12px;fill:#4a5260;text-anchor:middle}}"
      ".tick{{font-size:11px;fill:#4a5260;text-anchor:middle}}.side{{font-size:11px;fill:#4a5260;text-anchor:end}}"
      ".note{{font-size:12px;fill:#4a5260}}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, kHeight);
}

std::string axes() {
  std::string svg;
  for (int tick = 0; tick <= 10; tick += 2) {
    const double value = tick / 10.0;
    svg += line(x_of(0), y_of(value), x_of(1), y_of(value), "grid");
    svg += text(kLeft - 8, y_of(value) + 4, "side", fmt::format("{:.1f}", value));
    svg += text(x_of(value), kCountTop + kCountHeight + 15, "tick", fmt::format("{:.1f}", value));
  }
  svg += line(x_of(0), y_of(0), x_of(1), y_of(0), "axis") + line(x_of(0), y_of(0), x_of(0), y_of(1), "axis");
  svg += line(x_of(0), kCountTop + kCountHeight, x_of(1), kCountTop + kCountHeight, "axis");
  svg += text(x_of(0.5), kHeight - 14, "label", "confidence (largest probability)");
  svg += fmt::format(
      "<text transform=\"translate(18 {:.1f}) rotate(-90)\" class=\"label\">share that came true</text>\n", y_of(0.5));
  return svg;
}

std::string bucket_shapes(const ReliabilityBucket& bucket, std::int64_t largest) {
  const double x = x_of(bucket.low) + 2, width = (bucket.high - bucket.low) * kSide - 4, middle = x + width / 2;
  const double height = kCountHeight * static_cast<double>(bucket.count) / static_cast<double>(largest);
  std::string svg =
      "<g>" + fmt::format(
                  "<title>{} forecasts, mean confidence {:.3f}, share true {:.3f} [{:.3f}, {:.3f}]"
                  "</title>\n",
                  bucket.count, bucket.mean_confidence, bucket.accuracy, bucket.accuracy_low, bucket.accuracy_high);
  svg += rect(x, y_of(bucket.accuracy), width, bucket.accuracy * kSide, "bar");
  svg += line(middle, y_of(bucket.accuracy_low), middle, y_of(bucket.accuracy_high), "interval");
  for (const double end : {bucket.accuracy_low, bucket.accuracy_high}) {
    svg += line(middle - 5, y_of(end), middle + 5, y_of(end), "interval");
  }
  svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\" class=\"mean\"/>\n", x_of(bucket.mean_confidence),
                     y_of(bucket.accuracy));
  svg += rect(x, kCountTop + kCountHeight - height, width, height, "count");
  svg += text(middle, kCountTop + kCountHeight - 4, "tick", fmt::format("{}", bucket.count));
  return svg + "</g>\n";
}

std::string note(const Evaluation& evaluation) {
  const auto ece = evaluation.metrics.find("ece"), null = evaluation.metrics.find("ece_null");
  if (ece == evaluation.metrics.end() || null == evaluation.metrics.end()) return "no parsed forecast";
  return fmt::format("ECE {:.3f}; a calibrated forecaster here shows {:.3f} [{:.3f}, {:.3f}]", ece->second.value,
                     null->second.value, null->second.low, null->second.high);
}

}  // namespace

void write_reliability_svg(const std::filesystem::path& file, const Evaluation& evaluation, const std::string& title) {
  std::int64_t largest = 1;
  for (const ReliabilityBucket& bucket : evaluation.reliability) largest = std::max(largest, bucket.count);
  std::string svg = head() + text(kLeft, 24, "title", title) + text(kLeft, 43, "note", note(evaluation)) + axes();
  for (const ReliabilityBucket& bucket : evaluation.reliability) {
    if (bucket.count > 0) svg += bucket_shapes(bucket, largest);
  }
  svg += line(x_of(0), y_of(0), x_of(1), y_of(1), "diagonal");
  write_file_atomically(file, svg + "</svg>\n");
}

}  // namespace kc

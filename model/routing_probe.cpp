#include "base/error.h"
#include "model/routing_torch.h"

namespace kc {
namespace {

thread_local RoutingProbe* active = nullptr;

}  // namespace

RoutingProbe::RoutingProbe(std::vector<at::Tensor> prescribed) : prescribed_(std::move(prescribed)) {
  if (active != nullptr) throw Error(ErrorKind::internal, "RoutingProbe: another one lives on this thread");
  active = this;
}
RoutingProbe::~RoutingProbe() { active = nullptr; }

at::Tensor prescribed_experts(const at::Tensor& logits_NE, std::int64_t chosen) {
  if (active == nullptr || active->prescribed_.empty()) return {};
  const std::size_t layer = active->taken_.size();
  if (layer >= active->prescribed_.size())
    throw Error(ErrorKind::internal, "RoutingProbe: more expert layers ran than it prescribes for");
  const at::Tensor& experts = active->prescribed_[layer];
  if (experts.scalar_type() != at::kLong || experts.dim() != 2 || experts.size(0) != logits_NE.size(0) ||
      experts.size(1) != chosen || experts.lt(0).logical_or(experts.ge(logits_NE.size(1))).any().item<bool>())
    throw Error(ErrorKind::internal, "RoutingProbe: expected int64 [N, K] of expert numbers");
  return experts.to(logits_NE.device());
}

void report_experts(const at::Tensor& experts_NK) {
  if (active != nullptr) active->taken_.push_back(experts_NK);
}

}  // namespace kc

#include "core/verbs_load/receiver.hpp"

#include <span>

#include "core/error.hpp"
#include "core/exchange/layout.hpp"

namespace rkv {
namespace {

std::unique_ptr<WaitSet> wait_set_of_all(const Port& port, const std::vector<QueueGroup*>& groups,
                                         const StopFlag& stop) {
  std::vector<CompletionQueue*> queues;
  queues.reserve(groups.size());
  for (QueueGroup* group : groups) queues.push_back(&group->receives());
  return port.wait_sets->make_wait_set({.completion_queues = queues}, stop);
}

}  // namespace

Receiver::Receiver(const Port& port, const Scenario& scenario, const StopFlag& stop,
                   const std::vector<QueueGroup*>& groups)
    : runtime_(*port.runtime),
      depth_(scenario.queue_pair.receive_depth),
      bytes_(scenario.verbs.bytes),
      stride_(round_to_line(bytes_)),
      region_(port.device->make_region(region_bytes(groups.size() * verbs_load_receives(scenario), stride_))),
      set_(wait_set_of_all(port, groups, stop)),
      waiter_(*set_, scenario.completion),
      taken_(Waiter::largest_take(scenario.completion)) {
  for (QueueGroup* group : groups) {
    for (std::uint32_t q = 0; q < group->queue_pairs(); ++q) {
      returned_.push_back(
          {.queue_pair = &group->queue_pair(q), .chain = ReceiveChain(scenario.queue_pair.receive_batch)});
      for (std::uint32_t i = 0; i < depth_; ++i) {
        const auto buffer = static_cast<std::uint32_t>((returned_.size() - 1) * depth_ + i);
        if (group->queue_pair(q).post_receive(request_of(buffer)) != 0) {
          throw Error("a queue pair's receives could not be posted");
        }
      }
    }
  }
}

ReceiveRequest Receiver::request_of(std::uint32_t buffer) const {
  return {.id = buffer, .region = region_.get(), .offset = buffer * stride_, .length = bytes_};
}

bool Receiver::give_back(std::uint32_t buffer) {
  Returned& returned = returned_[buffer / depth_];
  return returned.chain.add(*returned.queue_pair, request_of(buffer));
}

void Receiver::run() {
  for (bool stopped = false; !stopped && failure_.empty();) {
    const WaitResult result = waiter_.wait(taken_, never);
    stopped = result.wake == Wake::stopped;
    take(result.count);
  }
  // What came before the stop.
  while (failure_.empty()) {
    const WaitResult result = waiter_.look(taken_);
    if (result.count == 0) break;
    take(result.count);
  }
  usage_ = runtime_.usage();
}

void Receiver::take(std::uint32_t count) {
  std::uint64_t received = 0;
  for (const Completion& completion : std::span(taken_).first(count)) {
    if (completion.status != CompletionStatus::ok) {
      failure_ = name(completion.status);
    } else if (!give_back(static_cast<std::uint32_t>(completion.id))) {
      failure_ = "posting receives was refused";
    } else {
      ++received;
    }
  }
  // Written by this thread alone.
  received_.store(received_.load(std::memory_order_relaxed) + received, std::memory_order_relaxed);
}

}  // namespace rkv

#include "backends/verbs/port/wait_set.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "backends/verbs/port/clock.hpp"
#include "backends/verbs/port/completion_queue.hpp"
#include "backends/verbs/port/event_poll.hpp"
#include "backends/verbs/port/slot_watch.hpp"
#include "backends/verbs/port/spin_meter.hpp"
#include "backends/verbs/port/stream_wait.hpp"
#include "core/error.hpp"

namespace rkv::verbs {
namespace {

template <typename Own, typename Source>
std::vector<Own*> own(std::span<Source* const> sources) {
  std::vector<Own*> result;
  for (Source* source : sources) {
    result.push_back(dynamic_cast<Own*>(source));
    if (result.back() == nullptr) throw Error("wait set: a source was made by another backend");
  }
  return result;
}

// A recv(2) that finds nothing costs about as much as so many polls of an empty completion queue.
constexpr std::size_t polls_a_receive = 16;

class VerbsWaitSet final : public WaitSet {
 public:
  VerbsWaitSet(const WaitSources& sources, const StopFlag& stop)
      : queues_(own<VerbsCompletionQueue>(sources.completion_queues)),
        streams_(own<TcpStream>(sources.streams)),
        slots_(own<VerbsSlotWatch>(sources.slots)),
        stop_(event_stop_flag(stop)) {
    const bool blockable =
        std::all_of(queues_.begin(), queues_.end(), [](const auto* queue) { return queue->blockable(); });
    if (queues_.empty() && slots_.empty() && streams_.size() == 1) {
      stream_wait_.emplace(*streams_.front(), stop_);
    } else if (blockable && slots_.empty()) {
      event_poll_.emplace(queues_, streams_, stop_);
    }
  }

  WaitResult spin(std::span<Completion> out, const SpinBudget& budget, Instant deadline) override;
  WaitResult block(std::span<Completion> out, Instant deadline) override;
  WaitResult await_event(std::span<Completion> out, Instant deadline) override;

 private:
  enum class First : std::uint8_t { look, sleep };
  enum class Streams : std::uint8_t { all, known_ready };

  // Looks at each source once, from the one after the last that had something. True when one had.
  bool scan(std::span<Completion> out, Streams which, WaitResult& result);
  std::uint32_t look(std::size_t source, std::span<Completion> out, Streams which);
  bool receive(std::size_t stream, Completion& arrival, Streams which);
  WaitResult sleep_until_taken(std::span<Completion> out, Instant deadline, First first);
  void pass_on_rests(const WaitResult& taken, std::size_t room);

  std::vector<VerbsCompletionQueue*> queues_;
  std::vector<TcpStream*> streams_;
  std::vector<VerbsSlotWatch*> slots_;
  const EventStopFlag& stop_;
  std::size_t next_ = 0;
  bool armed_ = false;                     // all queues, once: an event is due for what comes from then on
  bool drained_ = false;                   // the last wait left nothing in any queue
  std::optional<StreamWait> stream_wait_;  // for one stream alone
  std::optional<EventPoll> event_poll_;    // else, if all sources are blockable
};

bool VerbsWaitSet::scan(std::span<Completion> out, Streams which, WaitResult& result) {
  const std::size_t sources = queues_.size() + streams_.size() + slots_.size();
  std::size_t source = next_;
  for (std::size_t i = 0; i < sources; ++i) {
    if (source >= sources) source = 0;
    if (const std::uint32_t count = look(source, out, which); count > 0) {
      next_ = source + 1;
      result = {Wake::completions, static_cast<std::uint32_t>(source), count};
      return true;
    }
    ++source;
  }
  return false;
}

std::uint32_t VerbsWaitSet::look(std::size_t source, std::span<Completion> out, Streams which) {
  if (source < queues_.size()) return queues_[source]->take(out);
  source -= queues_.size();
  if (source < streams_.size()) return receive(source, out.front(), which) ? 1 : 0;
  return slots_[source - streams_.size()]->take(out);
}

bool VerbsWaitSet::receive(std::size_t stream, Completion& arrival, Streams which) {
  TcpStream& source = *streams_[stream];
  if (which == Streams::known_ready && !event_poll_->ready(stream)) return false;
  if (source.wants_write()) source.flush();
  const bool arrived = source.wants_read() && source.receive(MSG_DONTWAIT, arrival);
  // What one receive left behind, the next sleep reports again.
  if (event_poll_) event_poll_->set_ready(stream, false);
  return arrived;
}

WaitResult VerbsWaitSet::spin(std::span<Completion> out, const SpinBudget& budget, Instant deadline) {
  WaitResult result;
  drained_ = false;
  if (scan(out, Streams::all, result)) return result;
  SpinMeter meter(
      budget, deadline,
      static_cast<std::uint32_t>(queues_.size() + polls_a_receive * streams_.size() + slots_.size()));
  for (;;) {
    if (stop_.requested()) return {Wake::stopped, 0, 0};
    if (meter.spent()) return {meter.why(), 0, 0};
    if (scan(out, Streams::all, result)) return result;
  }
}

WaitResult VerbsWaitSet::block(std::span<Completion> out, Instant deadline) {
  return sleep_until_taken(out, deadline, First::look);
}

WaitResult VerbsWaitSet::await_event(std::span<Completion> out, Instant deadline) {
  if (!event_poll_ || queues_.size() != 1 || !streams_.empty()) return block(out, deadline);
  const bool event_to_come = armed_ && drained_;
  if (!armed_) queues_.front()->arm();
  armed_ = true;
  return sleep_until_taken(out, deadline, event_to_come ? First::sleep : First::look);
}

WaitResult VerbsWaitSet::sleep_until_taken(std::span<Completion> out, Instant deadline, First first) {
  if (stream_wait_) return stream_wait_->block(out.front(), deadline);
  if (!event_poll_)
    throw Error("wait set: blocking needs completion queues that were made blockable, and no slots");
  WaitResult result;
  for (;; first = First::look) {
    if (first == First::look && scan(out, Streams::known_ready, result)) break;
    const bool stopped = stop_.requested();
    if (stopped || (deadline != never && clock_now() >= deadline)) {
      if (scan(out, Streams::all, result)) break;
      drained_ = true;
      return {stopped ? Wake::stopped : Wake::deadline, 0, 0};
    }
    for (VerbsCompletionQueue* queue : queues_) {
      queue->arm();
      queue->enter_sleep();
    }
    armed_ = true;
    const bool found = first == First::look && !queues_.empty() && scan(out, Streams::known_ready, result);
    if (!found) event_poll_->sleep(deadline);
    for (VerbsCompletionQueue* queue : queues_) queue->leave_sleep();
    if (found) break;
  }
  drained_ = result.count < out.size();
  pass_on_rests(result, out.size());
  return result;
}

// This thread may have consumed events of queues that it then did not look at, and may have left something in
// the one that it took from. A queue that did not fill `out` was empty.
void VerbsWaitSet::pass_on_rests(const WaitResult& taken, std::size_t room) {
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    if (i != taken.source || taken.count == room) queues_[i]->pass_on_rest();
  }
}

}  // namespace

std::unique_ptr<WaitSet> VerbsWaitSets::make_wait_set(const WaitSources& sources, const StopFlag& stop) {
  return std::make_unique<VerbsWaitSet>(sources, stop);
}

}  // namespace rkv::verbs

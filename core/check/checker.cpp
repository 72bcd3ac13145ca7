#include "core/check/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace rkv {
namespace {

bool writes(Method method) {
  return method == Method::set || method == Method::del;
}

bool is_short(std::span<const std::byte> value) {
  return value.size() < value_header_bytes;
}

std::string state_text(const Candidate& candidate) {
  std::string text = "absent";
  if (candidate.present) {
    text = candidate.tag.writer == preload_writer
               ? fmt::format("the preloaded {} bytes", candidate.tag.bytes)
               : fmt::format("version {} of client {}, {} bytes", candidate.tag.version, candidate.tag.writer,
                             candidate.tag.bytes);
  }
  const char* const when = candidate.dead != not_yet   ? " (replaced)"
                           : candidate.done == not_yet ? " (not answered)"
                                                       : "";
  return text + when;
}

}  // namespace

Checker::Checker(const Scenario& scenario, std::uint32_t client, std::uint32_t clients, std::size_t max_keys)
    : keys_(scenario, clients),
      client_(client),
      clients_(clients),
      max_keys_(max_keys),
      value_capacity_bytes_(scenario.message.value_capacity_bytes),
      chained_(scenario.store.kind == StoreOptions::Kind::chained),
      slots_(scenario.load.window),
      expected_(largest_value_bytes(scenario)) {
  const bool shared = !keys_.per_client() && clients > 1;
  const OperationMix& mix = scenario.operations;
  others_write_ = shared && mix.set + mix.del + mix.read_modify_write > 0;
  others_delete_ = shared && mix.del > 0;
}

void Checker::issued(std::uint32_t slot, const Operation& operation) {
  Outstanding& outstanding = slots_.at(slot);
  outstanding = Outstanding{true, false, operation, ++now_};
  if (operation.method == Method::ping) {
    return;
  }
  if (operation.method == Method::set) {
    versions_ = operation.version;
  }
  KeyHistory* const history = find_or_start(operation.key_id);
  if (history == nullptr) {
    return;
  }
  if (history->outstanding++ > 0) {
    mark_contention(outstanding);
  }
  if (writes(operation.method)) {
    Candidate candidate;
    candidate.present = operation.method == Method::set;
    candidate.tag = {operation.key_id, operation.version, client_, operation.value_bytes};
    candidate.issued = outstanding.issued;
    history->add(candidate);
  }
}

void Checker::repeated(std::uint32_t slot) {
  if (slots_.at(slot).operation.method == Method::ping) {
    return;
  }
  if (KeyHistory* const history = find(slots_.at(slot).operation.key_id)) {
    history->stray = true;
  }
}

std::optional<std::string> Checker::answered(std::uint32_t slot, ResponseCode code,
                                             std::span<const std::byte> value) {
  Outstanding& outstanding = slots_.at(slot);
  ++now_;
  if (outstanding.operation.method == Method::ping) {
    outstanding = Outstanding{};
    const bool right = code == ResponseCode::ok && value.empty();
    return right ? std::nullopt : std::optional<std::string>("a PING is answered by OK and nothing else");
  }
  KeyHistory* const history = find(outstanding.operation.key_id);
  if (history == nullptr) {
    ++partly_checked_;
  }
  std::string complaint = judge(outstanding, history, code, value);
  if (!complaint.empty()) {
    complaint = described(outstanding, history, complaint);
  }
  finish(outstanding);
  return complaint.empty() ? std::nullopt : std::optional<std::string>(std::move(complaint));
}

void Checker::unanswered(std::uint32_t slot) {
  if (slots_.at(slot).operation.method == Method::ping) {
    slots_.at(slot) = Outstanding{};
    return;
  }
  Outstanding& outstanding = slots_.at(slot);
  ++now_;
  if (KeyHistory* const history = find(outstanding.operation.key_id)) {
    history->stray = true;  // its candidate stays, without a time by which it is done
  }
  finish(outstanding);
}

KeyHistory* Checker::find(std::uint64_t key_id) {
  const auto found = histories_.find(key_id);
  return found == histories_.end() ? nullptr : &found->second;
}

KeyHistory* Checker::find_or_start(std::uint64_t key_id) {
  KeyHistory* const history = find(key_id);
  if (history != nullptr || full_) {
    return history;
  }
  if (histories_.size() >= max_keys_) {
    full_ = true;  // a key without history may have been written, so none can be started from its preload
    return nullptr;
  }
  return &histories_.emplace(key_id, KeyHistory(initial_state(key_id))).first->second;
}

Candidate Checker::initial_state(std::uint64_t key_id) const {
  Candidate candidate;
  candidate.done = 0;
  candidate.present = key_id < keys_.preloaded();
  if (candidate.present) {
    candidate.tag = keys_.preloaded_tag(key_id);
  }
  return candidate;
}

void Checker::mark_contention(Outstanding& outstanding) {
  for (Outstanding& other : slots_) {
    if (&other != &outstanding && other.active && other.operation.key_id == outstanding.operation.key_id &&
        (writes(other.operation.method) || writes(outstanding.operation.method))) {
      other.contended = true;
      outstanding.contended = true;
    }
  }
}

void Checker::finish(Outstanding& outstanding) {
  outstanding.active = false;
  const std::uint64_t key_id = outstanding.operation.key_id;
  KeyHistory* const history = find(key_id);
  if (history == nullptr) {
    return;
  }
  constexpr std::size_t few = 8;
  if (--history->outstanding > 0) {
    if (history->candidates().size() > few) {
      history->forget(oldest_issue(key_id));
    }
    return;
  }
  history->forget(now_);
  const auto& left = history->candidates();
  if (!history->stray && left.size() == 1 && left.front().issued == 0 && !left.front().foreign) {
    histories_.erase(key_id);  // as it was before the run: its history can be started again
  }
}

EventNumber Checker::oldest_issue(std::uint64_t key_id) const {
  EventNumber oldest = now_;
  for (const Outstanding& outstanding : slots_) {
    if (outstanding.active && outstanding.operation.key_id == key_id) {
      oldest = std::min(oldest, outstanding.issued);
    }
  }
  return oldest;
}

bool Checker::lock_may_be_held(const Outstanding& outstanding, const KeyHistory* history) const {
  return chained_ && (others_write_ || outstanding.contended || history == nullptr || history->stray);
}

std::string Checker::judge(const Outstanding& outstanding, KeyHistory* history, ResponseCode code,
                           std::span<const std::byte> value) {
  const Method method = outstanding.operation.method;
  if ((method != Method::get || code != ResponseCode::ok) && !value.empty()) {
    return fmt::format("carries a value of {} bytes, which only a GET's OK has", value.size());
  }
  switch (code) {
    case ResponseCode::ok:
      if (method == Method::get) {
        return judge_value(outstanding, history, value);
      }
      if (history != nullptr) {
        std::string complaint = method == Method::del ? judge_removal(outstanding, history) : "";
        history->took_effect(outstanding.issued, now_);
        return complaint;
      }
      return "";
    case ResponseCode::key_error: {
      const bool lock = lock_may_be_held(outstanding, history);
      if (method == Method::set && !lock) {
        return "a SET needs no key to be there, and nobody can hold this key's lock";
      }
      if (lock || history == nullptr) {
        if (history != nullptr && writes(method)) {
          history->remove(outstanding.issued);
        }
        return "";
      }
      return judge_absence(outstanding, history);
    }
    case ResponseCode::store_error:
      if (method != Method::set) {
        return "only a SET can be too much for the store";
      }
      if (history != nullptr) {
        history->remove(outstanding.issued);
      }
      return "";
    case ResponseCode::parsing_error:
    case ResponseCode::unknown_error:
      break;
  }
  return "the request was a good one";
}

std::string Checker::judge_value(const Outstanding& outstanding, KeyHistory* history,
                                 std::span<const std::byte> value) {
  std::string flaw = flaw_of_value(outstanding.operation.key_id, value);
  if (!flaw.empty() || history == nullptr) {
    return flaw;
  }
  const bool tagged = !keys_.thesis() && !is_short(value);
  const ValueTag tag = tagged ? read_value_tag(value) : ValueTag{};
  const auto holds = [&](const Candidate& candidate) {
    return candidate.present &&
           (keys_.thesis() || (tagged ? candidate.tag == tag : candidate.tag.bytes == value.size()));
  };
  if (tagged && tag.writer != client_ && tag.writer != preload_writer &&
      std::none_of(history->candidates().begin(), history->candidates().end(), holds)) {
    Candidate seen;
    seen.tag = tag;
    seen.present = true;
    seen.foreign = true;
    history->add(seen);
  }
  if (history->observed(outstanding.issued, now_, others_write_ && is_short(value), holds)) {
    return "";
  }
  if (!tagged) {
    return fmt::format("the value of {} bytes can't be there any more, or yet", value.size());
  }
  return tag.writer == preload_writer
             ? std::string("the preloaded value had been replaced before the GET was sent")
             : fmt::format(
                   "version {} of client {} had been replaced before the GET was sent, or was never written "
                   "to this key",
                   tag.version, tag.writer);
}

std::string Checker::judge_absence(const Outstanding& outstanding, KeyHistory* history) {
  const bool removes = outstanding.operation.method == Method::del;
  const auto absent_before = [&](const Candidate& candidate) {
    return !candidate.present && !(removes && candidate.issued == outstanding.issued);
  };
  const bool possible = history->observed(outstanding.issued, now_, others_delete_, absent_before);
  if (removes) {
    history->took_effect(outstanding.issued, now_);  // absent before and after
  }
  return possible ? "" : "the key must be there: nothing removed it";
}

std::string Checker::judge_removal(const Outstanding& outstanding, KeyHistory* history) {
  const auto present = [](const Candidate& candidate) { return candidate.present; };
  return history->observed(outstanding.issued, now_, others_write_, present)
             ? ""
             : "the key can't have been there to be removed";
}

std::string Checker::flaw_of_value(std::uint64_t key_id, std::span<const std::byte> value) {
  if (value.size() > value_capacity_bytes_) {
    return fmt::format("a value of {} bytes is longer than a message can hold", value.size());
  }
  if (keys_.thesis()) {
    const std::uint32_t bytes = keys_.write_value({key_id, 0, client_, 0}, expected_);
    const bool same = value.size() == bytes && std::memcmp(value.data(), expected_.data(), bytes) == 0;
    return same ? "" : fmt::format("the {} bytes of the value are not this key's text", value.size());
  }
  if (is_short(value)) {
    const ValueTag tag{key_id, 0, 0, static_cast<std::uint32_t>(value.size())};
    return is_value(tag, value) ? ""
                                : fmt::format("the {} bytes of the value are not this key's", value.size());
  }
  const ValueTag tag = read_value_tag(value);
  if (!is_value(tag, value)) {
    return fmt::format(
        "the value is torn or damaged: of its {} bytes the header says key {}, version {} of client "
        "{}, {} bytes",
        value.size(), tag.key_id, tag.version, tag.writer, tag.bytes);
  }
  if (tag.key_id != key_id) {
    return fmt::format("the value belongs to key {}", tag.key_id);
  }
  if (tag.writer == preload_writer) {
    const bool preloaded = key_id < keys_.preloaded() && tag == keys_.preloaded_tag(key_id);
    return preloaded ? "" : "the value is marked as preloaded, but isn't this key's preloaded value";
  }
  const bool possible_writer = keys_.per_client() ? tag.writer == client_ : tag.writer < clients_;
  if (!possible_writer || tag.version == 0 || (tag.writer == client_ && tag.version > versions_)) {
    return fmt::format("nobody has written version {} of client {}", tag.version, tag.writer);
  }
  return "";
}

std::string Checker::described(const Outstanding& outstanding, const KeyHistory* history,
                               const std::string& complaint) const {
  constexpr std::size_t most_states = 4;
  std::string states;
  if (history != nullptr) {
    const auto& candidates = history->candidates();
    for (std::size_t i = 0; i < std::min(candidates.size(), most_states); ++i) {
      states += (i == 0 ? "; known states: " : "; ") + state_text(candidates[i]);
    }
    if (candidates.size() > most_states) {
      states += fmt::format("; and {} more", candidates.size() - most_states);
    }
  }
  const Operation& operation = outstanding.operation;
  return fmt::format("client {}: response to {} of key {}: {}{}", client_, name(operation.method),
                     operation.key_id, complaint, states);
}

}  // namespace rkv

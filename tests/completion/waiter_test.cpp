#include "core/completion/waiter.hpp"

#include <array>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

using namespace rkv;
using namespace std::chrono_literals;

namespace {

// Notes how it is asked and gives the answers it was told to.
class ScriptedSet final : public WaitSet {
 public:
  WaitResult spin(std::span<Completion> out, const SpinBudget& budget, Instant) override {
    calls.emplace_back("spin");
    room = out.size();
    last_budget = budget;
    return next();
  }
  WaitResult block(std::span<Completion> out, Instant) override {
    calls.emplace_back("block");
    room = out.size();
    return next();
  }
  WaitResult await_event(std::span<Completion> out, Instant) override {
    calls.emplace_back("await_event");
    room = out.size();
    const WaitResult result = next();
    for (std::uint32_t i = 0; i < result.count; ++i) out[i].id = next_id++;
    return result;
  }
  WaitResult next() {
    const WaitResult result = answers.at(0);
    answers.erase(answers.begin());
    return result;
  }

  std::vector<WaitResult> answers;
  std::vector<std::string> calls;
  std::size_t room = 0;
  SpinBudget last_budget;
  std::uint64_t next_id = 0;
};

constexpr WaitResult arrived{.wake = Wake::completions, .source = 0, .count = 1};
constexpr WaitResult spent{.wake = Wake::budget};
using Calls = std::vector<std::string>;

}  // namespace

TEST_CASE("each completion strategy is the composition it says it is") {
  ScriptedSet set;
  std::array<Completion, 32> out;
  CompletionPolicy policy{.batch = 16, .empty_polls = 7, .spin = 30us};

  SECTION("busy spins without limit, one at a time") {
    policy.mode = CompletionMode::busy;
    set.answers = {arrived};
    REQUIRE(Waiter(set, policy).wait(out, never).wake == Wake::completions);
    CHECK(set.calls == Calls{"spin"});
    CHECK(set.room == 1);
    CHECK(set.last_budget.scans == SpinBudget{}.scans);
    CHECK(set.last_budget.cpu_time == SpinBudget{}.cpu_time);
    CHECK_FALSE(Waiter::blocks(policy));
  }
  SECTION("a look neither blocks nor looks again, whatever the strategy, and takes what there is room for") {
    policy.mode = GENERATE(CompletionMode::busy, CompletionMode::event, CompletionMode::adaptive);
    set.answers = {spent};
    CHECK(Waiter(set, policy).look(out).wake == Wake::budget);
    CHECK(set.calls == Calls{"spin"});
    CHECK(set.room == out.size());
    CHECK(set.last_budget.scans == 1);
  }
  SECTION("event blocks, one at a time") {
    policy.mode = CompletionMode::event;
    set.answers = {arrived};
    Waiter(set, policy).wait(out, never);
    CHECK(set.calls == Calls{"block"});
    CHECK(set.room == 1);
    CHECK(Waiter::blocks(policy));
  }
  SECTION("event_batch blocks, and takes up to its batch") {
    policy.mode = CompletionMode::event_batch;
    set.answers = {arrived};
    Waiter(set, policy).wait(out, never);
    CHECK(set.calls == Calls{"block"});
    CHECK(set.room == 16);
  }
  SECTION("adaptive polls, and blocks when so many scans in a row were empty") {
    policy.mode = CompletionMode::adaptive;
    set.answers = {spent, arrived, arrived};
    Waiter waiter(set, policy);
    waiter.wait(out, never);
    CHECK(set.calls == Calls{"spin", "block"});
    CHECK(set.last_budget.scans == 7);
    CHECK(set.room == 16);
    waiter.wait(out, never);  // it polls again after each find
    CHECK(set.calls == Calls{"spin", "block", "spin"});
  }
  SECTION("hybrid polls for a time, then blocks") {
    policy.mode = CompletionMode::hybrid;
    set.answers = {spent, arrived};
    Waiter(set, policy).wait(out, never);
    CHECK(set.calls == Calls{"spin", "block"});
    CHECK(set.last_budget.cpu_time == 30us);
  }
  SECTION("a deadline or a stop while polling is not followed by blocking") {
    policy.mode = CompletionMode::hybrid;
    for (const Wake wake : {Wake::deadline, Wake::stopped}) {
      set.answers = {{.wake = wake}};
      REQUIRE(Waiter(set, policy).wait(out, never).wake == wake);
    }
    CHECK(set.calls == Calls{"spin", "spin"});
  }
  SECTION("shared waits as it is told") {
    policy.mode = CompletionMode::shared;
    policy.shared_wait = CompletionMode::busy;
    CHECK_FALSE(Waiter::blocks(policy));
    policy.shared_wait = CompletionMode::event;
    CHECK(Waiter::blocks(policy));
    set.answers = {arrived};
    Waiter(set, policy).wait(out, never);
    CHECK(set.calls == Calls{"block"});
  }
}

TEST_CASE("a caller with less room than the batch gets no more than that") {
  ScriptedSet set;
  set.answers = {arrived};
  std::array<Completion, 4> out;
  Waiter(set, {.mode = CompletionMode::event_batch, .batch = 16}).wait(out, never);
  CHECK(set.room == 4);
}

TEST_CASE("awaiting events, a waiter asks for one more than it gives, to leave none without an event") {
  ScriptedSet set;
  std::array<Completion, 32> out;
  const auto several = [](std::uint32_t count) {
    return WaitResult{.wake = Wake::completions, .source = 0, .count = count};
  };
  SECTION("event: one at a time; what came with it needs no event") {
    Waiter waiter(set, {.mode = CompletionMode::event, .await_event = true});
    set.answers = {arrived, several(2), arrived};
    for (const std::uint64_t id : {0U, 1U, 2U, 3U}) {
      REQUIRE(waiter.wait(out, never).count == 1);
      CHECK(out[0].id == id);
    }
    CHECK(set.calls == Calls{"await_event", "await_event", "await_event"});
    CHECK(set.room == 2);
  }
  SECTION("event_batch: up to its batch, in order") {
    Waiter waiter(set, {.mode = CompletionMode::event_batch, .batch = 3, .await_event = true});
    set.answers = {several(4), several(2)};
    for (const std::uint32_t count : {3U, 1U, 2U}) REQUIRE(waiter.wait(out, never).count == count);
    CHECK(set.room == 4);
    CHECK(out[0].id == 4);
    CHECK(out[1].id == 5);
  }
  SECTION("a deadline and a stop are told") {
    Waiter waiter(set, {.mode = CompletionMode::event, .await_event = true});
    set.answers = {{.wake = Wake::deadline}, {.wake = Wake::stopped}};
    CHECK(waiter.wait(out, never).wake == Wake::deadline);
    CHECK(waiter.wait(out, never).wake == Wake::stopped);
  }
  SECTION("a look gives what is left over first") {
    Waiter waiter(set, {.mode = CompletionMode::event, .await_event = true});
    set.answers = {several(2), spent};
    REQUIRE(waiter.wait(out, never).count == 1);
    REQUIRE(waiter.look(out).count == 1);
    CHECK(out[0].id == 1);
    CHECK(waiter.look(out).count == 0);
    CHECK(set.calls == Calls{"await_event", "spin"});
  }
  SECTION("a look is still a look") {
    set.answers = {spent};
    Waiter(set, {.mode = CompletionMode::event, .await_event = true}).look(out);
    CHECK(set.calls == Calls{"spin"});
  }
}

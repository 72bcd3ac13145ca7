// The model of the chained store does what the chained store does, whatever is asked of both.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "core/error.hpp"
#include "core/store/modelled_chained_store.hpp"
#include "tests/store/store_helpers.hpp"
#include "tests/support/recording_runtime.hpp"
#include "tests/support/repetitions.hpp"

using namespace rkv;
using namespace rkv::test;

namespace {

enum class Kind : std::uint8_t { get, set, del, reset };

struct Request {
  Kind kind = Kind::get;
  std::string key;
  std::string value;            // SET
  std::size_t room_bytes = 0;   // GET
  bool refuse_lock = false;     // of the entry
  std::vector<Request> within;  // by other threads, while it is about to lock the entry
};

// What is asked at random.
struct Population {
  std::uint32_t buckets;
  std::uint64_t keys;
  std::uint64_t largest_value_bytes;
  std::uint64_t max_bytes;
  std::uint64_t deletes_in_100;
};

class Requests {
 public:
  Requests(const Population& population, std::uint64_t seed) : population_(population), random_(seed) {}

  Request next(bool may_nest) {
    Request request;
    request.key = key();
    const std::uint64_t choice = below(100);
    if (choice < population_.deletes_in_100) {
      request.kind = Kind::del;
    } else if (choice == 99 && below(10) == 0) {
      request.kind = Kind::reset;
    } else if (choice < 70) {
      request.kind = Kind::set;
      request.value = value();
    }
    request.room_bytes = below(4) == 0 ? below(20) : 1000;
    request.refuse_lock = below(20) == 0;
    if (may_nest && below(5) == 0) {
      for (std::uint64_t i = below(4); i > 0; --i) {
        Request within = next(false);
        // Another SET or DEL would wait for the bucket's mutex until this one has ended.
        if (request.kind != Kind::get) within.kind = Kind::get;
        if (below(2) == 0) within.key = request.key;
        request.within.push_back(std::move(within));
      }
    }
    return request;
  }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
  std::string key() {
    const std::uint64_t number = below(population_.keys);
    return std::string(number % 30, 'k') + std::to_string(number);
  }
  std::string value() {
    return std::string(below(population_.largest_value_bytes + 1), static_cast<char>('a' + below(26)));
  }

  const Population population_;
  std::mt19937_64 random_;
};

// One of the two stores and all that it said and did, as text.
class Side {
 public:
  explicit Side(const std::function<std::unique_ptr<Store>(Runtime&)>& make) : store_(make(runtime_)) {}
  ~Side() { runtime_.play_unlocks(); }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void perform(const Request& request) {
    const auto interrupt = [&] {
      runtime_.before_try_lock = nullptr;
      runtime_.before_try_lock_shared = nullptr;
      for (const Request& other : request.within) perform(other);
      runtime_.refuse_try_lock = request.refuse_lock;
    };
    if (!request.within.empty()) {
      runtime_.before_try_lock = interrupt;
      runtime_.before_try_lock_shared = interrupt;
    }
    runtime_.refuse_try_lock = request.refuse_lock;
    Work work;
    std::string answer;
    switch (request.kind) {
      case Kind::get: {
        std::vector<std::byte> out(request.room_bytes);
        const GetResult result = store_->get(bytes(request.key), out, work);
        answer = std::string(name(result.code)) + " " +
                 std::string(reinterpret_cast<const char*>(out.data()), result.value_bytes);
        break;
      }
      case Kind::set:
        answer = name(store_->set(bytes(request.key), bytes(request.value), work));
        break;
      case Kind::del:
        answer = name(store_->del(bytes(request.key), work));
        break;
      case Kind::reset:
        store_->reset();
        break;
    }
    runtime_.before_try_lock = nullptr;
    runtime_.before_try_lock_shared = nullptr;
    runtime_.events.push_back(answer);
    for (const std::uint64_t count :
         {work.entries_walked, work.bytes_copied, work.working_set_bytes, store_->entries()}) {
      runtime_.events.push_back(std::to_string(count));
    }
  }

  RecordingRuntime& runtime() { return runtime_; }

 private:
  RecordingRuntime runtime_;
  std::unique_ptr<Store> store_;
};

// Both do `count` requests; gives how many of them were refused for want of memory.
std::uint64_t compare(const Population& population, std::uint64_t seed, int count) {
  StoreOptions options;
  options.kind = StoreOptions::Kind::chained;
  options.buckets = population.buckets;
  Side real([&](Runtime& runtime) { return make_store(options, runtime, population.max_bytes); });
  Side model([&](Runtime& runtime) { return make_modelled_store(options, runtime, population.max_bytes); });
  Requests requests(population, seed);
  std::uint64_t refused = 0;
  for (int i = 0; i < count; ++i) {
    const Request request = requests.next(true);
    real.perform(request);
    model.perform(request);
    const bool late = requests.chance(2);
    const bool play = requests.chance(3);
    for (Side* side : {&real, &model}) {
      if (play) side->runtime().play_unlocks();
      side->runtime().unlocks_late = late;
    }
    const std::vector<std::string> events = real.runtime().take();
    CAPTURE(seed, i);
    REQUIRE(model.runtime().take() == events);
    REQUIRE(model.runtime().working_sets_bytes == real.runtime().working_sets_bytes);
    real.runtime().working_sets_bytes.clear();
    model.runtime().working_sets_bytes.clear();
    refused += static_cast<std::uint64_t>(std::count(events.begin(), events.end(), "STORE_ERROR"));
  }
  return refused;
}

std::uint64_t walked_by_get(Store& store, const std::string& key) {
  Work work;
  get(store, key, work);
  return work.entries_walked;
}

constexpr std::uint64_t unlimited_bytes = std::uint64_t{1} << 30;

}  // namespace

TEST_CASE("The modelled store answers, counts, locks and charges as the chained store does") {
  const auto [population, refuses] = GENERATE(
      std::pair{Population{1, 40, 60, unlimited_bytes, 30}, false},    // one chain, as many SETs as DELs
      std::pair{Population{3, 200, 100, unlimited_bytes, 0}, false},   // nothing but a RESET takes keys out
      std::pair{Population{7, 2000, 30, unlimited_bytes, 10}, false},  // growing
      std::pair{Population{2, 500, 20, unlimited_bytes, 60}, false},   // mostly DELs of what is not there
      std::pair{Population{1, 30, 400, 4'000, 10}, true},              // values that do not all fit
      std::pair{Population{16, 300, 200, 12'000, 30}, true});
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= repetitions(10); ++seed) refused += compare(population, seed, 2'000);
  if (refuses) CHECK(refused > 100);
}

TEST_CASE("Places in a long chain, worked out by hand") {
  constexpr std::uint64_t keys = repetitions(50'000);
  TestRuntime runtime;
  ModelledChainedStore store(1, runtime, unlimited_bytes);
  for (std::uint64_t i = 0; i < keys; ++i) {
    Work work;
    REQUIRE(store.set(bytes(std::to_string(i)), bytes("value"), work) == ResponseCode::ok);
    REQUIRE(work.entries_walked == i);  // past all that are there
  }
  CHECK(walked_by_get(store, "0") == keys);
  CHECK(walked_by_get(store, std::to_string(keys - 1)) == 1);
  CHECK(walked_by_get(store, "missing") == keys);

  for (std::uint64_t i = 0; i < keys; i += 2) REQUIRE(del(store, std::to_string(i)) == ResponseCode::ok);
  for (std::uint64_t i = 1; i < keys; i += 2) {
    REQUIRE(walked_by_get(store, std::to_string(i)) == (keys - i + 1) / 2);
  }
  CHECK(walked_by_get(store, "0") == keys / 2);

  // Keys that come and go for ever, in front of those that stay: numbers are given anew in between.
  for (std::uint64_t i = 0; i < 4 * keys; ++i) {
    const std::string passing = "passing " + std::to_string(i % 3);
    REQUIRE(set(store, passing, "value") == ResponseCode::ok);
    REQUIRE(walked_by_get(store, "1") == keys / 2 + 1);
    REQUIRE(walked_by_get(store, passing) == 1);
    REQUIRE(del(store, passing) == ResponseCode::ok);
  }
  CHECK(walked_by_get(store, std::to_string(keys - 1)) == 1);
  CHECK(store.entries() == keys / 2);
}

TEST_CASE("A modelled store's options are checked as the chained store's are") {
  TestRuntime runtime;
  CHECK_THROWS_AS(ModelledChainedStore(0, runtime, unlimited_bytes), InputError);
  CHECK_THROWS_WITH(ModelledChainedStore(16, runtime, 1'000), Catch::Contains("1024 bytes"));
  CHECK_NOTHROW(ModelledChainedStore(16, runtime, 1'024));
}

TEST_CASE("A modelled cuckoo store is the cuckoo store") {
  TestRuntime runtime;
  StoreOptions options;
  options.kind = StoreOptions::Kind::cuckoo;
  const auto store = make_modelled_store(options, runtime, unlimited_bytes);
  REQUIRE(set(*store, "key", "value") == ResponseCode::ok);
  CHECK(walked_by_get(*store, "missing") == 1);
  CHECK(get(*store, "key") == "value");
}

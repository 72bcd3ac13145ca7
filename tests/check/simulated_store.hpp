// A tiny store under random concurrency: several clients with several operations outstanding each, served in
// random order, each taking effect at one moment of its service; some are given up and served later or never;
// some are sent twice. Every history that it makes is one that a correct server could have made.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/check/checker.hpp"
#include "core/workload/operation_stream.hpp"

namespace rkv {

class SimulatedStore {
 public:
  // What a wrong store does, about once in 50 times where it can.
  enum class Fault {
    none,
    lose_set,      // acknowledges a SET and drops it
    keep_deleted,  // acknowledges a DEL and drops it
    stale_value,   // answers a GET with the value before the last one
    other_key,     // answers a GET with another key's value
    tear_value,    // answers a GET with the end of an older value
    refuse_lock,   // answers KEY_ERROR without anybody at the entry
  };

  SimulatedStore(const Scenario& scenario, std::uint32_t clients, std::uint32_t seed,
                 Fault fault = Fault::none)
      : scenario_(scenario), fault_(fault), random_(seed) {
    const KeySpace keys(scenario, clients);
    std::vector<std::byte> value(largest_value_bytes(scenario));
    for (std::uint64_t id = 0; id < keys.preloaded(); ++id) {
      const std::uint32_t bytes = keys.write_value(keys.preloaded_tag(id), value);
      entries_[id].value = Bytes(value.begin(), value.begin() + bytes);
    }
    for (std::uint32_t client = 0; client < clients; ++client) {
      clients_.push_back(std::make_unique<Client>(scenario, client, clients));
    }
  }

  // Complaints of all the clients' checkers after so many random steps.
  std::vector<std::string> run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
    }
    return complaints_;
  }

  [[nodiscard]] std::uint64_t answers() const { return answers_; }
  [[nodiscard]] std::uint64_t partly_checked() const {
    std::uint64_t sum = 0;
    for (const auto& client : clients_) {
      sum += client->checker.partly_checked();
    }
    return sum;
  }

 private:
  using Bytes = std::vector<std::byte>;

  struct Entry {
    std::optional<Bytes> value;
    std::optional<Bytes> previous;
  };
  struct Request {
    std::uint32_t client;
    std::uint32_t slot;
    bool wanted;  // somebody waits for the response
    Operation operation;
    Bytes value;
    enum class State { queued, in_service, served } state = State::queued;
    ResponseCode code = ResponseCode::ok;
  };
  struct Client {
    Client(const Scenario& scenario, std::uint32_t client, std::uint32_t clients)
        : stream(scenario, client, clients), checker(scenario, client, clients), busy(scenario.load.window) {}
    OperationStream stream;
    Checker checker;
    std::vector<bool> busy;
  };

  std::uint32_t below(std::size_t n) { return static_cast<std::uint32_t>(random_() % n); }
  bool goes_wrong(Fault fault) { return fault_ == fault && below(50) == 0; }

  void step() {
    if (requests_.empty() || below(4) == 0) {
      issue();
      return;
    }
    Request& request = requests_[below(requests_.size())];
    const std::uint32_t choice = below(100);
    if (choice < 2 && request.wanted) {
      give_up(request);
    } else if (choice < 4 && request.wanted && request.operation.method == Method::get) {
      clients_[request.client]->checker.repeated(request.slot);
      Request again = request;
      again.wanted = false;
      again.state = Request::State::queued;
      requests_.push_back(again);
    } else {
      advance(request);
    }
    std::erase_if(requests_,
                  [&](const Request& r) { return r.state == Request::State::served && !r.wanted; });
  }

  void issue() {
    const std::uint32_t number = below(clients_.size());
    Client& client = *clients_[number];
    const std::uint32_t slot = below(client.busy.size());
    if (client.busy[slot]) {
      return;
    }
    Bytes key(largest_key_bytes(scenario_));
    Bytes value(largest_value_bytes(scenario_));
    Work work;
    Request request{number, slot, true, client.stream.next(key, value, work), {}};
    request.value.assign(value.begin(), value.begin() + request.operation.value_bytes);
    client.busy[slot] = true;
    client.checker.issued(slot, request.operation);
    requests_.push_back(std::move(request));
  }

  void give_up(Request& request) {
    clients_[request.client]->checker.unanswered(request.slot);
    clients_[request.client]->busy[request.slot] = false;
    request.wanted = false;
    if (below(2) == 0) {
      request.state = Request::State::served;  // lost, or its response was
    }
  }

  void advance(Request& request) {
    switch (request.state) {
      case Request::State::queued:
        start(request);
        break;
      case Request::State::in_service:
        take_effect(request);
        request.state = Request::State::served;
        break;
      case Request::State::served:
        deliver(request);
        break;
    }
  }

  // The chained store's try-lock: readers share an entry, a writer has it alone.
  void start(Request& request) {
    const bool chained = scenario_.store.kind == StoreOptions::Kind::chained;
    const bool held = std::any_of(requests_.begin(), requests_.end(), [&](const Request& other) {
      return other.state == Request::State::in_service &&
             other.operation.key_id == request.operation.key_id &&
             (other.operation.method != Method::get || request.operation.method != Method::get);
    });
    if ((chained && held) || (request.operation.method == Method::set && goes_wrong(Fault::refuse_lock))) {
      request.value.clear();
      request.code = ResponseCode::key_error;
      request.state = Request::State::served;
      return;
    }
    request.state = Request::State::in_service;
  }

  void take_effect(Request& request) {
    Entry& entry = entries_[request.operation.key_id];
    request.code = ResponseCode::ok;
    switch (request.operation.method) {
      case Method::set:
        if (!goes_wrong(Fault::lose_set)) {
          entry.previous = entry.value;
          entry.value = request.value;
        }
        request.value.clear();
        break;
      case Method::del:
        if (!entry.value) {
          request.code = ResponseCode::key_error;
        } else if (!goes_wrong(Fault::keep_deleted)) {
          entry.previous = entry.value;
          entry.value.reset();
        }
        break;
      default:
        if (entry.value) {
          request.value = read(entry);
        } else {
          request.code = ResponseCode::key_error;
        }
    }
  }

  Bytes read(const Entry& entry) {
    if (entry.previous && goes_wrong(Fault::stale_value)) {
      return *entry.previous;
    }
    Bytes value = *entry.value;
    if (goes_wrong(Fault::other_key)) {
      const auto other = std::find_if(entries_.begin(), entries_.end(),
                                      [&](const auto& candidate) { return &candidate.second != &entry; });
      if (other != entries_.end() && other->second.value) {
        return *other->second.value;
      }
    }
    if (entry.previous && entry.previous->size() == value.size() && value.size() > 30 &&
        goes_wrong(Fault::tear_value)) {
      std::copy(entry.previous->begin() + 30, entry.previous->end(), value.begin() + 30);
    }
    return value;
  }

  void deliver(Request& request) {
    Client& client = *clients_[request.client];
    ++answers_;
    if (auto complaint = client.checker.answered(request.slot, request.code, request.value)) {
      complaints_.push_back(std::move(*complaint));
    }
    client.busy[request.slot] = false;
    request.wanted = false;
  }

  Scenario scenario_;
  Fault fault_;
  std::mt19937 random_;
  std::map<std::uint64_t, Entry> entries_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<Request> requests_;
  std::vector<std::string> complaints_;
  std::uint64_t answers_ = 0;
};

}  // namespace rkv

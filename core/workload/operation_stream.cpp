#include "core/workload/operation_stream.hpp"

namespace rkv {

using Distribution = KeyOptions::Distribution;

OperationStream::OperationStream(const Scenario& scenario, std::uint32_t client, std::uint32_t clients)
    : options_(scenario.keys),
      client_(client),
      keys_(scenario, clients),
      value_size_(scenario.value_size),
      zipf_(scenario.keys.count, scenario.keys.theta),
      permutation_(scenario.keys.count),
      operation_rng_(scenario.seed, client, Purpose::operation),
      key_rng_(scenario.seed, client, Purpose::key),
      value_size_rng_(scenario.seed, client, Purpose::value_size) {
  const OperationMix& mix = scenario.operations;
  const double sum = mix.get + mix.set + mix.del + mix.ping + mix.read_modify_write;
  get_below_ = mix.get / sum;
  set_below_ = (mix.get + mix.set) / sum;
  del_below_ = (mix.get + mix.set + mix.del) / sum;
  ping_below_ = (mix.get + mix.set + mix.del + mix.ping) / sum;
  if (options_.distribution == Distribution::latest) {
    position_ = options_.count;
  } else if (options_.scope == KeyOptions::Scope::shared) {
    position_ = options_.count / clients * client;  // sequential: clients walk apart
  }
}

Operation OperationStream::next(std::span<std::byte> key_out, std::span<std::byte> value_out, Work& work) {
  const Choice choice = choose();
  ++count_;
  Operation operation;
  operation.method = choice.method;
  if (operation.method == Method::ping) {
    return operation;
  }
  operation.key_id = keys_.key_id(choice.index, client_);
  operation.key_bytes = keys_.write_key(operation.key_id, key_out);
  if (operation.method == Method::set) {
    operation.version = ++versions_;
    const ValueTag tag{operation.key_id, operation.version, client_, value_size_(value_size_rng_)};
    operation.value_bytes = keys_.write_value(tag, value_out);
  }
  work.bytes_copied += operation.key_bytes + operation.value_bytes;
  return operation;
}

OperationStream::Choice OperationStream::choose() {
  if (options_.distribution == Distribution::thesis) {
    return choose_of_thesis();
  }
  if (to_write_) {
    const Choice choice{Method::set, *to_write_};
    to_write_.reset();
    return choice;
  }
  const double u = operation_rng_.unit();
  if (options_.distribution == Distribution::latest && u >= get_below_ && u < set_below_) {
    const Choice choice{Method::set, position_};
    zipf_.resize(++position_);
    return choice;
  }
  const std::uint64_t index = choose_index();
  if (u < get_below_) {
    return {Method::get, index};
  }
  if (u < set_below_) {
    return {Method::set, index};
  }
  if (u < del_below_) {
    return {Method::del, index};
  }
  if (u < ping_below_) {
    return {Method::ping, index};
  }
  to_write_ = index;
  return {Method::get, index};
}

// `rand() % 100 <= 5` sets the key of this operation's number; else key number `rand() % (number + 1) - 1` is
// asked for. Index = key number + 1.
OperationStream::Choice OperationStream::choose_of_thesis() {
  if (operation_rng_.below(100) <= 5) {
    return {Method::set, count_ + 1};
  }
  return {Method::get, key_rng_.below(count_ + 1)};
}

std::uint64_t OperationStream::choose_index() {
  switch (options_.distribution) {
    case Distribution::uniform:
      return key_rng_.below(options_.count);
    case Distribution::zipf:
      return permutation_(zipf_(key_rng_));
    case Distribution::sequential: {
      const std::uint64_t index = position_;
      position_ = (position_ + 1) % options_.count;
      return index;
    }
    case Distribution::latest:
      return position_ - 1 - zipf_(key_rng_);
    case Distribution::thesis:
      break;  // has its own choice
  }
  return 0;
}

}  // namespace rkv

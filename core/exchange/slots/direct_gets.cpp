#include "core/exchange/slots/direct_gets.hpp"

#include "core/exchange/layout.hpp"
#include "core/store/item_region.hpp"

namespace rkv {

DirectGets::DirectGets(const Port& port, const Scenario& scenario)
    : runtime_(*port.runtime),
      format_(scenario.message),
      stride_(round_to_line(
          ItemRegion::place_bytes(largest_key_bytes(scenario) + largest_value_bytes(scenario)))),
      places_(scenario.store.client_pointers),
      buffers_(port.device->make_region(region_bytes(scenario.load.window, stride_))),
      gets_(scenario.load.window) {
  ended_.reserve(scenario.load.window);
}

bool DirectGets::begin(std::uint32_t slot, std::span<std::byte> request) {
  Get& get = gets_[slot];
  get = {};
  if (format_.parse_request(request, get.request) != ParseError::none) return false;
  if (places_.bytes() > 0) runtime_.charge({.entries_walked = 1, .working_set_bytes = places_.bytes()});
  if (get.request.method != Method::get) {
    // It is about to lie somewhere else, or nowhere.
    places_.forget(get.request.key);
    return false;
  }
  get.bytes = request;
  const auto place = places_.find(get.request.key);
  if (!place) {
    ask(get);
    return false;
  }
  get.pointer = *place;
  get.phase = Get::Phase::reading;
  ++counts_.remembered;
  return true;
}

void DirectGets::ask(Get& get) {
  MessageFormat::change_method(get.bytes, Method::locate);
  get.phase = Get::Phase::asking;
}

DirectGets::Meaning DirectGets::meaning(ResponseView& response) {
  Get& get = gets_[response.slot];
  if (get.phase == Get::Phase::reading) return Meaning::nothing;
  if (get.phase == Get::Phase::plain || response.sequence != get.request.id.sequence) return Meaning::answer;
  get.phase = Get::Phase::plain;
  if (response.code != ResponseCode::ok) return Meaning::answer;
  const auto pointer = read_item_pointer(response.value);
  if (!pointer || item_bytes(*pointer) > stride_) {
    response.code = ResponseCode::unknown_error;
    response.value = {};
    return Meaning::answer;
  }
  get.pointer = *pointer;
  get.phase = Get::Phase::reading;
  ++counts_.asked;
  return Meaning::pointer;
}

SendRequest DirectGets::read(std::uint32_t slot, std::uint64_t id) const {
  const ItemPointer& pointer = gets_[slot].pointer;
  return {.id = id,
          .operation = SendOperation::read,
          .region = buffers_.get(),
          .offset = slot * stride_,
          .length = item_bytes(pointer),
          .remote = items_.behind(pointer.offset)};
}

DirectGets::Ended DirectGets::take_ended() {
  Ended ended{.slot = ended_.back(), .request_bytes = 0, .response = std::nullopt};
  ended_.pop_back();
  Get& get = gets_[ended.slot];
  const std::span<const std::byte> read =
      buffers_->bytes().subspan(std::size_t{ended.slot} * stride_, item_bytes(get.pointer));
  runtime_.charge({.bytes_copied = read.size()});  // summed
  if (const auto value = value_of_item(read, get.pointer, get.request.key)) {
    get.phase = Get::Phase::plain;
    places_.remember(get.request.key, get.pointer);
    ended.response = {.slot = get.request.id.slot,
                      .sequence = get.request.id.sequence,
                      .code = ResponseCode::ok,
                      .value = *value};
    return ended;
  }
  ++counts_.stale;
  places_.forget(get.request.key);
  ask(get);
  ended.request_bytes = static_cast<std::uint32_t>(get.bytes.size());
  return ended;
}

}  // namespace rkv

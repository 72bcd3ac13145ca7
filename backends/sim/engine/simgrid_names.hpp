// What the versions of SimGrid call differently; tried are 3.32, Debian 12's, and 4.1. 4.1 still has the
// earlier names, but deprecated, and warnings are errors.
#pragma once

#include <simgrid/version.h>

#include <functional>
#include <simgrid/s4u.hpp>
#include <string>

namespace rkv::sim {

#if SIMGRID_VERSION >= 40100

inline constexpr const char* timing_precision = "precision/timing";

inline simgrid::s4u::NetZone* add_star(const simgrid::s4u::Engine& engine, const std::string& name) {
  return engine.get_netzone_root()->add_netzone_star(name);
}

inline simgrid::s4u::Host* add_host(simgrid::s4u::NetZone& zone, const std::string& name, double flops) {
  return zone.add_host(name, flops);
}

inline simgrid::s4u::Link* add_cable(simgrid::s4u::NetZone& zone, const std::string& name, double bytes_s) {
  return zone.add_split_duplex_link(name, bytes_s);
}

inline void add_star_routes(simgrid::s4u::NetZone& zone, const simgrid::s4u::Host& host,
                            const simgrid::s4u::LinkInRoute& up, const simgrid::s4u::LinkInRoute& down) {
  zone.add_route(&host, nullptr, {up}, false);
  zone.add_route(nullptr, &host, {down}, false);
}

inline simgrid::s4u::ActorPtr add_actor(const std::string& name, simgrid::s4u::Host& host,
                                        const std::function<void()>& body) {
  return host.add_actor(name, body);
}

#else

inline constexpr const char* timing_precision = "surf/precision";

inline simgrid::s4u::NetZone* add_star(const simgrid::s4u::Engine&, const std::string& name) {
  return simgrid::s4u::create_star_zone(name);
}

inline simgrid::s4u::Host* add_host(simgrid::s4u::NetZone& zone, const std::string& name, double flops) {
  return zone.create_host(name, flops);
}

inline simgrid::s4u::Link* add_cable(simgrid::s4u::NetZone& zone, const std::string& name, double bytes_s) {
  return zone.create_split_duplex_link(name, bytes_s);
}

inline void add_star_routes(simgrid::s4u::NetZone& zone, const simgrid::s4u::Host& host,
                            const simgrid::s4u::LinkInRoute& up, const simgrid::s4u::LinkInRoute& down) {
  zone.add_route(host.get_netpoint(), nullptr, nullptr, nullptr, {up}, false);
  zone.add_route(nullptr, host.get_netpoint(), nullptr, nullptr, {down}, false);
}

inline simgrid::s4u::ActorPtr add_actor(const std::string& name, simgrid::s4u::Host& host,
                                        const std::function<void()>& body) {
  return simgrid::s4u::Actor::create(name, &host, body);
}

#endif

}  // namespace rkv::sim

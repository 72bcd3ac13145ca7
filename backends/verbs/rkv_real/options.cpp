#include "backends/verbs/rkv_real/options.hpp"

#include <CLI/CLI.hpp>
#include <map>

#include "core/report/version.hpp"

namespace rkv::real {
namespace {

constexpr const char* description =
    "rkv-real runs a scenario, of a key-value service or of plain verbs, on real threads and real queue "
    "pairs\n"
    "(RC, UC, UD) or kernel TCP, and writes a report. Server and clients run in this process unless --role\n"
    "says otherwise.";

constexpr const char* examples = R"(
Examples:
  rkv-real --scenario scenarios/uc_nonblocking.json --clients 1,2,4 --set load.duration_s=5
  rkv-real --scenario scenarios/rc_blocking.json --set completion.mode=hybrid --set completion.spin_us=20
  rkv-real --role server --listen 0.0.0.0 --device mlx5_0          (on one host)
  rkv-real --role client --server 10.0.0.1 --scenario FILE         (on another)

Every field of a scenario: docs/scenario.md. What a report holds: docs/report.md.
Exit status: 0 done; 1 failed or a response was wrong; 2 bad input, nothing was started; 130 interrupted,
what ran is in the report.)";

}  // namespace

Parsed parse_options(int argc, const char* const* argv) {
  Options options;
  CLI::App app{description, "rkv-real"};
  app.footer(examples);
  app.set_version_flag("--version", std::string(program_version()));

  const std::map<std::string, Role> roles{
      {"both", Role::both}, {"server", Role::server}, {"client", Role::client}};
  app.add_option("--role", options.role, "both (one process), server or client")
      ->transform(CLI::CheckedTransformer(roles, CLI::ignore_case).description("{both,server,client}"))
      ->default_str("both");
  app.add_option("--device", options.device,
                 "RDMA device; auto: the first with an active port, else soft0 (default: the scenario's)");
  app.add_option("--device-port", options.device_port, "Its port (default: the scenario's; of a server: 1)")
      ->check(CLI::Range(1, 255));
  app.add_option("--gid-index", options.gid_index, "Of its port (default: the scenario's, else picked)")
      ->check(CLI::Range(0, 65535));
  app.add_flag("--quiet", options.quiet, "No progress and no table, only errors");

  const std::string run = "The run (roles both and client)";
  app.add_option("--scenario", options.scenario, "Scenario file")->group(run);
  app.add_option("--set", options.overrides, "PATH=VALUE: override a field of the scenario; repeatable")
      ->group(run)
      ->allow_extra_args(false);
  app.add_option("--clients", options.clients, "Client counts, one point each: 1,2,4")
      ->delimiter(',')
      ->group(run)
      ->allow_extra_args(false);
  app.add_option("--out", options.out,
                 "Directory for the report, new or empty (default: a fresh one in results/)")
      ->group(run);
  app.add_option("--trace", options.trace_ending, "Keep every operation's times, as csv or bin")
      ->check(CLI::IsMember({"csv", "bin"}))
      ->group(run);

  const std::string client = "Role client";
  app.add_option("--server", options.server, "HOST[:PORT] of the server")->group(client);
  app.add_option("--processes", options.processes, "Client processes of this run; the others use --join")
      ->check(CLI::Range(1, 256))
      ->capture_default_str()
      ->group(client);
  app.add_flag("--join", options.join, "Take part in the run that another client process brings")
      ->group(client);

  const std::string server = "Role server (what it allows its peers)";
  app.add_option("--listen", options.listen, "ADDRESS[:PORT] to listen on (default: 127.0.0.1:18515)")
      ->group(server);
  app.add_flag("--once", options.once, "End after one run")->group(server);
  app.add_option("--max-memory-mib", options.max_memory_mib,
                 "Of a store, of message buffers, or of plain verbs' memory")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str()
      ->group(server);
  app.add_option("--max-threads", options.max_threads, "Workers, or plain verbs' receivers and own clients")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str()
      ->group(server);
  app.add_option("--max-duration-s", options.max_duration_s, "Of one point, in seconds")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str()
      ->group(server);
  app.add_option("--cores", options.cores, "CPUs of those threads: 0,1 (default: any)")
      ->delimiter(',')
      ->group(server)
      ->allow_extra_args(false);

  try {
    app.parse(argc, argv);
    const auto refuse = [](const std::string& why) { throw CLI::ValidationError(why, 2); };
    if (options.role == Role::client && options.server.empty())
      refuse("--role client needs --server HOST[:PORT]");
    if (options.role != Role::client && !options.server.empty()) refuse("--server is for --role client");
    if (options.role != Role::client && (options.join || options.processes != 1)) {
      refuse("--join and --processes are for --role client");
    }
    if (options.join && options.processes != 1)
      refuse("--processes is for the process that brings the scenario");
    const bool brings_scenario = options.role != Role::server && !options.join;
    if (brings_scenario && options.scenario.empty()) refuse("--scenario FILE is missing (see scenarios/)");
    if (!brings_scenario &&
        !(options.scenario.empty() && options.overrides.empty() && options.clients.empty() &&
          options.out.empty() && options.trace_ending.empty())) {
      refuse("the scenario, its overrides and the report belong to the client process that leads the run");
    }
    if (options.role != Role::server && !(options.listen.empty() && options.cores.empty() && !options.once)) {
      refuse("--listen, --cores and --once are for --role server");
    }
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return {.options = std::nullopt, .exit_code = code == 0 ? 0 : 2};
  }
  options.command_line.assign(argv, argv + argc);
  return {.options = std::move(options), .exit_code = 0};
}

}  // namespace rkv::real

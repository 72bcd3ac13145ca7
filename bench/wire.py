#!/usr/bin/python3
"""soft0's wire beside kernel sockets and libfabric: round trips and bandwidth between two processes, busy."""
import os
import re
import shutil
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "support"))
from loopback_ports import free_port, listens  # noqa: E402
from roundtrip import Failed, output_of, two_cpus  # noqa: E402
from turns import options_of  # noqa: E402

MESSAGE_BYTES = 350
BULK_BYTES = 65_536
TCP, UDP = "TCP loopback", "bare UDP"


def two_processes(server_words, client_words, port, cpus, environment=None):
    """What the client prints of a program whose server listens on that port."""
    on = [["taskset", "--cpu-list", str(cpu), *words] for cpu, words in zip(cpus, (client_words, server_words))]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(on[1], env=environment, **quiet)
    try:
        deadline = time.monotonic() + 10
        while not listens(port):
            if server.poll() is not None or time.monotonic() > deadline:
                raise Failed(f"{' '.join(server_words)}: the server does not listen")
            time.sleep(0.02)
        return output_of([*on[0], "127.0.0.1"], env=environment)
    finally:
        server.kill()
        server.wait()


def perftest(program, arguments, library, cpus):
    """The fields of the line with its result."""
    port = free_port()
    environment = dict(os.environ, LD_PRELOAD=os.path.abspath(library))
    words = [program, "-d", "soft0", "-x", "0", "-F", "-p", str(port), *map(str, arguments)]
    text = two_processes(words, words, port, cpus, environment)
    rows = [line.split() for line in text.splitlines() if re.fullmatch(r"\s*\d+\s+\d+(\s+[\d.]+)+\s*", line)]
    if not rows:
        raise Failed(f"{program} printed no result: {text.strip()}")
    return [float(field) for field in rows[-1]]


def send_latency_ns(transport, iterations, library, cpus):
    """Twice the median of ib_send_lat, which is one way."""
    typical = 4
    fields = perftest("ib_send_lat", ["-c", transport, "-s", MESSAGE_BYTES, "-n", iterations], library, cpus)
    return 2000 * fields[typical]


def write_bandwidth(messages, library, cpus):
    average = 3
    fields = perftest("ib_write_bw", ["-c", "RC", "-s", BULK_BYTES, "-n", messages, "--report_gbits"], library, cpus)
    return fields[average] * 1000 / 8


def read_bandwidth(messages, library, cpus):
    average = 3
    fields = perftest("ib_read_bw", ["-c", "RC", "-s", BULK_BYTES, "-n", messages, "--report_gbits"], library, cpus)
    return fields[average] * 1000 / 8


def fabric_ns(provider, endpoint, iterations, cpus):
    """Twice the mean one-way time of fi_pingpong."""
    port = free_port()
    words = ["fi_pingpong", "-p", provider, "-e", endpoint, "-S", str(MESSAGE_BYTES), "-I", str(iterations)]
    text = two_processes([*words, "-B", str(port)], [*words, "-P", str(port)], port, cpus)
    found = re.search(r"^\d+\s+.*\s([\d.]+)\s+[\d.]+\s*$", text, re.MULTILINE)
    if not found:
        raise Failed(f"fi_pingpong printed no result: {text.strip()}")
    return 2000 * float(found.group(1))


def printed(pattern, command):
    found = re.search(pattern, output_of(command))
    if not found:
        raise Failed(f"{' '.join(command)} printed no result")
    return float(found.group(1))


def measured(contenders, rounds, what):
    values = {name: [] for name in contenders}
    for turn in range(rounds):
        if sys.stderr.isatty():
            print(f"{what}: round {turn + 1} of {rounds}", file=sys.stderr)
        for name, measure in contenders.items():
            values[name].append(measure())
    return values


def table(title, unit, values, references):
    print(f"\n{title}\n\n{'':28} {unit:>10} {'lowest':>9} {'highest':>9}" + "".join(f"{'of ' + r:>17}" for r in references))
    medians = {name: statistics.median(each) for name, each in values.items()}
    for name, each in values.items():
        ratios = "".join(f"{medians[name] / medians[r]:17.2f}" for r in references)
        print(f"{name:28} {medians[name]:10.0f} {min(each):9.0f} {max(each):9.0f}{ratios}")


def main():
    options = options_of(__doc__, iterations=50_000)
    library = os.path.join(options.build, "backends/verbs/soft/librkv-soft.so")
    sockets = os.path.join(options.build, "bench/rkv_bench_socket_pingpong")
    messages = max(1000, options.iterations // 5)
    try:
        cpus = two_cpus()
        for program, package in (("ib_send_lat", "perftest"), ("fi_pingpong", "libfabric-bin")):
            if not shutil.which(program):
                raise Failed(f"{program} is missing: install the package {package}")
        cores = ["--cores", f"{cpus[0]},{cpus[1]}"]
        ping = [sockets, "--bytes", str(MESSAGE_BYTES), "--iterations", str(options.iterations), *cores]
        bulk = [sockets, "--stream", "--bytes", str(BULK_BYTES), "--iterations", str(messages), *cores]
        pings = {
            TCP: lambda: printed(r"median (\d+) ns", ping),
            UDP: lambda: printed(r"median (\d+) ns", [*ping, "--udp"]),
            "soft0 RC, SEND": lambda: send_latency_ns("RC", options.iterations, library, cpus),
            "soft0 UC, SEND": lambda: send_latency_ns("UC", options.iterations, library, cpus),
            "soft0 UD, SEND": lambda: send_latency_ns("UD", options.iterations, library, cpus),
            "libfabric, shared memory": lambda: fabric_ns("shm", "rdm", options.iterations, cpus),
            "libfabric, UDP": lambda: fabric_ns("udp", "dgram", options.iterations, cpus),
        }
        streams = {
            TCP: lambda: printed(r"([\d.]+) MB/s", bulk),
            "soft0 RC, WRITE": lambda: write_bandwidth(messages, library, cpus),
            "soft0 RC, READ": lambda: read_bandwidth(messages, library, cpus),
        }
        latencies = measured(pings, options.rounds, "round trips")
        rates = measured(streams, options.rounds, "bandwidth")
    except (Failed, OSError, subprocess.TimeoutExpired) as error:
        print(f"wire: {error}", file=sys.stderr)
        return 1
    where = f"busy, CPUs {cpus[0]} and {cpus[1]}; median of {options.rounds} turns"
    table(f"Round trips of {MESSAGE_BYTES} B, {where} (of each turn its median, of libfabric its mean)", "ns", latencies,
          (TCP, UDP))
    table(f"{BULK_BYTES} B one way, {where}", "MB/s", rates, (TCP,))
    return 0


if __name__ == "__main__":
    sys.exit(main())

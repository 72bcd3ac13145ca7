#!/usr/bin/python3
"""Round trips beside each other: bare verbs on soft0, UCX's shared memory, TCP loopback, rkv's PING and GET."""
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests", "support"))
from loopback_ports import free_port  # noqa: E402
from turns import options_of  # noqa: E402

MESSAGE_BYTES = 352  # the thesis's request
UCX, TCP = "UCX posix, tag", "TCP loopback, busy"


class Failed(Exception):
    """A contender could not be measured; the message says why."""


def output_of(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, **more)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)} ended with {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def two_cpus():
    """Two CPUs this process may use: of different cores of one socket, if there are such."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        raise Failed("a busy ping-pong needs two CPUs, this process may use one")

    def place(cpu):
        try:
            topology = f"/sys/devices/system/cpu/cpu{cpu}/topology"
            return tuple(open(f"{topology}/{name}").read().strip() for name in ("physical_package_id", "core_id"))
        except OSError:
            return ("0", str(cpu))

    first = place(cpus[0])
    for cpu in cpus[1:]:
        package, core = place(cpu)
        if package == first[0] and core != first[1]:
            return cpus[0], cpu
    return cpus[0], cpus[1]


def ping_pong(program, iterations, cpus):
    """The median that our own ping-pong programs print."""
    command = [program, "--bytes", str(MESSAGE_BYTES), "--iterations", str(iterations)]
    text = output_of(command + ["--cores", f"{cpus[0]},{cpus[1]}"])
    found = re.search(r"median (\d+) ns", text)
    if not found:
        raise Failed(f"{program} printed no median: {text.strip()}")
    return float(found.group(1))


def ucx(iterations, cpus):
    """Twice the one-way median of ucx_perftest's tag_lat."""
    port = str(free_port())
    environment = dict(os.environ, UCX_TLS="posix,self")
    base = ["ucx_perftest", "-p", port]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server = subprocess.Popen(base + ["-c", str(cpus[1])], env=environment, **quiet)
    try:
        test = ["-t", "tag_lat", "-s", str(MESSAGE_BYTES), "-n", str(iterations), "-f", "-v"]
        command = base + ["-c", str(cpus[0])] + test + ["127.0.0.1"]
        for attempt in range(50):  # until the server listens
            try:
                text = output_of(command, env=environment)
                break
            except Failed:
                if attempt == 49 or server.poll() is not None:
                    raise
                time.sleep(0.1)
        server.wait(timeout=10)
    finally:
        server.kill()
        server.wait()
    # iterations, one-way median in us, average, overall, ...
    rows = [line.split(",") for line in text.splitlines() if re.fullmatch(r"\d+(,[\d.]+)+", line)]
    if not rows:
        raise Failed(f"ucx_perftest printed no result: {text.strip()}")
    return 2 * float(rows[-1][1]) * 1000


def rkv(program, operation, iterations, cpus):
    """The median latency in a report of rkv-real."""
    weights = {"ping": 0, "get": 0, "set": 0, operation: 1}
    settings = [f"operations.{name}={weight}" for name, weight in weights.items()]
    settings += [f"load.total_operations={iterations}", f"client.cores=[{cpus[0]}]", f"server.cores=[{cpus[1]}]"]
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "--quiet", "--device", "soft0", "--out", os.path.join(folder, "report")]
        command += ["--scenario", os.path.join(HERE, "roundtrip.json")]
        for setting in settings:
            command += ["--set", setting]
        output_of(command)
        with open(os.path.join(folder, "report", "report.json"), encoding="utf-8") as file:
            point = json.load(file)["points"][0]
    if point["partial"]:
        raise Failed(f"rkv-real: {point.get('partial_reason', 'a partial point')}")
    return point["latency_us"]["p50"] * 1000


def main():
    options = options_of(__doc__, iterations=200_000)

    def built(path):
        return os.path.join(options.build, path)

    try:
        cpus = two_cpus()
        if not shutil.which("ucx_perftest"):
            raise Failed("ucx_perftest is missing: install the package ucx-utils")
        verbs = "verbs UC on soft0"
        real = built("backends/verbs/rkv_real/rkv-real")
        contenders = {
            verbs: lambda: ping_pong(built("backends/verbs/soft/rkv_soft_pingpong"), options.iterations, cpus),
            UCX: lambda: ucx(options.iterations, cpus),
            TCP: lambda: ping_pong(built("bench/rkv_bench_socket_pingpong"), options.iterations, cpus),
            "rkv PING, UC on soft0": lambda: rkv(real, "ping", options.iterations, cpus),
            "rkv GET, UC on soft0": lambda: rkv(real, "get", options.iterations, cpus),
        }
        round_trips_ns = {name: [] for name in contenders}
        for turn in range(options.rounds):
            print(f"round {turn + 1} of {options.rounds}", file=sys.stderr)
            for name, measure in contenders.items():
                round_trips_ns[name].append(measure())
    except (Failed, OSError, subprocess.TimeoutExpired) as error:
        print(f"roundtrip: {error}", file=sys.stderr)
        return 1

    median_ns = {name: statistics.median(values) for name, values in round_trips_ns.items()}
    print(f"\nRound trips of {MESSAGE_BYTES} B, busy, CPUs {cpus[0]} and {cpus[1]}; median of each turn, then of "
          f"{options.rounds} turns\n")
    print(f"{'':24} {'median ns':>10} {'lowest':>8} {'highest':>8} {'of UCX':>8} {'of TCP':>8}")
    for name, values in round_trips_ns.items():
        print(f"{name:24} {median_ns[name]:10.0f} {min(values):8.0f} {max(values):8.0f} "
              f"{median_ns[name] / median_ns[UCX]:8.2f} {median_ns[name] / median_ns[TCP]:8.3f}")
    print(f"\n{verbs} takes {median_ns[verbs] / median_ns[UCX]:.2f} times UCX's round trip (aim: at most 2); "
          f"TCP's takes {median_ns[TCP] / median_ns[verbs]:.1f} times it (aim: at least 5)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

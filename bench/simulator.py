#!/usr/bin/python3
"""How fast rkv-sim simulates: operations a second of wall time, what one costs, and peak memory, by clients."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SCENARIOS = ("uc_nonblocking", "uc_blocking")
PROFILE = "das5"
CLIENTS = (10, 60, 1000, 10_000)
PROBE_OPERATIONS = 20_000


class Failed(Exception):
    """A simulation went wrong; the message says how."""


def simulate(program, scenario, clients, operations):
    """Wall seconds and peak bytes of one simulation, by itself."""
    settings = [f"load.total_operations={operations}", "load.connect_pause_ms=0", "load.start_stagger_ms=0"]
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "report")
        command = [program, "--quiet", "--jobs", "1", "--clients", str(clients), "--out", out]
        command += ["--scenario", os.path.join(ROOT, "scenarios", f"{scenario}.json")]
        command += ["--profile", os.path.join(ROOT, "calibration", "profiles", f"{PROFILE}.json")]
        for setting in settings:
            command += ["--set", setting]
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)  # counts the simulating process too, which it has waited for
        wall_s = time.perf_counter() - begin
        if os.waitstatus_to_exitcode(status) != 0:
            raise Failed(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
        with open(os.path.join(out, "report.json"), encoding="utf-8") as file:
            (point,) = json.load(file)["points"]
    if point["operations"] != operations:
        raise Failed(f"{scenario} with {clients} clients: {point['operations']} operations instead of {operations}")
    return wall_s, usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build", metavar="DIR", help="release build (default: build)")
    parser.add_argument("--seconds", type=float, default=5, metavar="S", help="wall time of each (default: 5)")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS, metavar="N", help="default: 10 60 1000 10000")
    options = parser.parse_args()
    program = os.path.join(options.build, "backends/sim/rkv_sim/rkv-sim")
    print(f"Profile {PROFILE}, one simulation at a time. Set-up is the wall time before and after the operations.\n")
    print(f"{'scenario':16} {'clients':>7} {'operations':>11} {'set-up s':>9} {'ops/s':>9} {'us/op':>7} {'peak MiB':>9}")
    try:
        for scenario in SCENARIOS:
            for clients in options.clients:
                # Two lengths tell what an operation costs from what a simulation costs.
                few = max(PROBE_OPERATIONS, 2 * clients)
                few_s, _ = simulate(program, scenario, clients, few)
                many = 4 * few
                many_s, peak_bytes = simulate(program, scenario, clients, many)
                if many_s < options.seconds:
                    each_s = max(many_s - few_s, 1e-3) / (many - few)
                    many += int((options.seconds - many_s) / each_s)
                    many_s, peak_bytes = simulate(program, scenario, clients, many)
                each_s = (many_s - few_s) / (many - few)
                print(f"{scenario:16} {clients:7} {many:11} {many_s - many * each_s:9.2f} {1 / each_s:9.0f} "
                      f"{each_s * 1e6:7.2f} {peak_bytes / 2**20:9.0f}", flush=True)
    except (Failed, OSError) as error:
        print(f"simulator: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

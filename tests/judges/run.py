#!/usr/bin/python3
"""Other people's verbs programs, as Debian packages them, on soft0: each in two processes, over the wire.

programs.csv has a line each: its name, its arguments, and what is expected: "passes", or why it does not, and what it
says then. A line that does otherwise is a failure, so the table is true.
"""

import argparse
import csv
import os
import pathlib
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from loopback_ports import free_port, listens  # noqa: E402

TABLE = pathlib.Path(__file__).with_name("programs.csv")
PATIENCE_S = 60
PINGPONGS = ("ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong", "ibv_srq_pingpong")
ALONE = ("ibv_devinfo", "ibv_devices")
# librdmacm's programs: how their two sides are called.
RDMACM = {
    "cmtime": ("cmtime -b 127.0.0.1 -p {port}", "cmtime -s 127.0.0.1 -b 127.0.0.1 -p {port}"),
    "mckey": ("mckey -b 127.0.0.1", "mckey -b 127.0.0.1 -s"),
    "rdma_client": ("rdma_server -p {port}", "rdma_client -s 127.0.0.1 -p {port}"),
    "rdma_xclient": ("rdma_xserver -p {port}", "rdma_xclient -s 127.0.0.1 -p {port}"),
    "rping": ("rping -s -a 127.0.0.1 -p {port}", "rping -c -a 127.0.0.1 -p {port}"),
    "rstream": ("rstream -b 127.0.0.1 -p {port}", "rstream -s 127.0.0.1 -p {port}"),
    "ucmatose": ("ucmatose -b 127.0.0.1 -p {port}", "ucmatose -s 127.0.0.1 -p {port}"),
    "udaddy": ("udaddy -b 127.0.0.1", "udaddy -s 127.0.0.1"),
}
UDADDY_PORT = 7174  # its only one
SERVES_FOR_EVER = ("cmtime",)


def commands(program, arguments, port):
    """What to run: a server and its client, or one program."""
    if program in ALONE:
        return [[program, *arguments]]
    if program in RDMACM:
        return [[*side.format(port=port).split(), *arguments] for side in RDMACM[program]]
    device = ["-d", "soft0", *(("-g", "0") if program in PINGPONGS else ("-x", "0", "-F"))]
    server = [program, *device, "-p", str(port), *arguments]
    return [server, [*server, "127.0.0.1"]]


class Judgement:
    def __init__(self, library):
        self.environment = {**os.environ, "LD_PRELOAD": library}

    def start(self, words):
        return subprocess.Popen(
            words, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip

    def outcome(self, program, arguments):
        """None, or what went wrong."""
        port = UDADDY_PORT if program == "udaddy" else free_port()
        server, *client = commands(program, arguments, port)
        processes = [self.start(server)]
        try:
            if client:
                deadline = time.monotonic() + PATIENCE_S
                while not listens(port) and processes[0].poll() is None and time.monotonic() < deadline:
                    time.sleep(0.02)
                processes.append(self.start(*client))
            failure, said = self.judge(processes[1:] if program in SERVES_FOR_EVER else processes)
            if failure is None and program in ALONE and "soft0" not in said:
                return "says nothing of soft0"
            return failure
        finally:
            for process in processes:
                process.kill()
                process.communicate()

    @staticmethod
    def judge(processes):
        """What went wrong, or None, and what they said."""
        deadline = time.monotonic() + PATIENCE_S
        said = ""
        for process in reversed(processes):
            try:
                text, _ = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                return f"not done after {PATIENCE_S} s", said
            said += text
            if process.returncode != 0:
                return f"exit status {process.returncode}: {' | '.join(text.split(chr(10))[-4:])}", said
        return None, said


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True, help="librkv-soft.so")
    parser.add_argument("--only", default="", help="lines that contain this")
    options = parser.parse_args()
    judgement = Judgement(str(pathlib.Path(options.library).resolve()))
    wrong = 0
    counted = {"passed": 0, "as expected not": 0, "missing": 0}
    with TABLE.open(newline="") as table:
        lines = [line for line in csv.DictReader(table) if options.only in f"{line['program']} {line['arguments']}"]
    for line in lines:
        name = f"{line['program']} {line['arguments']}".strip()
        if shutil.which(line["program"]) is None:
            print(f"MISSING {name}: scripts/install", flush=True)
            counted["missing"] += 1
            wrong += 1
            continue
        failure = judgement.outcome(line["program"], line["arguments"].split())
        expected = line["expected"] == "passes"
        if failure is None:
            counted["passed"] += 1
        elif not expected:
            counted["as expected not"] += 1
        if (failure is None) != expected or (failure is not None and line["says"] not in failure):
            wrong += 1
            print(f"WRONG   {name}: expected: {line['expected']}; {failure or 'passed'}", flush=True)
        else:
            print(f"{'passed ' if expected else 'fails  '} {name}", flush=True)
    print(f"{len(lines)} programs: " + ", ".join(f"{count} {what}" for what, count in counted.items()))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

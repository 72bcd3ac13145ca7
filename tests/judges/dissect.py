#!/usr/bin/python3
"""Wireshark's word on soft0's packets: what processes send each other over the wire is captured and dissected.

That happens in a network namespace, where nobody else's packets are. There the kernel is told that the interface can't
cut trains of packets (UDP_SEGMENT), so it cuts them first, and single packets are captured. tshark must find each of
them well-formed, and see every opcode and every kind of acknowledgement. It shows ICRCs but does not verify them: that
is done here, with the IPv4 identification, which a receiver never sees. Empty datagrams, by which a sender learns how
its socket numbers what follows, are none of RoCEv2 and only counted.

First the judge is judged: packets of the kernel's driver must pass, and damaged ones must not.
Exit status 77: it can't be done on this machine.
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
from loopback_ports import free_port  # noqa: E402
from packets import BASE_AT, UDP_AT, damaged, from_port, icrc, read_capture, write_capture  # noqa: E402
from run import Judgement  # noqa: E402

SKIPPED = 77
ROCE_PORT = 4791
TOOLS = ("unshare", "ip", "dumpcap", "tshark")
KERNELS = HERE.parent / "soft" / "data" / "rxe.pcap"
PEER = HERE.parent / "vm" / "peer.py"
CUT = ("ip", "link", "set", "lo", "up", "gso_max_segs", "1")
BAD_NETWORK = {"RKV_SOFT_DROP": "0.02", "RKV_SOFT_DUPLICATE": "0.02", "RKV_SOFT_REORDER": "0.02"}
ATTEMPTS_ON_A_BAD_NETWORK = 3
PROGRAMS = (
    ("ibv_rc_pingpong", "-n 100 -s 10000 -m 1024", BAD_NETWORK),
    ("ib_read_bw", "-c RC -s 65536 -n 20", BAD_NETWORK),
    ("ib_atomic_lat", "-A CMP_AND_SWAP -n 50", BAD_NETWORK),
    ("ibv_uc_pingpong", "-n 100 -s 10000 -m 1024", {}),
    ("ib_write_bw", "-c UC -s 65536 -n 20", {}),
    ("ibv_ud_pingpong", "-n 100 -s 1024", {}),
)
# What tshark thinks of any UDP packet from such a port. Threads send from a free one, which may be of these.
TRACEROUTES_PORT = 33436
TRACEROUTE = re.compile(r"Possible traceroute: hop #\d+, attempt #\d+")
WRITE_ONLY = {10, 11, 42, 43}
WRITE_ONLY_RC = 10
OPCODES = {*range(0, 21), *range(32, 44), 100, 101}  # all of RC, of UC, of UD
ACKNOWLEDGEMENTS = {
    ("0", ""): "acknowledged",
    ("1", ""): "receiver not ready",
    ("3", "0"): "sequence error",
    ("3", "1"): "invalid request",
    ("3", "2"): "remote access error",
    ("3", "3"): "remote operation error",
}
FIELDS = {
    "protocols": "frame.protocols",
    "malformed": "_ws.malformed",
    "expert": "_ws.expert.message",
    "opcode": "infiniband.bth.opcode",
    "version": "infiniband.bth.tver",
    "padding": "infiniband.bth.padcnt",
    "partition": "infiniband.bth.p_key",
    "reserved": "infiniband.reserved",
    "more_reserved": "infiniband.bth.reserved7",
    "length": "infiniband.reth.dmalen",
    "syndrome": "infiniband.aeth.syndrome.opcode",
    "error": "infiniband.aeth.syndrome.error_code",
    "data": "data.len",
    "icrc": "infiniband.invariant.crc",
    "info": "_ws.col.Info",
}
Dissection = collections.namedtuple("Dissection", FIELDS)


def quietly(words):
    return subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def no_guesses():
    """Options: tshark looks for other protocols in payloads, and finds them in anything."""
    options = ["--disable-heuristic", "eth_over_ib"]
    for line in quietly(["tshark", "-G", "heuristic-decodes"]).stdout.splitlines():
        where, protocol, _ = line.split("\t")
        if where == "infiniband.payload" and protocol != "ethertype":
            options += ["--disable-protocol", protocol]
    return options


def dissect(capture):
    """Of each frame what tshark sees in it."""
    fields = [word for field in FIELDS.values() for word in ("-e", field)]
    done = quietly(["tshark", "-n", "-r", capture, *no_guesses(), "-T", "fields", *fields])
    if done.returncode != 0:
        raise RuntimeError(f"tshark: {done.stderr}")
    return [Dissection(*line.split("\t")) for line in done.stdout.splitlines()]


def is_empty(frame):
    """Whether a frame is a datagram to RoCEv2's port without a byte in it."""
    port, length = struct.unpack_from(">HH", frame, UDP_AT + 2)
    return len(frame) == BASE_AT and (port, length) == (ROCE_PORT, BASE_AT - UDP_AT)


def wrong_with(seen, frame):
    """Nothing, or a text."""
    if is_empty(frame):
        return ""
    if not seen.protocols.startswith("eth:ethertype:ip:udp:infiniband"):
        return f"not RoCEv2 but {seen.protocols}"
    expert = TRACEROUTE.sub("", seen.expert).strip(",")
    if seen.malformed or expert:
        return f"malformed: {seen.malformed} {expert}"
    if int(seen.opcode) not in OPCODES:
        return f"opcode {seen.opcode}"
    reserved = {*seen.reserved.split(","), seen.more_reserved}
    if (seen.version, seen.partition) != ("0", "65535") or reserved != {"00", "0"}:
        return f"version {seen.version}, partition {seen.partition}, reserved bits {sorted(reserved)}"
    if int(seen.opcode) in WRITE_ONLY and int(seen.length) != int(seen.data or 0) - int(seen.padding):
        return f"says {seen.length} bytes, has {seen.data} with {seen.padding} of padding"
    wanted = icrc(frame)
    if frame[-len(wanted) :] != wanted or int(seen.icrc, 16) != int.from_bytes(wanted, "big"):
        return f"ICRC {seen.icrc}, not 0x{wanted.hex()}"
    return ""


def judged(capture):
    """Dissections, and what is wrong with each."""
    frames, dissections = read_capture(capture), dissect(capture)
    if len(frames) != len(dissections):
        raise RuntimeError(f"{len(frames)} frames, of which tshark shows {len(dissections)}")
    return dissections, [wrong_with(seen, frame) for seen, frame in zip(dissections, frames)]


def judge_is_fit(folder):
    fit = True
    frames = read_capture(KERNELS)
    write_capture(folder / "traceroute.pcap", [from_port(frame, TRACEROUTES_PORT) for frame in frames])
    for capture in (KERNELS, folder / "traceroute.pcap"):
        for frame, wrong in zip(read_capture(capture), judged(capture)[1]):
            if wrong:
                fit = False
                print(f"WRONG   the kernel's packet {frame.hex()}: {wrong}")
    cases = damaged(next(frame for frame in frames if frame[BASE_AT] == WRITE_ONLY_RC))
    write_capture(folder / "damaged.pcap", cases.values())
    for what, wrong in zip(cases, judged(folder / "damaged.pcap")[1]):
        print(f"{'found   ' if wrong else 'MISSED  '}{what}: {wrong}")
        fit = fit and bool(wrong)
    return fit


def traffic(options):
    """What went wrong of what was run."""
    for program, arguments, faults in PROGRAMS:
        judgement = Judgement(str(options.library))
        judgement.environment.update(faults)
        failure = judgement.outcome(program, arguments.split())
        # Where the last acknowledgement is lost and its sender has ended, the other side fails for want of it.
        for _ in range(ATTEMPTS_ON_A_BAD_NETWORK - 1 if faults else 0):
            failure = failure and judgement.outcome(program, arguments.split())
        if failure:
            yield f"{program} {arguments}: {failure}"
    environment = {**os.environ, "LD_PRELOAD": str(options.library)}
    port = str(free_port())
    words = [sys.executable, "-B", str(PEER)]
    with subprocess.Popen([*words, "serve", "soft0", "0", port], env=environment) as server:
        if subprocess.run([*words, "ask", "soft0", "0", port, "127.0.0.1"], env=environment, check=False).returncode:
            server.kill()
            yield "two queue pairs of RC (above)"
    for test in options.mirrored:
        done = quietly([options.mirror, "--", test])
        if done.returncode:
            yield f"{test}: {done.stdout[-2000:]}{done.stderr}"


def captured(options, capture):
    """Runs the traffic. What failed of it."""
    words = ["dumpcap", "-q", "-P", "-i", "lo", "-f", "udp", "-B", "64", "-w", capture]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as dumpcap:
        said = ""
        while "File:" not in said:
            line = dumpcap.stderr.readline()
            if not line:
                print(f"SKIPPED: no right to capture: {said}")
                sys.exit(SKIPPED)
            said += line
        failures = list(traffic(options))
        time.sleep(0.5)  # its last packets
        dumpcap.send_signal(signal.SIGINT)
        print(dumpcap.stderr.read().strip().splitlines()[-1])
    return failures


def report(dissections, wrong):
    """What is seen; whether that is all that there is to see, and right."""
    right = not any(wrong)
    names = {int(seen.opcode): seen.info.split("QP=")[0].strip() for seen in dissections if seen.opcode}
    for opcode, count in sorted(collections.Counter(int(s.opcode) for s in dissections if s.opcode).items()):
        print(f"{count:8} {opcode:#04x} {names[opcode]}")
    kinds = collections.Counter((seen.syndrome, seen.error) for seen in dissections if seen.syndrome)
    for kind, count in sorted(kinds.items()):
        print(f"{count:8} {ACKNOWLEDGEMENTS.get(kind, kind)}")
    missing = [*sorted(OPCODES - names.keys()), *(text for kind, text in ACKNOWLEDGEMENTS.items() if kind not in kinds)]
    if missing:
        right = False
        print(f"WRONG   not seen: {missing}")
    for number, text in [(number, text) for number, text in enumerate(wrong, 1) if text][:20]:
        print(f"WRONG   packet {number}: {text}")
    empty = sum(not seen.opcode for seen, text in zip(dissections, wrong) if not text)
    print(f"{len(wrong) - empty} packets, {sum(map(bool, wrong))} of them wrong; {empty} empty datagrams")
    return right


def judge(options):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        fit = judge_is_fit(folder)
        capture = options.keep or folder / "capture.pcap"
        failures = captured(options, capture)
        for failure in failures:
            print(f"WRONG   {failure}")
        return 0 if report(*judged(capture)) and fit and not failures else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, type=pathlib.Path, help="librkv-soft.so")
    parser.add_argument("--mirror", required=True, type=pathlib.Path, help="wire_mirror")
    parser.add_argument("--mirrored", nargs="+", required=True, type=pathlib.Path, help="tests that run over it")
    parser.add_argument("--keep", metavar="FILE", help="keep the capture there")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)  # the namespace
    options = parser.parse_args()
    options.library = options.library.resolve()
    if options.inside:
        subprocess.run(CUT, check=True)
        return judge(options)
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    alone = ["unshare", "--map-root-user", "--net"]
    refused = f"{', '.join(missing)} missing: scripts/install" if missing else quietly([*alone, *CUT]).stderr.strip()
    if refused:
        print(f"SKIPPED: {refused}")
        return SKIPPED
    os.execvp(alone[0], [*alone, sys.executable, "-B", *sys.argv, "--inside"])


if __name__ == "__main__":
    sys.exit(main())

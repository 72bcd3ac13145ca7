"""soft0 on this machine with the kernel's Soft-RoCE in the virtual one: each the judge of the other's packets.

Runs in the network of tests/vm/network, and boots the machine (tests/vm/run) once, for all tests.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "rkv_real"), str(HERE.parent / "support")]
import program_test  # noqa: E402
from program import OPERATIONS_OF_VERBS, PATIENCE_S, ProgramTest, main  # noqa: E402
from remote import NO_ANSWER  # noqa: E402

TAP = "rkv-tap"
MACHINE_S = 480
REMOTE = HERE / "remote.py"
PEER = HERE / "peer.py"
# Perftest found no use for its clock, beside whatever else ran.
NO_CLOCK = "Correlation coefficient"
ATTEMPTS = 5
REFUSED = "Couldn't connect"  # say the programs of both packages when their server does not listen yet


class Kernel:
    """The virtual machine's side."""

    address = "10.8.0.2"
    device = ("rxe_tap", 1)

    @staticmethod
    def command(*arguments):
        return [REMOTE, "run", Kernel.address, *arguments]


class Soft:
    """This side."""

    address = "10.8.0.1"
    device = ("soft0", 0)

    @staticmethod
    def command(*arguments):
        library = pathlib.Path(program_test.program).parents[1] / "soft/librkv-soft.so"
        return ["env", f"LD_PRELOAD={library}", f"RKV_SOFT_ADDRESS={Soft.address}", *arguments]


ROUNDS = 100
# Messages of one packet and of many; with padding; the largest path MTU
PINGPONGS = (
    ("ibv_rc_pingpong", "-s", "1001"),
    ("ibv_rc_pingpong", "-s", "10002", "-e"),
    ("ibv_rc_pingpong", "-s", "65535", "-m", "4096"),
    ("ibv_srq_pingpong", "-s", "5000"),
    ("ibv_uc_pingpong", "-s", "1003"),
    ("ibv_uc_pingpong", "-s", "10001", "-m", "4096"),
    ("ibv_ud_pingpong", "-s", "1001"),
    ("ibv_ud_pingpong", "-s", "4096"),
)
# ..._bw: many requests on their way at once
PERFTEST = (
    ("ib_send_lat",),
    ("ib_send_lat", "-c", "UD"),
    ("ib_send_bw", "-s", "9999", "-m", "1024"),
    ("ib_write_lat",),
    ("ib_write_lat", "-c", "UC", "-s", "5000", "-m", "1024"),
    ("ib_write_bw", "-s", "9999", "-m", "1024"),
    ("ib_read_lat",),
    ("ib_read_bw", "-s", "30000", "-m", "1024"),
    ("ib_atomic_lat", "-A", "FETCH_AND_ADD"),
    ("ib_atomic_bw", "-A", "CMP_AND_SWAP"),
)
# RC's operations again where packets are lost both ways
RELIABLE = (
    ("ib_send_bw", "-s", "9999", "-m", "1024"),
    ("ib_write_bw", "-s", "9999", "-m", "1024"),
    ("ib_read_bw", "-s", "9999", "-m", "1024"),
    ("ib_atomic_bw", "-A", "FETCH_AND_ADD"),
)
# What the kernel sends, and what soft0 does. Late packets are not among the kernel's: with many on their way hardly one of
# them comes in its turn, and RC, which takes no other, hardly gets on.
KERNEL_LOSES = "loss 2% duplicate 1%"
SOFT_LOSES = {"RKV_SOFT_DROP": "0.02", "RKV_SOFT_DUPLICATE": "0.01", "RKV_SOFT_REORDER": "0.01"}
# Of the kernel's: it was asked again, found a packet missing, sent again
REPAIRS = ("duplicate_request", "out_of_seq_request", "completer_retry_err")
OPERATIONS = 150
SCENARIOS = HERE.parents[1] / "scenarios"
SETTINGS = tuple(
    word
    for setting in (
        f"load.total_operations={OPERATIONS}",
        "load.connect_pause_ms=0",
        "load.start_stagger_ms=0",
        "check=true",
    )
    for word in ("--set", setting)
)
RETRIES = ("--set", "retry.timeout_ms=50", "--set", "retry.retries=10")
WAYS = ((Kernel, Soft), (Soft, Kernel))  # server, client


def setUpModule():
    global machine
    machine = subprocess.Popen(
        [HERE / "run", "--tap", TAP, "--timeout-s", str(MACHINE_S), "--", REMOTE, "serve"]
    )
    end = time.monotonic() + PATIENCE_S
    while subprocess.run(Kernel.command("true"), stderr=subprocess.DEVNULL, check=False).returncode == NO_ANSWER:
        if machine.poll() is not None:
            sys.exit(machine.returncode)
        if time.monotonic() > end:
            machine.terminate()
            sys.exit("the virtual machine does not answer")
        time.sleep(0.2)


def tearDownModule():
    subprocess.run([REMOTE, "stop", Kernel.address], check=False)
    if machine.wait() != 0:
        sys.exit(machine.returncode)


needs_perftest = unittest.skipUnless(
    shutil.which("ib_send_lat"), "SKIPPED: soft0 was NOT tested with perftest, which is not installed"
)


class Interoperation(ProgramTest):
    port = 18515
    runs = 0

    def start_on(self, side, *command):
        """A command of one side; stderr is in its stdout."""
        process = subprocess.Popen(
            list(map(str, side.command(*command))),
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.processes.append(process)
        return process

    def run_on(self, side, *command):
        code, out, _ = self.finish(self.start_on(side, *command))
        self.assertEqual(code, 0, out)
        return out

    def between(self, server, client, program, *arguments, gid_option):
        """Runs a program of Debian's that is a server, or a client if it is given the server's address."""
        for _ in range(ATTEMPTS):
            outcomes = self.once_between(server, client, program, *arguments, gid_option=gid_option)
            if not any(NO_CLOCK in out for _, out in outcomes):
                break
        for code, out in outcomes:
            self.assertEqual(code, 0, out)

    def once_between(self, server, client, program, *arguments, gid_option):
        """Exit code and output of the client and of the server."""
        Interoperation.port += 1  # the last one's may be in use for a while

        def start(side, *more):
            device, gid_index = side.device
            options = ("-p", Interoperation.port, "-d", device, gid_option, gid_index)
            return self.start_on(side, program, *arguments, *options, *more)

        serving = start(server)
        while True:
            code, out, _ = self.finish(start(client, server.address))
            if code == 0 or REFUSED not in out or serving.poll() is not None:
                break
        if code != 0:
            serving.terminate()
        served_code, served_out, _ = self.finish(serving)
        return (code, out), (served_code, served_out)

    def both_ways(self, program, *arguments, gid_option):
        for server, client in WAYS:
            with self.subTest(program=program, arguments=arguments, server=server.device[0]):
                self.between(server, client, program, *arguments, gid_option=gid_option)

    def test_pingpong(self):
        for program, *arguments in PINGPONGS:
            self.both_ways(program, *arguments, "-n", ROUNDS, "-c", gid_option="-g")

    @needs_perftest
    def test_perftest(self):
        for program, *arguments in PERFTEST:
            self.both_ways(program, *arguments, "-n", ROUNDS, gid_option="-x")

    def test_data_and_errors(self):
        for server, client in WAYS:
            with self.subTest(server=server.device[0]):
                Interoperation.port += 1
                serving = self.start_on(server, PEER, "serve", *server.device, self.port)
                self.run_on(client, PEER, "ask", *client.device, self.port, server.address)
                code, out, _ = self.finish(serving)
                self.assertEqual(code, 0, out)

    @contextlib.contextmanager
    def bad_wire(self):
        self.run_on(Kernel, "tc", "qdisc", "add", "dev", "eth0", "root", "netem", *KERNEL_LOSES.split())
        try:
            with unittest.mock.patch.dict(os.environ, SOFT_LOSES):
                yield
        finally:
            self.run_on(Kernel, "tc", "qdisc", "delete", "dev", "eth0", "root")

    def repairs(self):
        folder = f"/sys/class/infiniband/{Kernel.device[0]}/ports/1/hw_counters"
        counts = self.run_on(Kernel, "cat", *(f"{folder}/{name}" for name in REPAIRS))
        return [int(count) for count in counts.split()]

    @needs_perftest
    def test_rc_on_a_bad_wire(self):
        before = self.repairs()
        with self.bad_wire():
            for program, *arguments in RELIABLE:
                self.both_ways(program, *arguments, "-n", ROUNDS, gid_option="-x")
        for name, earlier, now in zip(REPAIRS, before, self.repairs()):
            self.assertGreater(now, earlier, name)

    def serve(self, server, client, scenario, *settings):
        """A run of rkv-real's between the two; the report's points."""
        rkv_real = program_test.program
        where = ("--listen", f"{server.address}:0", "--device", server.device[0])
        serving = self.start_on(server, rkv_real, "--role", "server", "--once", *where)
        heard = ""
        while (listening := re.search(r"listening on (\S+)", heard)) is None:
            line = serving.stdout.readline()
            self.assertTrue(line, heard)
            heard += line
        Interoperation.runs += 1
        out = f"report-{Interoperation.runs}"  # in this test's folder, or what is gone with the machine
        arguments = ("--server", listening.group(1), "--device", client.device[0], "--clients", "1,2", "--out", out)
        scenario = ("--scenario", SCENARIOS / f"{scenario}.json", *settings)
        self.run_on(client, rkv_real, "--role", "client", *arguments, *scenario)
        code, said, _ = self.finish(serving)
        self.assertEqual(code, 0, said)
        return json.loads(self.run_on(client, "cat", f"{out}/report.json"))["points"]

    def right(self, points):
        """Every operation was done, and no response was wrong."""
        self.assertEqual([point["operations"] for point in points], [OPERATIONS, OPERATIONS])
        for point in points:
            self.assertFalse(point["partial"], point)
            self.assertEqual(point["check_violations"]["count"], 0)

    def test_rkv_real(self):
        for server, client in WAYS:
            for transport in ("rc", "uc", "ud"):
                for waits in ("event", "busy"):
                    with self.subTest(server=server.device[0], transport=transport, waits=waits):
                        window = 4 if waits == "event" else 1
                        settings = ("--set", f"completion.mode={waits}", "--set", f"load.window={window}")
                        self.right(self.serve(server, client, f"{transport}_nonblocking", *SETTINGS, *settings))

    def test_plain_verbs(self):
        for server, client in WAYS:
            for operation, transport in OPERATIONS_OF_VERBS:
                with self.subTest(server=server.device[0], operation=operation, transport=transport):
                    values = {
                        "sweep": "null", "transport": transport, "verbs.operation": operation, "load.warm_up_s": 0,
                        "load.duration_s": "null", "load.total_operations": OPERATIONS, "completion.mode": "event",
                    }  # fmt: skip
                    if operation == "send":
                        values["queue_pair.receive_depth"] = OPERATIONS  # over UC, too, none is lost
                    settings = [word for name, value in values.items() for word in ("--set", f"{name}={value}")]
                    points = self.serve(server, client, "rc_verbs_clients", *settings)
                    self.right(points)
                    received = [point["server_work"]["requests_served"] for point in points]
                    self.assertEqual(received, [OPERATIONS if operation == "send" else 0] * 2)

    def test_rkv_real_that_is_told_of_writes(self):
        told = ("exchange=write_write", "slots.immediate=true", "completion.mode=event", "load.window=4")
        settings = [word for one in told for word in ("--set", one)]
        for server, client in WAYS:
            for transport in ("rc", "uc"):
                with self.subTest(server=server.device[0], transport=transport):
                    self.right(self.serve(server, client, f"{transport}_nonblocking", *SETTINGS, *settings))

    def test_rkv_real_on_a_bad_wire(self):
        for server, client in WAYS:
            for transport, *settings in (("rc",), ("uc", *RETRIES), ("ud", *RETRIES)):
                with self.subTest(server=server.device[0], transport=transport), self.bad_wire():
                    settings = (*SETTINGS, "--set", "completion.mode=event", *settings)
                    points = self.serve(server, client, f"{transport}_nonblocking", *settings)
                    self.right(points)
                    self.assertEqual(sum(point["lost"] for point in points), 0)
                    self.assertEqual(sum(point["retries"] for point in points) > 0, transport != "rc")


if __name__ == "__main__":
    main()

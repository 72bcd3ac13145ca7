"""rkv-real on the kernel's Soft-RoCE, in one process and in two with a bad wire between them.

Runs in the virtual machine, whose devices tests/vm/devices made.
"""
import contextlib
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "rkv_real"), str(TESTS / "support")]
from program import OPERATIONS_OF_VERBS, SLOTS, TOLD, ProgramTest, main  # noqa: E402

SCENARIOS = TESTS.parent / "scenarios"
THESIS = [f"{transport}_{waits}" for transport in ("rc", "uc", "ud") for waits in ("nonblocking", "blocking")]
OPERATIONS = 300
# Of threads that poll more than there are CPUs, a hand-over takes a time slice.
FEW_OPERATIONS = 100


def short(operations=OPERATIONS):
    return ("--clients", "1,2", "--set", f"load.total_operations={operations}", "--set", "check=true")


NO_RAMP = ("--set", "load.connect_pause_ms=0", "--set", "load.start_stagger_ms=0")
# Longer than it takes to start all programs and for the kernel to give up looking for an address
DEAD_S = 4
# Each way: packets are lost, doubled, and overtake each other.
BAD_WIRE = "delay 1ms 0.5ms loss 2% duplicate 1%"
ENDS = ("veth_a", "veth_b")


@contextlib.contextmanager
def wire(netem):
    """The way from rxe_a to rxe_b and back, as tc's netem makes it."""
    for end in ENDS:
        subprocess.run(f"tc qdisc add dev {end} root netem {netem}".split(), check=True)
    try:
        yield
    finally:
        for end in ENDS:
            subprocess.run(f"tc qdisc delete dev {end} root".split(), check=True)


@contextlib.contextmanager
def late_wire():
    """Neither end knows the other's link-layer address, and for a while nothing gets through."""
    for end in ENDS:
        subprocess.run(f"ip neigh flush dev {end}".split(), check=True)
    with wire("loss 100%"):
        repairs = (f"tc qdisc change dev {end} root netem loss 0%" for end in ENDS)
        with subprocess.Popen(["sh", "-c", "; ".join((f"sleep {DEAD_S}", *repairs))]):
            yield


def number_in(file):
    return int(pathlib.Path(file).read_text())


def packets():
    """That came out of the wire at rxe_a's end."""
    return number_in("/sys/class/net/veth_a/statistics/rx_packets")


def sent_again():
    """Times that RC began to send again, at either end."""
    return sum(number_in(f"/sys/class/infiniband/rxe_{end}/ports/1/hw_counters/completer_retry_err") for end in "ab")


class OnTheKernel(ProgramTest):
    def right(self, out="out", operations=OPERATIONS):
        """Every operation was done, and no response was wrong."""
        report = self.report(out)
        for point in report["points"]:
            self.assertFalse(point["partial"], point)
            self.assertEqual(point["operations"], operations)
            self.assertEqual(point["check_violations"]["count"], 0)
        return report

    def test_the_thesis_scenarios(self):
        for name in THESIS:
            with self.subTest(scenario=name):
                operations = FEW_OPERATIONS if name.endswith("nonblocking") else OPERATIONS
                path = SCENARIOS / f"{name}.json"
                self.run_well("--scenario", path, *short(operations), *NO_RAMP, "--out", name)
                self.right(name, operations)

    def test_adaptive_polling(self):
        for transport in ("rc", "uc", "ud"):
            with self.subTest(transport=transport):
                path = self.scenario(transport=transport, completion={"mode": "adaptive"}, load={"window": 4})
                self.run_well("--scenario", path, *short(), "--out", transport)
                self.right(transport)

    def test_auto_is_the_kernel_device(self):
        _, err = self.run_well("--scenario", self.scenario(transport="rc"), "--device", "auto", "--out", "out")
        self.assertRegex(err, r"device auto: rxe_")
        self.assertRegex(self.report()["device"]["name"], "^rxe_")

    def test_workload_verbs(self):
        for transport, operation in (("rc", "read"), ("rc", "write"), ("rc", "fetch_and_add"), ("rc", "send"), ("uc", "write")):
            with self.subTest(transport=transport, operation=operation):
                path = self.scenario(
                    transport=transport,
                    workload="verbs",
                    completion={"mode": "busy"},
                    verbs={"operation": operation, "bytes": 8, "queue_pairs": 4, "both_ways": True},
                    queue_pair={"doorbell_batch": 4},
                    clients=1,
                    load={"total_operations": OPERATIONS, "window": 8},
                    keys=None,
                    check=None,
                )
                out = f"{transport}_{operation}"
                self.run_well("--scenario", path, "--out", out)
                (point,) = self.report(out)["points"]
                self.assertEqual(point["operations"], OPERATIONS)
                self.assertFalse(point["partial"])

    def test_exchanges_over_slots(self):
        for exchange, transport in SLOTS:
            with self.subTest(exchange=exchange, transport=transport):
                out = f"{exchange}_{transport}"
                path = self.slots(exchange, transport)
                self.run_well("--scenario", path, *short(FEW_OPERATIONS), "--out", out)
                self.right(out, FEW_OPERATIONS)

    def test_sides_that_sleep_until_a_write_arrives(self):
        for exchange, transport in TOLD:
            with self.subTest(exchange=exchange, transport=transport):
                out = f"{exchange}_{transport}"
                self.run_well("--scenario", self.told(exchange, transport), *short(), "--out", out)
                self.right(out)

    def store(self, transport):
        """A scenario of the store."""
        return self.scenario(transport, transport=transport, load={"window": 4, "total_operations": OPERATIONS})

    def over_the_wire(self, transport, *settings):
        """A run of the store between two processes; its report."""
        return self.between_processes(self.store(transport), *settings, out=transport)

    def between_processes(self, path, *settings, out):
        """A run with the server on rxe_a, the clients on rxe_b; its report."""
        before = packets()
        self.end_well(*self.start_two(path, *settings, out=out))
        self.assertGreaterEqual(packets() - before, OPERATIONS, "it went another way")
        return self.right(out)

    def start_two(self, path, *settings, out):
        """A server on rxe_a, and clients on rxe_b."""
        server, address = self.server("--once", "--device", "rxe_a")
        arguments = ("--scenario", path, "--device", "rxe_b", "--clients", "2", *settings)
        return server, self.start("--role", "client", "--server", address, "--out", out, *arguments)

    def end_well(self, server, clients):
        for process in (clients, server):
            code, out, err = self.finish(process)
            self.assertEqual(code, 0, out + err)

    def test_two_processes(self):
        for transport in ("rc", "uc", "ud"):
            with self.subTest(transport=transport):
                self.over_the_wire(transport)

    def test_workload_verbs_between_two_processes(self):
        for operation, transport in OPERATIONS_OF_VERBS:
            with self.subTest(operation=operation, transport=transport):
                path = self.operation_of_verbs(operation, transport, OPERATIONS)
                report = self.between_processes(path, out=f"{operation}_{transport}")
                (point,) = report["points"]
                self.assertEqual(point["server_work"]["requests_served"], OPERATIONS if operation == "send" else 0)

    def test_an_address_that_is_not_found_at_once(self):
        transports = ("rc", "uc", "ud")
        with late_wire():
            runs = [self.start_two(self.store(transport), out=transport) for transport in transports]
            for transport, run in zip(transports, runs):
                with self.subTest(transport=transport):
                    self.end_well(*run)
                    self.right(transport)

    def test_rc_on_a_bad_wire(self):
        before = sent_again()
        with wire(BAD_WIRE):
            self.over_the_wire("rc")
        self.assertGreater(sent_again(), before)

    def test_uc_and_ud_on_a_bad_wire(self):
        for transport in ("uc", "ud"):
            with self.subTest(transport=transport), wire(BAD_WIRE):
                report = self.over_the_wire(transport, "--set", "retry.timeout_ms=50", "--set", "retry.retries=10")
                (point,) = report["points"]
                self.assertGreater(point["retries"], 0)
                self.assertEqual(point["lost"], 0)


if __name__ == "__main__":
    main()

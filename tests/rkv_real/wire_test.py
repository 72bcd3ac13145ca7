"""Server and clients in processes of their own on soft0, which reach each other over its wire."""

import os
import pathlib
import shutil
import subprocess
import unittest

import program
from program import ProgramTest, interrupt

SCENARIOS = pathlib.Path(__file__).resolve().parents[2] / "scenarios"
THESIS = [f"{transport}_{waits}" for transport in ("rc", "uc", "ud") for waits in ("nonblocking", "blocking")]
OPERATIONS = int(os.environ.get("RKV_TEST_OPERATIONS", "2000"))
SHORT = ("--clients", "1,2", "--set", f"load.total_operations={OPERATIONS}", "--set", "check=true")
NO_RAMP = ("--set", "load.connect_pause_ms=0", "--set", "load.start_stagger_ms=0")
# Of each process's own packets, so in both directions; of UC and UD messages are lost, of RC packets.
BAD_WIRE = {"RKV_SOFT_DROP": "0.02", "RKV_SOFT_DUPLICATE": "0.02", "RKV_SOFT_REORDER": "0.02"}
# So bad that RC's queue pairs, of either side, exceed their retries; each costs half a second.
VERY_BAD_WIRE = {"RKV_SOFT_DROP": "0.5", "RKV_SOFT_DUPLICATE": "0.1", "RKV_SOFT_REORDER": "0.1"}


class Wire(ProgramTest):
    def serve(self, *arguments, environment=None):
        """A server process and the address that it listens on."""
        server = self.start(
            "--role", "server", "--listen", "127.0.0.1:0", "--device", "soft0", *arguments, environment=environment
        )  # fmt: skip
        return server, self.line_of(server, "listening on").rsplit(maxsplit=1)[-1]

    def run_two(self, *arguments, environment=None, out="out"):
        server, address = self.serve("--once", environment=environment)
        text, err = self.run_well(
            "--role", "client", "--server", address, "--device", "soft0", *arguments, "--out", out,
            environment=environment,
        )  # fmt: skip
        code, _, said = self.finish(server)
        self.assertEqual(code, 0, text + err + said)
        return self.report(out)

    def right(self, report, operations):
        """Every operation was done, and no response was wrong."""
        for point in report["points"]:
            self.assertFalse(point["partial"], point)
            self.assertEqual(point["operations"], operations)
            self.assertEqual(point["check_violations"]["count"], 0)
        self.assertEqual(report["device"]["name"], "soft0")

    def test_the_thesis_scenarios(self):
        for name in THESIS:
            with self.subTest(scenario=name):
                report = self.run_two("--scenario", SCENARIOS / f"{name}.json", *SHORT, *NO_RAMP, out=name)
                self.right(report, OPERATIONS)

    def test_a_bad_wire(self):
        for transport in ("rc", "uc", "ud"):
            with self.subTest(transport=transport):
                path = self.scenario(transport, transport=transport, retry={"timeout_ms": 20})
                if transport == "rc":
                    path = self.scenario(transport, transport=transport)
                report = self.run_two("--scenario", path, environment=BAD_WIRE, out=transport)
                self.right(report, 200)

    # A client writes its next request when it has the response; where the acknowledgement was lost, soft0's timer may
    # read that buffer to send the old request again, which the server knows it has. That is a race all the same.
    @unittest.skipIf(os.environ.get("RKV_TEST_SANITIZER") == "thread", "ThreadSanitizer sees a buffer that is read again")
    def test_a_wire_on_which_connections_are_lost(self):
        path = self.scenario(
            transport="rc", clients=4, load={"total_operations": 200, "window": 4}, completion={"mode": "hybrid"}
        )
        report = self.run_two("--scenario", path, environment=VERY_BAD_WIRE)
        self.right(report, 200)
        (point,) = report["points"]
        self.assertGreater(point["reconnections"], 0)
        self.assertGreaterEqual(point["retries"], point["reconnections"])
        self.assertEqual(point["server_work"]["requests_served"], 200)  # each once

    def test_a_wire_that_carries_nothing(self):
        path = self.scenario(transport="rc", clients=1)
        server, address = self.serve("--once", environment={"RKV_SOFT_DROP": "1"})
        client = self.start(
            "--role", "client", "--server", address, "--device", "soft0", "--scenario", path, "--out", "out",
            environment={"RKV_SOFT_DROP": "1"},
        )  # fmt: skip
        code, _, err = self.finish(client)
        self.assertEqual(code, 1, err)
        self.finish(server)
        (point,) = self.report()["points"]
        self.assertIn("peer unreachable", point["partial_reason"])
        self.assertGreater(point["reconnections"], 0)

    def test_exchanges_over_slots(self):
        for exchange, transport in program.SLOTS:
            with self.subTest(exchange=exchange, transport=transport):
                path = self.slots(exchange, transport)
                self.right(self.run_two("--scenario", path, out=f"{exchange}_{transport}"), 200)

    def test_several_queue_pairs_a_client(self):
        changes = {"load": {"total_operations": 200, "window": 4}, "queue_pair": {"per_client": 3}}
        for exchange, transport in program.SLOTS:
            with self.subTest(exchange=exchange, transport=transport):
                path = self.slots(exchange, transport, **changes)
                self.right(self.run_two("--scenario", path, out=f"{exchange}_{transport}"), 200)
        for transport in ("rc", "uc"):
            with self.subTest(exchange="send_send", transport=transport):
                path = self.scenario(transport=transport, **changes)
                self.right(self.run_two("--scenario", path, out=f"send_send_{transport}"), 200)

    def test_exchanges_over_slots_on_a_bad_wire(self):
        for exchange, transport, retry in (("write_write", "uc", {"timeout_ms": 20}), ("read_read", "rc", None)):
            with self.subTest(exchange=exchange):
                path = self.slots(exchange, transport, retry=retry)
                self.right(self.run_two("--scenario", path, environment=BAD_WIRE, out=exchange), 200)

    def test_two_client_processes(self):
        server, address = self.serve("--once")
        follower = self.start("--role", "client", "--server", address, "--device", "soft0", "--join")
        path = self.scenario(transport="rc", clients=[2, 4])
        self.run_well(
            "--role", "client", "--server", address, "--device", "soft0", "--processes", "2", "--scenario", path,
            "--out", "out",
        )  # fmt: skip
        self.assertEqual(self.finish(follower)[0], 0)
        self.assertEqual(self.finish(server)[0], 0)
        self.right(self.report(), 200)

    def done(self, report, operations, server_threads):
        """Operations of verbs: all were done, by so many threads at the server in the first point."""
        for point in report["points"]:
            self.assertFalse(point["partial"], point)
            self.assertEqual(point["operations"], operations)
            self.assertEqual([c["client"] for c in point["per_client"]], list(range(point["clients"])))
        self.assertEqual(report["points"][0]["server"]["threads"], server_threads)
        self.assertEqual(report["device"]["name"], "soft0")

    def test_every_operation_of_verbs(self):
        for operation, transport in program.OPERATIONS_OF_VERBS:
            with self.subTest(operation=operation, transport=transport):
                path = self.operation_of_verbs(operation, transport, 201)
                report = self.run_two("--scenario", path, out=f"{operation}_{transport}")
                sends = operation == "send"
                self.done(report, 201, 1 if sends else 0)
                # Where none is lost, each that was SENT was received.
                for point in report["points"]:
                    self.assertEqual(point["server_work"]["requests_served"], 201 if sends else 0)

    def test_verbs_of_many_packets_posted_together(self):
        for operation in ("send", "write", "read"):
            with self.subTest(operation=operation):
                receives = {"receive_batch": 4, "receive_depth": 16} if operation == "send" else {}
                path = self.verbs_load(
                    verbs={"operation": operation, "bytes": 65536}, load={"total_operations": 100, "window": 8},
                    queue_pair={"signal_interval": 4, "doorbell_batch": 4, **receives},
                )  # fmt: skip
                self.done(self.run_two("--scenario", path, out=operation), 100, 1 if operation == "send" else 0)

    def test_verbs_both_ways(self):
        for operation, server_threads in (("send", 2), ("write", 1), ("read", 1), ("fetch_and_add", 1)):
            with self.subTest(operation=operation):
                path = self.verbs_load(
                    verbs={"operation": operation, "both_ways": True, "queue_pairs": 3, "bytes": 8},
                    load={"total_operations": 200, "window": 4},
                )  # fmt: skip
                self.done(self.run_two("--scenario", path, out=operation), 200, server_threads)

    def test_verbs_on_a_bad_wire(self):
        for operation, transport in program.OPERATIONS_OF_VERBS:
            with self.subTest(operation=operation, transport=transport):
                path = self.operation_of_verbs(operation, transport, 400, clients=1)
                report = self.run_two("--scenario", path, environment=BAD_WIRE, out=f"{operation}_{transport}")
                sends = operation == "send"
                self.done(report, 400, 1 if sends else 0)
                served = report["points"][0]["server_work"]["requests_served"]
                if sends and transport == "uc":  # of 400 one in fifty is lost: that none is has a chance of 0.0003
                    self.assertLess(served, 400)
                    self.assertGreater(served, 300)
                else:
                    self.assertEqual(served, 400 if sends else 0)

    def test_verbs_of_three_client_processes(self):
        for operation, groups in (("send", 3), ("read", 0)):
            with self.subTest(operation=operation):
                server, address = self.serve("--once")
                client = ("--role", "client", "--server", address, "--device", "soft0")
                followers = [self.start(*client, "--join") for _ in range(2)]
                path = self.verbs_load(
                    verbs={"operation": operation, "clients_a_queue_pair": 2}, clients=[5, 3],
                    queue_pair={"signal_interval": 1},
                )  # fmt: skip
                self.run_well(*client, "--processes", "3", "--scenario", path, "--out", operation)
                for process in (*followers, server):
                    self.assertEqual(self.finish(process)[0], 0)
                report = self.report(operation)
                self.done(report, 200, groups)
                for point in report["points"]:
                    self.assertEqual(point["client"]["threads"], point["clients"])
                    self.assertEqual(point["server_work"]["requests_served"], 200 if groups else 0)

    def verbs_under_way(self, operation, *arguments):
        """Server and client of a run without end, both ways."""
        server, address = self.serve(*arguments)
        path = self.verbs_load(**program.ENDLESS, verbs={"operation": operation, "both_ways": True}, clients=1)
        client = self.start(
            "--role", "client", "--server", address, "--device", "soft0", "--out", "out", "--scenario", path
        )
        self.line_of(server, "started")
        self.a_while(client)
        return server, client

    def test_verbs_whose_client_is_interrupted(self):
        for operation in ("send", "read"):
            with self.subTest(operation=operation):
                server, client = self.verbs_under_way(operation, "--once")
                interrupt(client)
                point = self.ends_interrupted(client)
                self.assertGreater(point["operations"], 0)
                if operation == "send":
                    self.assertGreaterEqual(point["server_work"]["requests_served"], point["operations"])
                self.assertEqual(self.finish(server)[0], 0)
                shutil.rmtree(self.folder / "out")

    def test_verbs_whose_server_ends(self):
        for operation, end, says in (
            ("send", interrupt, "the server was stopped"), ("write", subprocess.Popen.kill, "gone|unreachable"),
        ):  # fmt: skip
            with self.subTest(operation=operation):
                server, client = self.verbs_under_way(operation)
                end(server)
                code, _, err = self.finish(client)
                self.assertEqual(code, 1, err)
                self.assertRegex(err, says)
                (point,) = self.report()["points"]
                self.assertTrue(point["partial"])
                self.assertGreater(point["operations"], 0)
                shutil.rmtree(self.folder / "out")

    def test_verbs_whose_client_is_killed(self):
        server, client = self.verbs_under_way("send")
        client.kill()
        self.assertIn("is gone", self.line_of(server, "the run ended"))
        interrupt(server)
        self.assertEqual(self.finish(server)[0], 130)

    def test_a_server_that_is_killed_ends_the_run(self):
        server, address = self.serve()
        client = self.start(
            "--role", "client", "--server", address, "--device", "soft0", "--out", "out", "--scenario",
            self.scenario(transport="rc", clients=1, **program.ENDLESS),
        )  # fmt: skip
        self.line_of(server, "started")
        server.kill()
        code, _, err = self.finish(client)
        self.assertEqual(code, 1, err)
        self.assertIn("gone", err)

    def test_ctrl_c_at_the_client(self):
        server, address = self.serve("--once")
        client = self.start(
            "--role", "client", "--server", address, "--device", "soft0", "--out", "out", "--scenario",
            self.scenario(transport="uc", clients=1, **program.ENDLESS),
        )  # fmt: skip
        self.line_of(server, "started")
        interrupt(client)
        self.ends_interrupted(client)


if __name__ == "__main__":
    program.main()

"""Workload verbs between processes, over soft0's wire."""

import shutil
import subprocess

import program
from program import BAD_WIRE, ENDLESS, OPERATIONS_OF_VERBS, WireTest, interrupt


class VerbsWire(WireTest):
    def done(self, report, operations, server_threads):
        """Operations of verbs: all were done, by so many threads at the server in the first point."""
        for point in report["points"]:
            self.assertFalse(point["partial"], point)
            self.assertEqual(point["operations"], operations)
            self.assertEqual([c["client"] for c in point["per_client"]], list(range(point["clients"])))
        self.assertEqual(report["points"][0]["server"]["threads"], server_threads)
        self.assertEqual(report["device"]["name"], "soft0")

    def test_every_operation(self):
        for operation, transport in OPERATIONS_OF_VERBS:
            with self.subTest(operation=operation, transport=transport):
                path = self.operation_of_verbs(operation, transport, 201)
                report = self.run_two("--scenario", path, out=f"{operation}_{transport}")
                sends = operation == "send"
                self.done(report, 201, 1 if sends else 0)
                # Where none is lost, each that was SENT was received.
                for point in report["points"]:
                    self.assertEqual(point["server_work"]["requests_served"], 201 if sends else 0)

    def test_messages_of_many_packets_posted_together(self):
        for operation in ("send", "write", "read"):
            with self.subTest(operation=operation):
                receives = {"receive_batch": 4, "receive_depth": 16} if operation == "send" else {}
                path = self.verbs_load(
                    verbs={"operation": operation, "bytes": 65536}, load={"total_operations": 100, "window": 8},
                    queue_pair={"signal_interval": 4, "doorbell_batch": 4, **receives},
                )  # fmt: skip
                self.done(self.run_two("--scenario", path, out=operation), 100, 1 if operation == "send" else 0)

    def test_both_ways(self):
        for operation, server_threads in (("send", 2), ("write", 1), ("read", 1), ("fetch_and_add", 1)):
            with self.subTest(operation=operation):
                path = self.verbs_load(
                    verbs={"operation": operation, "both_ways": True, "queue_pairs": 3, "bytes": 8},
                    load={"total_operations": 200, "window": 4},
                )  # fmt: skip
                self.done(self.run_two("--scenario", path, out=operation), 200, server_threads)

    def test_a_bad_wire(self):
        for operation, transport in OPERATIONS_OF_VERBS:
            with self.subTest(operation=operation, transport=transport):
                lossy = operation == "send" and transport == "uc"
                operations = 400 if lossy else 100  # which wait for retransmission time-outs
                path = self.operation_of_verbs(operation, transport, operations, clients=1)
                report = self.run_two("--scenario", path, environment=BAD_WIRE, out=f"{operation}_{transport}")
                self.done(report, operations, 1 if operation == "send" else 0)
                served = report["points"][0]["server_work"]["requests_served"]
                if lossy:  # of 400 one in fifty is lost: that none is has a chance of 0.0003
                    self.assertLess(served, operations)
                    self.assertGreater(served, operations * 3 / 4)
                else:
                    self.assertEqual(served, operations if operation == "send" else 0)

    def test_three_client_processes(self):
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

    def between_two_under_way(self, operation, *arguments):
        """Server and client of a run without end, both ways."""
        server, address = self.serve(*arguments)
        path = self.verbs_load(**ENDLESS, verbs={"operation": operation, "both_ways": True}, clients=1)
        client = self.start(
            "--role", "client", "--server", address, "--device", "soft0", "--out", "out", "--scenario", path
        )
        self.line_of(server, "started")
        self.a_while(client)
        return server, client

    def test_a_client_that_is_interrupted(self):
        for operation in ("send", "read"):
            with self.subTest(operation=operation):
                server, client = self.between_two_under_way(operation, "--once")
                interrupt(client)
                point = self.ends_interrupted(client)
                self.assertGreater(point["operations"], 0)
                if operation == "send":
                    self.assertGreaterEqual(point["server_work"]["requests_served"], point["operations"])
                self.assertEqual(self.finish(server)[0], 0)
                shutil.rmtree(self.folder / "out")

    def test_a_server_that_ends(self):
        for operation, end, says in (
            ("send", interrupt, "the server was stopped"), ("write", subprocess.Popen.kill, "gone|unreachable"),
        ):  # fmt: skip
            with self.subTest(operation=operation):
                server, client = self.between_two_under_way(operation)
                end(server)
                code, _, err = self.finish(client)
                self.assertEqual(code, 1, err)
                self.assertRegex(err, says)
                (point,) = self.report()["points"]
                self.assertTrue(point["partial"])
                self.assertGreater(point["operations"], 0)
                shutil.rmtree(self.folder / "out")

    def test_a_client_that_is_killed(self):
        server, client = self.between_two_under_way("send")
        client.kill()
        self.assertIn("is gone", self.line_of(server, "the run ended"))
        interrupt(server)
        self.assertEqual(self.finish(server)[0], 130)


if __name__ == "__main__":
    program.main()

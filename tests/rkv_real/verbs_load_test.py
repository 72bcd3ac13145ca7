"""Workload verbs: one process is both sides of them, and nobody else is."""

import math

import program
from control_peer import ControlPeer
from program import ENDLESS, ProgramTest, interrupt
from report_schema import schema_problems

VERBS = {"transport": "rc", "workload": "verbs", "completion": {"mode": "busy"}, "keys": None, "check": None}


class VerbsLoad(ProgramTest):
    def verbs_load(self, **fields):
        return self.scenario(**{**VERBS, **fields})

    def test_a_run_is_reported(self):
        for operation, method in (("read", "GET"), ("write", "SET")):
            with self.subTest(operation=operation):
                path = self.verbs_load(verbs={"operation": operation, "queue_pairs": 2}, load={"total_operations": 201})
                out, err = self.run_well("--scenario", path, "--out", operation)
                self.assertIn("device auto: ", err)
                self.assertIn("clients", out)
                report = self.report(operation)
                self.assertEqual(schema_problems(report), [])
                self.assertEqual(report["scenario"]["verbs"]["operation"], operation)
                self.assertEqual([point["clients"] for point in report["points"]], [1, 2])
                for point in report["points"]:
                    self.assertFalse(point["partial"])
                    self.assertEqual(point["operations"], 201)
                    self.assertEqual(point["operations_by_result"], {method: {"OK": 201}})
                    self.assertEqual(point["client"]["threads"], point["clients"])
                    self.assertEqual(point["server"]["threads"], 0)
                    self.assertEqual(point["server_work"]["requests_served"], 0)
                    self.assertEqual([c["client"] for c in point["per_client"]], list(range(point["clients"])))
                    self.assertTrue(math.isclose(point["operations"] / point["measured_s"], point["throughput_ops_s"]))
                lines = (self.folder / operation / "summary.csv").read_text().splitlines()
                self.assertEqual([line.split(",")[0] for line in lines], ["clients", "1", "2"])

    def test_both_ways_by_time(self):
        path = self.verbs_load(
            clients=1, load={"duration_s": 0.05, "window": 4}, verbs={"both_ways": True, "queue_pairs": 3},
            queue_pair={"signal_interval": 4},
        )  # fmt: skip
        self.run_well("--scenario", path, "--out", "out")
        (point,) = self.report()["points"]
        self.assertFalse(point["partial"])
        self.assertEqual(point["server"]["threads"], 1)
        self.assertLessEqual(point["measured_s"], 0.05)

    def test_a_sweep_with_services(self):
        path = self.scenario(transport="rc", clients=1, keys=None, check=None, sweep={"workload": ["store", "verbs"]})
        self.run_well("--scenario", path, "--out", "out")
        reports = [self.report(directory) for directory in (self.folder / "out").iterdir()]
        served = {r["scenario"]["workload"]: r["points"][0]["server_work"]["requests_served"] for r in reports}
        self.assertEqual(served, {"store": 200, "verbs": 0})

    def test_ctrl_c_keeps_what_was_measured(self):
        process = self.start(
            "--scenario", self.verbs_load(**ENDLESS, verbs={"both_ways": True}), "--clients", "1,2", "--out", "out"
        )
        self.wait_for_point(0)
        self.assertIsNone(process.poll())
        interrupt(process)
        self.ends_interrupted(process)

    def test_several_processes_are_refused(self):
        path = self.verbs_load()
        client = ("--role", "client", "--server", "127.0.0.1:1")
        for arguments in (client, (*client, "--processes", "2", "--clients", "2")):
            err = self.refused(
                *arguments, "--scenario", path, "--out", "out",
                says=["small.json: /workload: ", "verbs", "without --role, --server and --processes"],
            )  # fmt: skip
            self.assertNotIn("soft0", err)
        self.refused("--role", "server", "--scenario", path, says=["leads the run"])
        self.refused("--server", "127.0.0.1:1", "--scenario", path, says=["--server is for --role client"])
        self.refused("--processes", "2", "--scenario", path, says=["--processes are for --role client"])

    def test_a_sweep_of_which_one_is_of_verbs_is_not_begun(self):
        path = self.scenario(transport="rc", keys=None, check=None, sweep={"workload": ["store", "verbs"]})
        self.refused(
            "--role", "client", "--server", "127.0.0.1:1", "--scenario", path, "--out", "out", says=["/workload"]
        )

    def test_a_server_refuses_it(self):
        # A client that has no such scruples: it says hello by hand.
        server, address = self.server()
        with ControlPeer(address, program.PATIENCE_S) as peer:
            scenario = {k: v for k, v in {**program.SMALL, **VERBS}.items() if v is not None}
            peer.hello({"scenario": scenario, "processes": 1})
            reason = peer.receive()["failed"]
        self.assertIn("/workload: verbs", reason)
        self.assertIn("in one process", reason)
        self.assertIsNone(server.poll())

    def test_what_the_device_cannot_do(self):
        path = self.verbs_load(queue_pair={"inline_bytes": 60000})
        self.refused("--scenario", path, "--out", "out", says=["small.json", "/queue_pair/inline_bytes"])

    def test_what_only_a_service_has(self):
        self.refused("--scenario", self.verbs_load(), "--trace", "csv", "--out", "out", says=["/trace"])
        self.refused("--scenario", self.verbs_load(check=True), "--out", "out", says=["/check"])


if __name__ == "__main__":
    program.main()

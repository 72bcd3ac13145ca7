"""Workload verbs in one process, which is both sides of them; several processes: verbs_wire_test.py."""

import math

import program
from program import ENDLESS, OPERATIONS_OF_VERBS, ProgramTest, interrupt
from report_schema import schema_problems


class VerbsLoad(ProgramTest):
    def test_a_run_is_reported(self):
        for operation, transport in OPERATIONS_OF_VERBS:
            method = "GET" if operation == "read" else "SET"
            with self.subTest(operation=operation, transport=transport):
                path = self.operation_of_verbs(operation, transport, 201)
                out, err = self.run_well("--scenario", path, "--out", f"{operation}_{transport}")
                self.assertIn("device auto: ", err)
                self.assertIn("clients", out)
                report = self.report(f"{operation}_{transport}")
                self.assertEqual(schema_problems(report), [])
                self.assertEqual(report["scenario"]["verbs"]["operation"], operation)
                self.assertEqual([point["clients"] for point in report["points"]], [1, 2])
                for point in report["points"]:
                    self.assertFalse(point["partial"])
                    self.assertEqual(point["operations"], 201)
                    self.assertEqual(point["operations_by_result"], {method: {"OK": 201}})
                    self.assertEqual(point["client"]["threads"], point["clients"])
                    sends = operation == "send"
                    self.assertEqual(point["server"]["threads"], point["clients"] if sends else 0)
                    self.assertEqual(point["server_work"]["requests_served"], 201 if sends else 0)
                    self.assertEqual([c["client"] for c in point["per_client"]], list(range(point["clients"])))
                    self.assertTrue(math.isclose(point["operations"] / point["measured_s"], point["throughput_ops_s"]))
                lines = (self.folder / f"{operation}_{transport}" / "summary.csv").read_text().splitlines()
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
        other = point["other_way"]
        self.assertLessEqual(other["measured_s"], 0.05)
        if other["measured_s"] > 0:  # not where all ends were taken together
            self.assertGreater(other["operations"], 1)
            self.assertTrue(math.isclose(other["operations"] / other["measured_s"], other["throughput_ops_s"]))

    def test_a_sweep_with_services(self):
        path = self.scenario(transport="rc", clients=1, keys=None, check=None, sweep={"workload": ["store", "verbs"]})
        self.run_well("--scenario", path, "--out", "out")
        reports = [self.report(directory) for directory in (self.folder / "out").iterdir()]
        served = {r["scenario"]["workload"]: r["points"][0]["server_work"]["requests_served"] for r in reports}
        self.assertEqual(served, {"store": 200, "verbs": 0})

    def test_ctrl_c_keeps_what_was_measured(self):
        process = self.under_way(self.verbs_load(**ENDLESS, verbs={"both_ways": True}), "--clients", "1,2")
        self.assertIsNone(process.poll())
        interrupt(process)
        self.ends_interrupted(process)

    def test_a_server_allows_less_than_is_asked_for(self):
        path = self.verbs_load(verbs={"operation": "send"}, clients=2)
        code, _, err = self.run_program("--scenario", path, "--max-threads", "1", "--out", "out")
        self.assertEqual(code, 1)
        self.assertIn("2 threads asked for that receive", err)
        self.assertFalse((self.folder / "out").exists())

    def test_what_the_device_cannot_do(self):
        path = self.verbs_load(queue_pair={"inline_bytes": 60000})
        self.refused("--scenario", path, "--out", "out", says=["small.json", "/queue_pair/inline_bytes"])

    def test_what_only_a_service_has(self):
        self.refused("--scenario", self.verbs_load(), "--trace", "csv", "--out", "out", says=["/trace"])
        self.refused("--scenario", self.verbs_load(check=True), "--out", "out", says=["/check"])


if __name__ == "__main__":
    program.main()

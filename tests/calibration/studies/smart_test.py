"""calibration/studies/smart/smart.py: sweeps as points, and the errors of predictions, by hand."""

import unittest

from study_test import StudyTest

SWEEPS = """\
series,threads,outstanding_per_thread,payload_bytes,mb_per_s,mops,connect_ms
rdma-read-shared-qp,8,8,8,4.430,0.5,95.127
rdma-read-mul-2,8,8,8,24.564,3.2,84.762
rdma-read-per-qp,24,8,8,297.831,39,1172.724
rdma-read-per-doorbell,1,8,8,13.8,1.8,1157.446
rdma-read-per-doorbell,24,16,8,321.064,42,1173.650
rdma-read-per-doorbell,24,16,8,319.176,44,1173.572
"""
PREDICTED = """\
transport,completion,clients,metric,value,spread,scenario,predicted
rc,busy,24,throughput_ops_s,1,1,"{qp}",42900000
rc,busy,24,throughput_ops_s,1,1,"{doorbell}",41280000
"""
SHORT = "rc_read_rounds load.duration_s=0.0003 load.warm_up_s=7.5e-05"
CORES = "client.cores=[" + ",".join(str(cpu) for cpu in range(24)) + "] client.bind_each=true"
QP = f"{SHORT} load.window=8 verbs.bytes=8 {CORES} verbs.clients_a_queue_pair=1"
DOORBELL = (
    f"{SHORT} load.window=16 verbs.bytes=8 {CORES} verbs.clients_a_queue_pair=1 "
    "device.doorbell_registers=36"
)


class Smart(StudyTest):
    script = "smart/smart.py"

    def setUp(self):
        super().setUp()
        self.sweeps = self.file("sweeps.csv", SWEEPS)

    def points(self, *words):
        return self.lines("points.csv", "points", self.sweeps, str(self.folder / "points.csv"), *words)

    def test_series_become_what_threads_share(self):
        shared, two, qp, one_thread, doorbell = self.points()
        self.assertIn("verbs.clients_a_queue_pair=8", shared["scenario"])
        self.assertIn("verbs.clients_a_queue_pair=2", two["scenario"])
        self.assertEqual(qp["scenario"], QP)
        self.assertIn("device.doorbell_registers=16", one_thread["scenario"])  # the least there is
        self.assertEqual((doorbell["transport"], doorbell["clients"], doorbell["scenario"]), ("rc", "24", DOORBELL))
        self.assertEqual(float(doorbell["value"]), 43e6)  # two replicates
        self.assertAlmostEqual(float(doorbell["spread"]), 0.03 * 43e6)

    def test_points_are_left_out(self):
        self.assertEqual(len(self.points("--without", "per-doorbell")), 3)
        self.assertEqual(len(self.points("--thin", "2")), 4)  # of the series with two the first

    def test_errors_of_a_series(self):
        predicted = self.file("predicted.csv", PREDICTED.format(qp=QP, doorbell=DOORBELL))
        for series, error in (("per-qp", "+10"), ("per-doorbell", "-4")):
            done = self.run_script("errors", self.sweeps, predicted, "--only", series)
            self.assertEqual(done.returncode, 0, done.stderr)
            line = done.stdout.splitlines()[-1].split()
            self.assertEqual((line[0], line[-2]), (series, error))

    def test_mistakes_are_told(self):
        done = self.run_script("points", self.file("other.csv", SWEEPS.replace("per-qp", "per-cq")), "out.csv")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no such series: per-cq; known are shared-qp", done.stderr)


if __name__ == "__main__":
    unittest.main()

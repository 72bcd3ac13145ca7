"""Server and clients in processes of their own, over TCP; who dies in the middle, and what the others do."""

import subprocess

import program
from control_peer import OK, RESET, ControlPeer, ask, empty_result
from program import ENDLESS, ProgramTest, interrupt


class Processes(ProgramTest):
    def lead(self, address, *arguments, path=None, out="out"):
        path = path or self.scenario()
        return self.start("--role", "client", "--server", address, "--scenario", path, "--out", out, *arguments)

    def join(self, address):
        return self.start("--role", "client", "--server", address, "--join")

    def serves(self, address, out="after"):
        """The server is well: it serves a whole run."""
        code, text, err = self.finish(self.lead(address, path=self.scenario("well"), out=out))
        self.assertEqual(code, 0, text + err)
        self.assertEqual([p["operations"] for p in self.report(out)["points"]], [200, 200])

    def test_a_server_and_a_client(self):
        server, address = self.server("--once")
        self.serves(address)
        code, _, err = self.finish(server)
        self.assertEqual(code, 0)
        self.assertIn("200 requests served", err)
        self.assertEqual(self.report("after")["points"][1]["server"]["threads"], 2)

    def test_two_client_processes_make_one_report(self):
        server, address = self.server("--once")
        follower = self.join(address)
        leader = self.lead(address, "--processes", "2", "--clients", "2,5")
        code, out, err = self.finish(leader)
        self.assertEqual(code, 0, out + err)
        code, out, err = self.finish(follower)
        self.assertEqual(code, 0, out + err)
        self.assertEqual(self.finish(server)[0], 0)
        for point, clients in zip(self.report()["points"], (2, 5)):
            self.assertEqual(point["clients"], clients)
            self.assertEqual(point["operations"], 200)
            self.assertEqual([c["client"] for c in point["per_client"]], list(range(clients)))
            self.assertEqual(point["client"]["threads"], clients)
            self.assertEqual(point["server"]["threads"], clients)
            self.assertEqual(point["server_work"]["requests_served"], 200)
            self.assertEqual(point["check_violations"]["count"], 0)
            self.assertFalse(point["partial"])

    def test_ctrl_c_at_the_leader_ends_both(self):
        server, address = self.server()
        follower = self.join(address)
        leader = self.lead(address, "--processes", "2", path=self.scenario(**{**ENDLESS, "clients": 2}))
        self.line_of(server, "started")
        interrupt(leader)
        self.assertEqual(self.finish(leader)[0], 130)
        code, _, err = self.finish(follower)
        self.assertEqual(code, 1)
        self.assertIn("interrupted", err)
        (point,) = self.report()["points"]
        self.assertEqual(len(point["per_client"]), 2)
        self.assertTrue(point["partial"])
        self.serves(address)

    def test_a_server_that_is_killed_in_the_middle(self):
        server, address = self.server()
        client = self.lead(address, path=self.scenario(**{**ENDLESS, "clients": 2}))
        self.line_of(server, "started")
        server.kill()
        code, out, err = self.finish(client)
        self.assertEqual(code, 1, out + err)
        self.assertIn("ended early", err)
        (point,) = self.report()["points"]
        self.assertTrue(point["partial"])
        # Noticed on the control connection or on a client's own.
        self.assertRegex(point["partial_reason"], "is gone|closed|reset")
        self.assertIn(point["partial_reason"], err)

    def test_a_server_that_is_interrupted_in_the_middle(self):
        server, address = self.server()
        client = self.lead(address, path=self.scenario(**{**ENDLESS, "clients": 2}))
        self.line_of(server, "started")
        interrupt(server)
        self.assertEqual(self.finish(server)[0], 130)
        code, _, err = self.finish(client)
        self.assertEqual(code, 1)
        self.assertIn("the server was stopped", err)

    def test_a_client_that_is_killed_in_the_middle(self):
        server, address = self.server()
        client = self.lead(address, path=self.scenario(**{**ENDLESS, "clients": 2}))
        self.line_of(server, "started")
        client.kill()
        self.finish(client)
        self.assertIn("is gone", self.line_of(server, "the run ended"))
        self.serves(address)

    def test_a_client_that_is_killed_takes_the_others_with_it(self):
        server, address = self.server()
        follower = self.join(address)
        leader = self.lead(address, "--processes", "2", path=self.scenario(**{**ENDLESS, "clients": 2}))
        self.line_of(server, "started")
        follower.kill()
        code, _, err = self.finish(leader)
        self.assertEqual(code, 1)
        self.assertIn("is gone", err)
        (point,) = self.report()["points"]
        self.assertTrue(point["partial"])
        self.serves(address)

    def test_a_leader_that_is_interrupted_while_it_waits(self):
        server, address = self.server()
        leader = self.lead(address, "--processes", "2", "--clients", "2")
        interrupt_when_waiting = 0.3
        try:
            leader.wait(interrupt_when_waiting)
        except subprocess.TimeoutExpired:
            pass
        interrupt(leader)
        self.assertEqual(self.finish(leader)[0], 130)
        self.assertFalse((self.folder / "out").exists())
        self.assertIn("is gone", self.line_of(server, "refused"))
        self.serves(address)

    def test_wrong_responses_are_told_and_the_exit_code_says_so(self):
        # Every response is what the server holds, so it takes somebody who empties the store behind the back of
        # a client that knows which keys are its own.
        server, address = self.server("--once")
        path = self.scenario(
            clients=2, load={"duration_s": 1}, operations={"get": 1, "set": 0},
            keys={"count": 50, "scope": "per_client"},
        )  # fmt: skip
        with ControlPeer(address, program.PATIENCE_S) as peer:
            peer.hello({"join": True})
            leader = self.lead(address, "--processes", "2", path=path)
            self.assertIn("accepted", peer.receive())
            (offer,) = peer.receive()["point"]["offers"]
            with peer.dial_data(offer, client=1) as data:
                peer.send({"ready": []})
                self.assertIn("start", peer.receive())
                self.assertEqual(ask(data, 1, RESET), OK)
                peer.send({"result": empty_result(1)})
                self.assertIn("result", peer.receive())
                code, out, err = self.finish(leader)
        self.assertEqual(code, 1, out + err)
        self.assertIn("wrong response", err)
        self.assertRegex(out, r"checked: \d+ responses, [1-9]\d* wrong")
        (point,) = self.report()["points"]
        self.assertFalse(point["partial"])
        self.assertEqual(point["check_violations"]["count"], point["operations_by_result"]["GET"]["KEY_ERROR"])
        self.assertEqual(self.finish(server)[0], 0)

    def test_a_port_in_use(self):
        _, address = self.server()
        code, _, err = self.run_program("--role", "server", "--listen", address)
        self.assertEqual(code, 1)
        self.assertIn("in use", err)
        self.assertIn("--listen", err)

    def test_no_server_there(self):
        server, address = self.server()
        interrupt(server)
        self.finish(server)
        code, _, err = self.finish(self.lead(address))
        self.assertEqual(code, 1)
        self.assertIn(f"no rkv-real server at {address}", err)
        self.assertIn("--role server", err)
        self.assertFalse((self.folder / "out").exists())

    def test_a_server_that_allows_less_than_is_asked_for(self):
        _, address = self.server("--max-threads", "1", "--max-duration-s", "5")
        code, _, err = self.finish(self.lead(address))
        self.assertEqual(code, 1)
        self.assertIn("--max-threads", err)
        code, _, err = self.finish(self.lead(address, "--clients", "1", path=self.scenario(**ENDLESS)))
        self.assertEqual(code, 1)
        self.assertIn("--max-duration-s", err)
        self.assertFalse((self.folder / "out").exists())

    def test_a_sweep_from_a_client(self):
        _, address = self.server()
        path = self.scenario(clients=1, sweep={"load.window": [1, 2]})
        code, out, err = self.finish(self.lead(address, path=path))
        self.assertEqual(code, 0, out + err)
        self.assertEqual(len(list(self.folder.glob("out/*/report.json"))), 2)


if __name__ == "__main__":
    program.main()

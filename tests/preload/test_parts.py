"""Files given in parts, by head, tail and sed -n: `cat` of one all of whose lines were given is answered."""

import os
import unittest

from harness import NOTICE, SessionTest, lines, needs_library


@needs_library("what a reader printed is known only inside it")
class Parts(SessionTest):
    def parts(self, *commands, **more):
        for command in commands:
            self.assertNotIn(NOTICE, self.agent.shell(command, **more))

    def new(self, name="f", count=100, data=None):
        return self.session.write(name, lines(name, count) if data is None else data)

    def test_halves(self):
        for number, (one, other) in enumerate([
                ("head -n 50 {}", "tail -n 50 {}"), ("head -50 {}", "tail -n +51 {}"), ("sed -n 1,50p {}", "sed -n '51,$p' {}"),
                ("sed -n '51,200p' {}", "head -n -50 {}"), ("tail -60 {}", "head --lines=60 {}"),
                ("sed -n '1,20p;90,$p' {}", "sed -n -e 10,40p -e 41,89p {}"), ("sed -n '2,$p' {}", "head -n1 {}")]):
            name = "f%d" % number
            data = self.new(name)
            with self.subTest(one=one, other=other):
                self.parts(one.format(name), other.format(name))
                self.assertNotice(self.agent.shell("cat " + name), name)
                self.assertReal(self.agent.shell("cat " + name), data)  # the model insists


if __name__ == "__main__":
    unittest.main()

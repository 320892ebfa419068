# SPDX-License-Identifier: LGPL-2.1-or-later
"""prism mcp with its tools in a container: the same answers, and nothing left."""
import os

import client
from client import Server, text_of


class Docker(client.Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        self.server = Server('-b', 'docker', '--set', f'socket={os.environ["PRISM_TEST_DOCKER_SOCKET"]}', '--set',
                             f'image={os.environ["PRISM_TEST_DOCKER_IMAGE"]}', '-w', self.tree, '--workspace-mode', 'copy',
                             '--approve', 'always')
        self.addCleanup(self._end, self.server)
        self.assertIn('result', self.server.initialize())

    def test_tools(self):
        """commands and file tools see one tree"""
        for name, arguments, words in (('shell', {'command': 'id -un; echo x > f'}, 'prism'),
                                       ('write', {'path': 'a.txt', 'content': 'needle\n'}, 'wrote 7 bytes'),
                                       ('repo_search', {'query': 'needle'}, 'a.txt:1:1:needle'),
                                       ('glob', {'pattern': '**'}, 'a.txt\nf'), ('read', {'path': 'f'}, 'x')):
            answer = self.server.tool(name, arguments)
            self.assertFalse(answer['result']['isError'], answer)
            self.assertIn(words, text_of(answer))
        self.assertEqual(self.server.finish(), 0)
        self.assertEqual(os.listdir(self.tree), [])

    def test_cancel(self):
        """a call that is cancelled is killed in the container"""
        marker = self.marker()
        number = self.server.ask_tool('shell', {'command': f'sleep {marker}'})
        self.until(lambda: self.is_running(marker), 'the command')
        self.server.cancel(number)
        self.assert_gone(marker)
        self.assertIn('alive', text_of(self.server.tool('shell', {'command': 'echo alive'})))

    def test_killed(self):
        """SIGKILL of the server ends the container"""
        marker = self.marker()
        self.server.ask_tool('shell', {'command': f'sleep {marker}'})
        self.until(lambda: self.is_running(marker), 'the command')
        self.server.process.kill()
        self.assert_gone(marker)


if __name__ == '__main__':
    import taptest
    taptest.main()

# SPDX-License-Identifier: LGPL-2.1-or-later
"""unittest, reported as TAP. taptest.main() at the end of a test program."""
import signal
import sys
import traceback
import unittest


class _Result(unittest.TestResult):
    number = 0

    def _line(self, word, test, note=''):
        self.number += 1
        name = f'{type(test).__name__}.{getattr(test, "_testMethodName", test)}'
        about = (getattr(test, '_testMethodDoc', None) or '').strip().split('\n')[0]
        print(f'{word} {self.number} {name}{": " + about if about else ""}{note}', flush=True)

    def addSuccess(self, test):
        self._line('ok', test)

    def _bad(self, test, err):
        super().addFailure(test, err)
        for line in ''.join(traceback.format_exception(*err)).rstrip().split('\n'):
            print('#', line)
        self._line('not ok', test)

    addFailure = addError = _bad

    def addSubTest(self, test, subtest, err):
        if err is not None:
            print('#', 'in', subtest._subDescription())
            super().addFailure(test, err)
            for line in ''.join(traceback.format_exception(*err)).rstrip().split('\n'):
                print('#', line)
            test.sub_failed = True

    def addSkip(self, test, reason):
        # ./dev test fails in CI for what no run of it had.
        super().addSkip(test, reason)
        self._line('ok', test, f' # SKIP {reason}')

    def stopTest(self, test):
        if getattr(test, 'sub_failed', False):
            self._line('not ok', test)


def main():
    # Who starts this in the background, or by nohup, has some of these ignored, and prism would keep to that.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    suite = unittest.TestLoader().loadTestsFromModule(sys.modules['__main__'])
    names = sys.argv[1:]
    tests = [t for group in suite for t in group if not names or any(n in t.id() for n in names)]
    print(f'1..{len(tests)}', flush=True)
    result = _Result()
    unittest.TestSuite(tests).run(result)
    sys.exit(0 if result.wasSuccessful() else 1)

// SPDX-License-Identifier: LGPL-2.1-or-later
// Asynchronous calls, cancelling, errors and many calls, from Vala: as calls.c.
Prism.Sandbox sandbox;
MainLoop loop;

async int exit_code (int code) throws Error {
  var result = yield sandbox.exec_async (new Prism.Command.shell ("exit %d".printf (code)), null);
  return result.exit_code;
}

async void run_async () throws Error {
  int done = 0;
  for (int i = 0; i < 10; i++) {
    int code = i;
    exit_code.begin (code, (_, res) => {
      try {
        assert (exit_code.end (res) == code);
      } catch (Error error) {
        assert_no_error (error);
      }
      if (++done == 10)
        run_async.callback ();
    });
  }
  yield;
}

async void run_cancel () throws Error {
  var cancellable = new Cancellable ();
  var command = new Prism.Command.shell ("echo on; sleep 1000");
  command.output.connect (() => cancellable.cancel ());
  var result = yield sandbox.exec_async (command, cancellable);
  assert (result.cancelled);
  assert (result.outcome == Prism.Outcome.CANCELLED);
}

delegate void Call () throws Error;

void assert_fails (Error expected, Call call) {
  try {
    call ();
    assert_not_reached ();
  } catch (Error error) {
    assert (error.matches (expected.domain, expected.code));
  }
}

void test_errors () {
  var cancellable = new Cancellable ();
  try {
    sandbox.stat_file ("missing");
    assert_not_reached ();
  } catch (Prism.SandboxError.NOT_FOUND error) {
    assert (error.message.contains ("missing"));
  } catch (Error error) {
    assert_no_error (error);
  }
  assert_fails (new Prism.PluginError.NOT_FOUND (""), () => Prism.Registry.get_default ().create_backend ("none"));
  assert_fails (new Prism.LimitError.RANGE (""), () => new Prism.Limits (Prism.LimitsProfile.STRICT).set ("max-pids", 100000));
  cancellable.cancel ();
  assert_fails (new Prism.SandboxError.CANCELLED (""), () => sandbox.exec (new Prism.Command.shell ("true"), cancellable));
}

int memory () {
  string text;
  try {
    FileUtils.get_contents ("/proc/self/status", out text);
  } catch (Error error) {
    assert_no_error (error);
  }
  return int.parse (text.substring (text.index_of ("VmRSS:") + 6).strip ());
}

void call (int times) {
  try {
    for (int i = 0; i < times; i++) {
      var result = sandbox.exec (new Prism.Command ({ "true", null }));
      assert (result.exit_code == 0);
      assert (sandbox.stat_file (".") != null);
      assert (sandbox.dup_capabilities () != null);
    }
  } catch (Error error) {
    assert_no_error (error);
  }
}

void test_memory () {
  var asked = Environment.get_variable ("PRISM_TEST_CALLS");
  int times = asked != null ? int.parse (asked) : 1000;
  call (times / 4 + 100);
  int before = memory ();
  call (times);
  Test.message ("%d calls: %d KiB more", times, memory () - before);
  assert (memory () - before < 512 + times / 8);
}

int main (string[] args) {
  Test.init (ref args);
  loop = new MainLoop ();
  try {
    sandbox = Prism.Registry.get_default ().create_backend ("native").create_sandbox (new Prism.SandboxSpec (null));
  } catch (Error error) {
    assert_no_error (error);
  }
  Test.add_func ("/calls/async", () => {
    run_async.begin ((_, res) => {
      try { run_async.end (res); } catch (Error error) { assert_no_error (error); }
      loop.quit ();
    });
    loop.run ();
  });
  Test.add_func ("/calls/cancel", () => {
    run_cancel.begin ((_, res) => {
      try { run_cancel.end (res); } catch (Error error) { assert_no_error (error); }
      loop.quit ();
    });
    loop.run ();
  });
  Test.add_func ("/calls/errors", test_errors);
  Test.add_func ("/calls/memory", test_memory);
  int failed = Test.run ();
  try { sandbox.close (); } catch (Error error) { assert_no_error (error); }
  return failed;
}

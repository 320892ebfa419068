// SPDX-License-Identifier: LGPL-2.1-or-later
// libprism from Vala, on the native backend.
void run () throws Error {
  var folder = DirUtils.make_tmp ("vala-XXXXXX");
  var backend = Prism.Registry.get_default ().create_backend ("native");
  var spec = new Prism.SandboxSpec (File.new_for_path (folder));
  var sandbox = backend.create_sandbox (spec, null);
  var command = new Prism.Command ({ "sh", "-c", "echo hello; exit 3", null });
  var result = sandbox.exec (command, null);

  if (result.exit_code != 3 || result.dup_stdout_text () != "hello\n")
    throw new IOError.FAILED ("another result");
  if (!sandbox.capabilities.get_network_isolated ())
    throw new IOError.FAILED ("no isolation");
  try {
    sandbox.stat_file ("missing", null);
    throw new IOError.FAILED ("no error");
  } catch (Prism.SandboxError error) {
    if (!(error is Prism.SandboxError.NOT_FOUND))
      throw error;
  }
  sandbox.close (null);
  DirUtils.remove (folder);
}

// A policy in Vala, asked both ways.
class CarefulPolicy : Object, Prism.Policy {
  public void handle_check (Prism.CheckOperation operation) {
    if (operation.get_action ().command == "true")
      operation.complete (new Prism.Decision.allow ());
    else
      operation.complete (new Prism.Decision.deny ("vala", "not this one"));
  }
}

Prism.Action about (string command) {
  var action = new Prism.Action ("shell", "execute");
  action.set_command (command);
  return action;
}

void ask () throws Error {
  var policy = new CarefulPolicy ();

  if (!policy.check (about ("true"), null).allowed)
    throw new IOError.FAILED ("true is denied");
  var decision = policy.check (about ("rm"), null);
  if (decision.allowed || decision.reason_id != "vala")
    throw new IOError.FAILED ("rm is allowed");
  try {
    decision.enforce ();
    throw new IOError.FAILED ("no error");
  } catch (Prism.PolicyError error) {
    if (!(error is Prism.PolicyError.DENIED))
      throw error;
  }

  var stock = new Prism.ApprovalPolicy ({ "/" });
  stock.approval_requested.connect ((request) => request.respond (Prism.ApprovalAnswer.ALLOW));
  if (!stock.check (about ("make"), null).allowed)
    throw new IOError.FAILED ("what was approved is denied");
}

delegate void Test () throws Error;

int judge (int number, string name, Test test) {
  try {
    test ();
    print ("ok %d %s\n", number, name);
    return 0;
  } catch (Error error) {
    print ("# %s\nnot ok %d %s\n", error.message, number, name);
    return 1;
  }
}

int main () {
  print ("1..2\n");
  return judge (1, "native", run) + judge (2, "policy", ask) == 0 ? 0 : 1;
}

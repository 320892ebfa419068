// SPDX-License-Identifier: LGPL-2.1-or-later
// run FOLDER -- COMMAND [ARG...]
void run (string path, string[] argv) throws Error {
  var spec = new Prism.SandboxSpec (File.new_for_path (path));
  spec.workspace_mode = Prism.WorkspaceMode.READONLY;
  var command = new Prism.Command (argv);
  command.output.connect ((stream, bytes) => {
    stdout.write (bytes.get_data ());
  });
  var backend = Prism.Registry.get_default ().create_backend ("native");
  var sandbox = backend.create_sandbox (spec);
  var isolated = sandbox.capabilities.get_network_isolated ();
  var result = sandbox.exec (command); // if it throws, the last reference closes the sandbox
  stdout.printf ("exit code %d, network isolated: %s\n", result.exit_code, isolated ? "yes" : "no");
  sandbox.close ();
}

int main (string[] args) {
  if (args.length < 4 || args[2] != "--") {
    stderr.printf ("usage: %s FOLDER -- COMMAND [ARG...]\n", args[0]);
    return 2;
  }
  try {
    run (args[1], args[3:args.length]);
    return 0;
  } catch (Error error) {
    stderr.printf ("%s\n", error.message);
    return 1;
  }
}

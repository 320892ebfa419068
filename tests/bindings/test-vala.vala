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

int main () {
  print ("1..1\n");
  try {
    run ();
    print ("ok 1 native\n");
    return 0;
  } catch (Error error) {
    print ("# %s\nnot ok 1 native\n", error.message);
    return 1;
  }
}

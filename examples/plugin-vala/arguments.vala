// SPDX-License-Identifier: LGPL-2.1-or-later
// What is asked, in bubblewrap's words. Something that cannot be enforced is refused,
// never left out. Starts and opens nothing.
namespace BubblewrapVala {
  const int AGENT_FD = 3;
  const int INFO_FD = 4;

  // Everything else about limits is Prism.AgentSandbox's.
  const string[] UNENFORCED = { "memory-bytes", "cpu-millis", "max-pids", "download-bytes" };

  void check (Prism.SandboxSpec spec) throws Error {
    if (spec.network != Prism.NetworkMode.NONE)
      throw new Prism.SandboxError.NOT_SUPPORTED ("there is only network=none here");
    if (spec.lifetime != Prism.Lifetime.HOST)
      throw new Prism.SandboxError.NOT_SUPPORTED ("there is only lifetime=host here");
    if (spec.workspace_mode == Prism.WorkspaceMode.COPY)
      throw new Prism.SandboxError.NOT_SUPPORTED ("there is no workspace-mode=copy here");
    foreach (unowned string name in UNENFORCED) {
      if (spec.limits.is_set (name))
        throw new Prism.SandboxError.REFUSED ("the limit %s cannot be enforced here; leave it out, or use another backend", name);
    }
  }

  string path_of (File folder) throws Error {
    var path = folder.get_path ();
    if (path == null)
      throw new Prism.SandboxError.INVALID ("only folders of this machine can be shown");
    if (!FileUtils.test (path, FileTest.EXISTS))
      throw new Prism.SandboxError.NOT_FOUND ("%s is not there", path);
    return path;
  }

  void add (StrvBuilder builder, ...) {
    var words = va_list ();
    for (string? word = words.arg (); word != null; word = words.arg ())
      builder.add (word);
  }

  void add_system (StrvBuilder builder, int64 size) {
    add (builder, "--ro-bind", "/usr", "/usr", "--ro-bind-try", "/opt", "/opt", null);
    foreach (unowned string name in new string[] { "bin", "sbin", "lib", "lib64" })
      add (builder, "--symlink", "usr/" + name, "/" + name, null);
    foreach (unowned string name in new string[] { "alternatives", "ssl", "ca-certificates", "ld.so.cache", "ld.so.conf",
                                                   "ld.so.conf.d", "localtime" })
      add (builder, "--ro-bind-try", "/etc/" + name, "/etc/" + name, null);
    add (builder, "--proc", "/proc", "--dev", "/dev", null);
    foreach (unowned string place in new string[] { "/tmp", "/run", "/dev/shm", "/home/prism" })
      add (builder, "--size", size.to_string (), "--perms", "0700", "--tmpfs", place, null);
  }

  // Host paths, as they are seen inside: in the workspace, or where a mount has them.
  string inside (Prism.SandboxSpec spec, string path) {
    string? top = spec.workspace != null ? spec.workspace.get_path () : null;
    if (top != null && (path == top || path.has_prefix (top + "/")))
      return spec.sandbox_path + path.substring (top.length);
    return path;
  }

  void add_covers (StrvBuilder builder, Prism.SandboxSpec spec) {
    foreach (unowned string path in spec.protect)
      add (builder, "--ro-bind", path, inside (spec, path), null);
    foreach (unowned string path in spec.hide) {
      if (FileUtils.test (path, FileTest.IS_DIR))
        add (builder, "--perms", "0000", "--tmpfs", inside (spec, path), null);
      else if (FileUtils.test (path, FileTest.EXISTS))
        add (builder, "--ro-bind", "/dev/null", inside (spec, path), null);
    }
  }

  string[] arguments (Prism.SandboxSpec spec, string program, string agent) throws Error {
    var builder = new StrvBuilder ();
    check (spec);
    add (builder, program, "--unshare-all", "--unshare-user", "--as-pid-1", "--cap-drop", "ALL", "--clearenv", null);
    add (builder, "--uid", "10001", "--gid", "10001", "--hostname", "prism", "--info-fd", INFO_FD.to_string (), null);
    add_system (builder, spec.limits.tmp_bytes);
    if (spec.workspace == null)
      add (builder, "--perms", "0700", "--tmpfs", spec.sandbox_path, null);
    else
      add (builder, spec.workspace_mode == Prism.WorkspaceMode.READONLY ? "--ro-bind" : "--bind",
           path_of (spec.workspace), spec.sandbox_path, null);
    for (uint i = 0; i < spec.mounts.get_n_items (); i++) {
      var mount = (Prism.Mount) spec.mounts.get_item (i);
      var path = path_of (mount.source);
      add (builder, mount.writable ? "--bind" : "--ro-bind", path, mount.destination ?? path, null);
    }
    add_covers (builder, spec);
    add (builder, "--ro-bind", agent, "/run/prism-agent", "--chdir", spec.sandbox_path, "--", null);
    add (builder, "/run/prism-agent", "--serve", AGENT_FD.to_string (), null);
    return builder.end ();
  }
}

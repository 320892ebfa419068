// SPDX-License-Identifier: LGPL-2.1-or-later
// prism-agent behind a socket, in what bubblewrap makes. Exec, files, streams, signals,
// timeouts and the like are all Prism.AgentSandbox's.
namespace BubblewrapVala {
  [CCode (cname = "SYS_pidfd_open", cheader_filename = "sys/syscall.h")]
  extern const long PIDFD_OPEN;
  [CCode (cname = "SYS_pidfd_send_signal", cheader_filename = "sys/syscall.h")]
  extern const long PIDFD_SEND_SIGNAL;
  [CCode (cname = "syscall", cheader_filename = "unistd.h")]
  extern long syscall (long number, ...);

  public class Sandbox : Prism.AgentSandbox {
    private Subprocess? bubblewrap = null;
    private InputStream info;
    private int init = -1; // a pidfd of the process with number 1 inside

    ~Sandbox () {
      if (init >= 0)
        Posix.close (init);
    }

    // By its descriptor, never by a number that may be somebody else's by now. With the
    // first process of its pid namespace all others end; with the last, the mounts.
    public override void terminate (Prism.ControlOperation operation) {
      if (init >= 0)
        syscall (PIDFD_SEND_SIGNAL, init, Posix.Signal.KILL, null, 0);
      else if (bubblewrap != null)
        bubblewrap.force_exit ();
      try {
        if (bubblewrap != null)
          bubblewrap.wait ();
      } catch (Error error) {
        // Only a cancellable could be the reason, and there is none.
      }
      operation.complete ();
    }

    // The agent's end of the socket, and nothing of ours, goes along.
    private void spawn (string[] argv, int agents_end) throws Error {
      var launcher = new SubprocessLauncher (SubprocessFlags.STDERR_PIPE);
      int ends[2];
      launcher.set_environ ({});
      launcher.take_fd (agents_end, AGENT_FD);
      Unix.open_pipe (ends, Posix.FD_CLOEXEC);
      info = new UnixInputStream (ends[0], true);
      launcher.take_fd (ends[1], INFO_FD);
      bubblewrap = launcher.spawnv (argv);
    }

    // A JSON object with the number of the first process inside, and of the namespaces;
    // without it bubblewrap failed, and said why in a line.
    private Json.Object read_info (Cancellable? cancellable) throws Error {
      var text = new uint8[4096];
      size_t size;
      info.read_all (text[0:4095], out size, cancellable);
      var node = size > 0 ? Json.from_string ((string) text) : null;
      if (node == null || !node.get_object ().has_member ("child-pid")) {
        bubblewrap.force_exit ();
        var lines = new DataInputStream (bubblewrap.get_stderr_pipe ());
        throw new Prism.SandboxError.UNAVAILABLE ("%s", lines.read_line () ?? "bwrap: ended without a word");
      }
      init = (int) syscall (PIDFD_OPEN, (int) node.get_object ().get_int_member ("child-pid"), 0);
      if (init < 0)
        throw new Prism.SandboxError.FAILED ("the sandbox ended at once");
      return node.dup_object ();
    }

    private static bool is_apart (Json.Object info, string kind, out string how) throws Error {
      var ours = FileUtils.read_link ("/proc/self/ns/" + kind);
      var theirs = info.has_member (kind + "-namespace") ? info.get_int_member (kind + "-namespace") : 0;
      var seen = "%s:[%s]".printf (kind, theirs.to_string ());
      how = "%s, here %s".printf (seen, ours);
      return theirs > 0 && seen != ours;
    }

    // That it has no capability, cannot get one, and is under the agent's filter. As root
    // it has root's number outside, which nothing is to be said for.
    private static bool has_no_privileges (Json.Object info, out string how) throws Error {
      string text;
      how = "not enforced: outside it has the number of root, who made it";
      if (Posix.geteuid () == 0)
        return false;
      FileUtils.get_contents ("/proc/%s/status".printf (info.get_int_member ("child-pid").to_string ()), out text);
      how = "not enforced: it can get privileges, or lacks the agent's filter";
      foreach (unowned string line in new string[] { "CapBnd:\t0000000000000000\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n" }) {
        if (!text.contains (line))
          return false;
      }
      how = "no capability in its bounding set, no-new-privs, the agent's seccomp filter";
      return true;
    }

    private Prism.Capabilities look (Json.Object info) throws Error {
      var controls = Prism.Controls.WORKSPACE;
      var evidence = new VariantBuilder (new VariantType ("a{ss}"));
      string how;
      if (is_apart (info, "mnt", out how))
        controls |= Prism.Controls.FILESYSTEM;
      evidence.add ("{ss}", "filesystem", how);
      if (is_apart (info, "net", out how))
        controls |= Prism.Controls.NETWORK | Prism.Controls.EGRESS;
      evidence.add ("{ss}", "network", how);
      if (is_apart (info, "pid", out how))
        controls |= Prism.Controls.PROCESS;
      evidence.add ("{ss}", "process", how);
      if (has_no_privileges (info, out how))
        controls |= Prism.Controls.PRIVILEGE;
      evidence.add ("{ss}", "privilege", how);
      foreach (unowned string name in UNENFORCED)
        evidence.add ("{ss}", name, "not enforced: bubblewrap has nothing for it");
      return new Prism.Capabilities (controls, evidence.end ());
    }

    private void begin (string[] argv, int agents_end, Cancellable? cancellable) throws Error {
      spawn (argv, agents_end);
      var made = read_info (cancellable);
      start (cancellable);
      // Its answer comes after the agent has set itself up, filter and all.
      stat_file (".", cancellable);
      var real = look (made);
      set_capabilities (real);
      real.check_required (spec.require);
    }

    // Blocks. Where it fails, nothing is left behind.
    public static Sandbox start_one (Prism.SandboxSpec spec, string program, Cancellable? cancellable) throws Error {
      var path = Environment.find_program_in_path (program);
      int ends[2];
      if (path == null)
        throw new Prism.SandboxError.UNAVAILABLE ("%s is not in PATH: install bubblewrap, or set the property “program”", program);
      var argv = arguments (spec, path, Prism.agent_get_path ());
      if (Posix.socketpair (Posix.AF_UNIX, Posix.SOCK_STREAM | Linux.Socket.SOCK_CLOEXEC, 0, ends) < 0)
        throw new Prism.SandboxError.FAILED ("socketpair: %s", strerror (errno));
      var connection = SocketConnection.factory_create_connection (new Socket.from_fd (ends[0]));
      var self = (Sandbox) Object.new (typeof (Sandbox), "spec", spec, "connection", connection, "backend-name",
                                       "bubblewrap-vala", "id", Uuid.string_random (), "workspace", spec.sandbox_path);
      try {
        self.begin (argv, ends[1], cancellable);
      } catch (Error error) {
        self.close ();
        throw error;
      }
      return self;
    }
  }
}

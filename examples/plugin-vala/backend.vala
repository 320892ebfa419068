// SPDX-License-Identifier: LGPL-2.1-or-later
// Its one option is a property: `prism inspect bubblewrap-vala` shows it. Loading and
// constructing look at nothing.
namespace BubblewrapVala {
  public class Backend : Object, Prism.Backend {
    [Description (blurb = "The bubblewrap program: a path, or a name that is looked for in PATH")]
    public string program { get; set; default = "bwrap"; }

    public unowned string get_name () {
      return "bubblewrap-vala";
    }

    public void handle_create_sandbox (Prism.CreateOperation operation) {
      in_thread (operation, () => {
        try {
          operation.complete (Sandbox.start_one (operation.get_spec (), program, operation.get_cancellable ()));
        } catch (Error error) {
          operation.fail (error);
        }
      });
    }

    // By doing it: whether the program is there says little of what the kernel allows.
    public void handle_probe (Prism.ProbeOperation operation) {
      in_thread (operation, () => {
        var report = new Prism.HealthReport ("bubblewrap-vala");
        try {
          var sandbox = Sandbox.start_one (new Prism.SandboxSpec (null), program, operation.get_cancellable ());
          report.add (new Prism.HealthCheck ("bubblewrap-vala.start", Prism.HealthStatus.PASS, "a sandbox starts", null,
                                             sandbox.dup_capabilities ().get_controls ()));
          sandbox.close ();
        } catch (Error error) {
          report.add (new Prism.HealthCheck ("bubblewrap-vala.start", Prism.HealthStatus.FAIL, error.message,
                                             "install bubblewrap, and let this user make user namespaces",
                                             Prism.Controls.FILESYSTEM | Prism.Controls.NETWORK | Prism.Controls.PROCESS));
        }
        operation.complete (report);
      });
    }
  }

  // Here where the caller waits anyway; else it must not stand still.
  delegate void Work ();

  void in_thread (Prism.Operation operation, owned Work work) {
    if (operation.get_may_block ())
      work ();
    else
      new Thread<void> ("bubblewrap", () => { work (); });
  }

  [CCode (cname = "bubblewrap_vala_load")]
  public void load (Prism.Registry registry) {
    try {
      registry.add_type ("bubblewrap-vala", typeof (Backend), 0);
    } catch (Error error) {
      // The registry keeps it, and refuses the plug-in for it.
    }
  }
}

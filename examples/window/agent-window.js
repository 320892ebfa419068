// SPDX-License-Identifier: LGPL-2.1-or-later
// A window in which something like an agent works: it goes through a script of commands, one
// after the other, in a sandbox on a folder. What a rule does not allow is asked in a dialog;
// what was decided, and what was reached or refused, is listed as it happens.
//
// Everything is asynchronous, in the one main loop that also draws: the bar at the top moves
// with every frame, also while a command runs, a question is open, or the sandbox starts.
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import GObject from 'gi://GObject';
import Gdk from 'gi://Gdk?version=4.0';
import Gtk from 'gi://Gtk?version=4.0';
import Pango from 'gi://Pango';
import Prism from 'gi://Prism?version=1';

const ROOT = '/workspace';
const MAX_LINES = 1000;

const STYLE = `
.agent-log { font-family: monospace; padding: 4px 8px; }
.agent-log label.verdict { color: white; border-radius: 3px; padding: 0 6px; font-weight: bold; }
.agent-log label.allow { background-color: #26a269; }
.agent-log label.deny { background-color: #c01c28; }
.agent-output { font-family: monospace; }
`;

export const exampleScript = [
    {command: 'ls -la', why: 'to see what is there'},
    {command: 'cat notes.txt', why: 'to read the notes'},
    {command: 'touch summary.txt', why: 'to write a file'},
    {command: 'curl -sS -m 10 https://example.com/', why: 'to fetch a page'},
    {command: 'cp -r . copy-of-all', why: 'to copy everything'},
];

// What may be done without a question. All else is asked, as any policy of the library does.
function makePolicy(folder) {
    const policy = new Prism.ApprovalPolicy({
        roots: [folder.get_path()],
        approval_timeout_ms: 0, // none: somebody sits in front of it
    });

    for (const words of [['ls'], ['cat'], ['grep'], ['sleep'], ['curl']])
        policy.add_rule(Prism.CommandRule.new_prefix(words, Prism.Verdict.ALLOW, null));
    return policy;
}

// A list of lines, each with a verdict in colour; the newest is kept in sight.
const Log = GObject.registerClass(
class AgentLog extends Gtk.Frame {
    _init(title) {
        super._init({label: title, hexpand: true, vexpand: true});
        this._list = new Gtk.ListBox({selection_mode: Gtk.SelectionMode.NONE, css_classes: ['agent-log']});
        this._scrolled = new Gtk.ScrolledWindow({child: this._list, min_content_height: 110});
        this.set_child(this._scrolled);
        this._scrolled.vadjustment.connect('changed', adjustment => {
            adjustment.value = adjustment.upper;
        });
        this.lines = [];
    }

    add(allowed, text) {
        const box = new Gtk.Box({spacing: 8});
        const verdict = allowed ? 'allow' : 'deny';

        box.append(new Gtk.Label({label: verdict, css_classes: ['verdict', verdict]}));
        box.append(new Gtk.Label({
            label: text, xalign: 0, hexpand: true, ellipsize: Pango.EllipsizeMode.END, tooltip_text: text,
        }));
        this._list.append(box);
        this.lines.push(`${verdict} ${text}`);
        if (this.lines.length > MAX_LINES) {
            this.lines.shift();
            this._list.remove(this._list.get_row_at_index(0));
        }
    }
});

export const AgentWindow = GObject.registerClass({
    Signals: {
        // For who watches: a dialog is open; the script is through.
        'asked': {param_types: [Gtk.MessageDialog.$gtype]},
        'done': {},
    },
}, class AgentWindow extends Gtk.ApplicationWindow {
    _init({application, folder, script}) {
        super._init({application, title: 'An agent in a sandbox', default_width: 900, default_height: 640});
        this._folder = folder;
        this._script = script;
        this._cancellable = new Gio.Cancellable();
        this.frames = 0;
        this._addStyle();
        this._build();
        this.connect('close-request', () => this._onCloseRequest());
        this._run().catch(error => this._say(`${error.message}\n`));
    }

    _addStyle() {
        const provider = new Gtk.CssProvider();

        if (provider.load_from_string)
            provider.load_from_string(STYLE);
        else
            provider.load_from_data(STYLE); // before GTK 4.12
        Gtk.StyleContext.add_provider_for_display(Gdk.Display.get_default(), provider,
            Gtk.STYLE_PROVIDER_PRIORITY_APPLICATION);
    }

    _build() {
        const logs = new Gtk.Box({spacing: 8, homogeneous: true});
        const box = new Gtk.Box({
            orientation: Gtk.Orientation.VERTICAL, spacing: 8,
            margin_top: 8, margin_bottom: 8, margin_start: 8, margin_end: 8,
        });

        this._status = new Gtk.Label({xalign: 0, ellipsize: Pango.EllipsizeMode.END});
        this.decisions = new Log('Decisions');
        this.egress = new Log('Egress');
        logs.append(this.decisions);
        logs.append(this.egress);
        this._output = new Gtk.TextView({
            editable: false, monospace: true, css_classes: ['agent-output'], left_margin: 6, right_margin: 6,
        });
        box.append(this._makeBar());
        box.append(this._status);
        box.append(new Gtk.ScrolledWindow({child: this._output, vexpand: true, has_frame: true}));
        box.append(logs);
        this.set_child(box);
    }

    // Moves with the clock of the frames: it stands still when the main loop does.
    _makeBar() {
        const bar = new Gtk.DrawingArea({content_height: 6, hexpand: true});

        bar.set_draw_func((_area, cr, width, height) => {
            const place = (GLib.get_monotonic_time() / 2000000) % 1;

            cr.setSourceRGB(0.85, 0.85, 0.85);
            cr.rectangle(0, 0, width, height);
            cr.fill();
            cr.setSourceRGB(0x35 / 255, 0x84 / 255, 0xe4 / 255);
            cr.rectangle(place * width * 0.8, 0, width * 0.2, height);
            cr.fill();
            cr.$dispose();
            this.frames++;
        });
        bar.add_tick_callback(() => {
            bar.queue_draw();
            return GLib.SOURCE_CONTINUE;
        });
        return bar;
    }

    _say(text) {
        const buffer = this._output.buffer;

        buffer.insert(buffer.get_end_iter(), text, -1);
        this._output.scroll_to_iter(buffer.get_end_iter(), 0, false, 0, 0);
    }

    async _run() {
        const backend = Prism.Registry.get_default().create_backend('native');
        const spec = new Prism.SandboxSpec({
            workspace: this._folder,
            network: Prism.NetworkMode.EGRESS,
            egress_policy: Prism.EgressPolicy.new_static(['api.github.com']),
        });

        this._status.label = 'The sandbox starts';
        this._policy = makePolicy(this._folder);
        this._policy.connect('approval-requested', (_policy, request) => this._ask(request));
        this.sandbox = await backend.create_sandbox_async(spec, this._cancellable);
        this._proxy = Prism.EgressProxy.dup_default();
        this._proxy.connect('audit', (_proxy, record) => this._onAudit(record));
        try {
            for (const step of this._script)
                await this._step(step);
            this._status.label = 'Done';
        } finally {
            await this.sandbox.close_async(null);
            this.emit('done');
        }
    }

    async _step({command, why}) {
        const decision = await this._policy.check_async(this._describe(command), this._cancellable);
        const line = Prism.visible_text(command, 200)[0];

        this.decisions.add(decision.allowed, decision.allowed ? line : `${line}: ${decision.reason}`);
        this._say(`\n# ${why}\n$ ${line}\n`);
        if (!decision.allowed)
            return;

        this._status.label = `Running: ${line}`;
        const result = await this.sandbox.exec_async(this._watch(command), this._cancellable);
        this._say(`(exit status ${result.exit_code})\n`);
    }

    // What is about to happen, for the policy.
    _describe(command) {
        const action = Prism.Action.new('shell', 'execute');

        action.set_command(command);
        action.set_directory(ROOT);
        action.set_tree(ROOT, this._folder.get_path());
        action.set_identity('window', 'window', this.sandbox.id);
        return action;
    }

    _watch(commandLine) {
        const command = Prism.Command.new_shell(commandLine);

        command.connect('output', (_command, _stream, bytes) => this._say(new TextDecoder().decode(bytes.toArray())));
        return command;
    }

    // A request is answered once, whenever somebody does; until then only the script waits.
    _ask(request) {
        const dialog = new Gtk.MessageDialog({
            transient_for: this, modal: true, message_type: Gtk.MessageType.QUESTION,
            text: 'May this happen?', secondary_text: request.dup_text(),
        });

        this._status.label = 'Waiting for an answer';
        dialog.add_button('No', Prism.ApprovalAnswer.DENY);
        dialog.add_button('Yes, this once', Prism.ApprovalAnswer.ALLOW);
        if (request.can_remember)
            dialog.add_button('Yes, always', Prism.ApprovalAnswer.ALLOW_ALWAYS);
        dialog.set_default_response(Prism.ApprovalAnswer.DENY);
        dialog.connect('response', (_dialog, response) => {
            // Closing the dialog is a no.
            request.respond(response < 0 ? Prism.ApprovalAnswer.DENY : response);
            dialog.destroy();
        });
        request.connect('notify::pending', () => {
            if (!request.pending)
                dialog.destroy();
        });
        dialog.present();
        this.emit('asked', dialog);
    }

    _onAudit(record) {
        const allowed = record.get_decision() === Prism.AuditDecision.ALLOW;
        const place = Prism.visible_text(`${record.get_host()}:${record.get_port()}`, 200)[0];

        this.egress.add(allowed, allowed ? place : `${place}: ${record.get_reason_id()}`);
    }

    // What runs is cancelled, which kills it; the window goes when the sandbox has.
    _onCloseRequest() {
        if (!this.sandbox || this._closing)
            return false;
        this._closing = true;
        this._cancellable.cancel();
        this.sandbox.close_async(null).catch(error => logError(error)).then(() => this.destroy());
        return true;
    }
});

// SPDX-License-Identifier: LGPL-2.1-or-later
// The example with a window, driven as a person would: on a display of its own (Xvfb), whose
// picture is looked at. It has to show what happens, and to draw frame after frame while a
// command runs and while a question is open: a library that blocks the main loop stops that.
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import System from 'system';

const DEADLINE_S = 120;
const FRAMES = 40; // drawn while something lasts, which lasts until they are
const BLUE = 0x3584e4, GREEN = 0x26a269, RED = 0xc01c28;

// --- the display --------------------------------------------------------------------------

const folder = GLib.dir_make_tmp('prism-window-XXXXXX');
const display = Gio.Subprocess.new(
    ['Xvfb', '-terminate', '-displayfd', '1', '-screen', '0', '1024x768x24', '-nolisten', 'tcp', '-fbdir', folder],
    Gio.SubprocessFlags.STDOUT_PIPE | Gio.SubprocessFlags.STDERR_SILENCE);
const [line] = new Gio.DataInputStream({base_stream: display.get_stdout_pipe()}).read_line_utf8(null);
if (line === null)
    throw new Error('Xvfb did not start');
for (const [name, value] of Object.entries({
    DISPLAY: `:${line}`, GDK_BACKEND: 'x11', GSK_RENDERER: 'cairo', GTK_A11Y: 'none', GTK_THEME: 'Default',
}))
    GLib.setenv(name, value, true);

// The picture as X, which ends with its last client, keeps it: an XWD file, whose head is big-endian and whose pixels are not.
function takePicture() {
    const [, bytes] = GLib.file_get_contents(`${folder}/Xvfb_screen0`);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const head = [...Array(25).keys()].map(i => view.getUint32(4 * i, false));

    return {view, start: head[0] + 12 * head[19], width: head[4], height: head[5], stride: head[12]};
}

function pixel(picture, x, y) {
    return picture.view.getUint32(picture.start + y * picture.stride + 4 * x, true) & 0xffffff;
}

function count(picture, colour) {
    let n = 0;

    for (let y = 0; y < picture.height; y++) {
        for (let x = 0; x < picture.width; x++)
            n += pixel(picture, x, y) === colour;
    }
    return n;
}

// Where the moving bar begins; -1: it is not to be seen.
function barPlace(picture) {
    for (let y = 0; y < 40; y++) {
        for (let x = 0; x < picture.width; x++) {
            if (pixel(picture, x, y) === BLUE)
                return x;
        }
    }
    return -1;
}

// --- the window ---------------------------------------------------------------------------

const {default: Gtk} = await import('gi://Gtk?version=4.0');
const {default: Prism} = await import('gi://Prism?version=1');
const {AgentWindow} = await import('../../examples/window/agent-window.js');

let number = 0, failed = false;

function check(good, what) {
    failed ||= !good;
    print(`${good ? 'ok' : 'not ok'} ${++number} ${what}`);
}

function until(condition, what) {
    const end = GLib.get_monotonic_time() + DEADLINE_S * 1000000;

    return new Promise((resolve, reject) => {
        GLib.timeout_add(GLib.PRIORITY_DEFAULT, 20, () => {
            if (condition())
                resolve();
            else if (GLib.get_monotonic_time() > end)
                reject(new Error(`waited in vain: ${what}`));
            else
                return GLib.SOURCE_CONTINUE;
            return GLib.SOURCE_REMOVE;
        });
    });
}

async function drawn(window, what) {
    const before = window.frames;

    await until(() => window.frames >= before + FRAMES, `frames while ${what}`);
    check(true, `frames are drawn while ${what}`);
}

const path = name => GLib.build_filenamev([folder, 'tree', name]);
const exists = name => GLib.file_test(path(name), GLib.FileTest.EXISTS);

const script = [
    {command: 'ls', why: 'what a rule allows'},
    {command: 'curl -sS -m 20 https://denied.example/', why: 'what cannot be reached'},
    {command: 'touch no.txt', why: 'what is refused'},
    {command: 'touch yes.txt', why: 'what is allowed by a person'},
    {command: 'until test -e go; do touch running; sleep 0.05; done', why: 'what takes its time'},
];

async function drive() {
    let dialog = null, done = false;

    GLib.mkdir_with_parents(path(''), 0o755);
    GLib.file_set_contents(path('notes.txt'), 'hello');
    const application = new Gtk.Application({flags: Gio.ApplicationFlags.NON_UNIQUE});
    application.register(null);
    const window = new AgentWindow({application, folder: Gio.File.new_for_path(path('')), script});
    window.connect('asked', (_window, asked) => (dialog = asked));
    window.connect('done', () => (done = true));
    window.present();

    const answer = async response => {
        await until(() => dialog !== null || done, 'a question');
        dialog?.response(response);
        dialog = null;
    };

    await until(() => dialog !== null, 'the first question');
    check(window.decisions.lines.join('\n').startsWith('allow ls\nallow curl'), 'what rules allow is not asked');
    await until(() => window.egress.lines.length > 0, 'the egress log');
    check(window.egress.lines[0] === 'deny denied.example:443: no-rule', 'what was refused is listed as it happens');
    await drawn(window, 'a question is open');
    check(!exists('no.txt'), 'nothing is done before the answer');
    await answer(Prism.ApprovalAnswer.DENY);
    await until(() => window.decisions.lines.length === 3, 'the decision');
    check(window.decisions.lines[2].startsWith('deny touch no.txt') && !exists('no.txt'), 'a no is a no');

    await answer(Prism.ApprovalAnswer.ALLOW);
    await answer(Prism.ApprovalAnswer.ALLOW);
    await until(() => exists('running'), 'the long command');
    check(exists('yes.txt'), 'a yes is a yes');
    await drawn(window, 'a command runs');

    const places = new Set();
    await until(() => places.add(barPlace(takePicture())).size >= 5, 'the picture to change');
    check(!places.has(-1), 'the picture changes while a command runs');
    const picture = takePicture();
    check(count(picture, GREEN) > 200, 'what is allowed is green in the picture');
    check(count(picture, RED) > 200, 'what is denied is red in the picture');
    check(!done, 'and the command still runs');

    GLib.file_set_contents(path('go'), '');
    await until(() => done, 'the end');
    check(window.decisions.lines.length === script.length, 'every step is in the list of decisions');
    check(window.sandbox.status === Prism.SandboxStatus.REMOVED, 'the sandbox is closed');
    window.destroy();
}

try {
    await drive();
} catch (error) {
    check(false, error.message);
    logError(error);
}
print(`1..${number}`);
Gio.Subprocess.new(['rm', '-rf', folder], Gio.SubprocessFlags.NONE).wait(null);
System.exit(failed ? 1 : 0);

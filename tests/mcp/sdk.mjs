// SPDX-License-Identifier: LGPL-2.1-or-later
// prism mcp and the protocol's own SDK: every tool, progress, cancellation, questions to a person, big outputs,
// bad input, resources and logs; and the inspector's command line.
import assert from 'node:assert/strict';
import {execFileSync, spawnSync} from 'node:child_process';
import fs from 'node:fs';
import {createRequire} from 'node:module';
import os from 'node:os';
import path from 'node:path';

const CLIENTS = process.env.PRISM_MCP_CLIENTS;
if (!fs.existsSync(path.join(CLIENTS, 'node_modules')))
    throw new Error(`the clients are not in ${CLIENTS}: ./dev setup fetches them`);
const require = createRequire(path.join(CLIENTS, 'package.json'));
const {Client} = require('@modelcontextprotocol/sdk/client/index.js');
const {StdioClientTransport} = require('@modelcontextprotocol/sdk/client/stdio.js');
const types = require('@modelcontextprotocol/sdk/types.js');
const {Ajv} = require('ajv');

const DEADLINE = 60000;
const folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'prism-sdk-')));
const tests = [];
const test = (name, run) => tests.push({name, run});
const textOf = result => result.content.map(part => part.text ?? '').join('\n');
const clients = new Set();

async function until(condition, what) {
    for (const end = Date.now() + DEADLINE; !condition(); await new Promise(setImmediate))
        assert(Date.now() < end, `waited in vain: ${what}`);
}

function isRunning(marker) {
    return fs.readdirSync('/proc').filter(name => /^\d+$/.test(name)).some(pid => {
        try {
            return fs.readFileSync(`/proc/${pid}/cmdline`).includes(marker);
        } catch {
            return false;
        }
    });
}

let marks = 0;
const marker = () => `98763.${process.pid}${++marks}${Date.now()}`;

function makeTree() {
    const tree = fs.mkdtempSync(path.join(folder, 'tree-'));
    fs.writeFileSync(path.join(tree, 'hello.c'), 'int main (void)\n{\n  return 0;\n}\n');
    fs.mkdirSync(path.join(tree, 'sub'));
    fs.writeFileSync(path.join(tree, 'sub', 'notes.txt'), 'one\ntwo needle\nthree\n');
    return tree;
}

function policy(content) {
    const file = path.join(fs.mkdtempSync(path.join(folder, 'policy-')), 'policy.json');
    fs.writeFileSync(file, JSON.stringify(content));
    return file;
}

// A client and its server; `answer`: what a person would say to a question.
async function connect({tree = makeTree(), options = [], answer, approve = 'always'} = {}) {
    const client = new Client({name: 'test', version: '1'}, {capabilities: answer ? {elicitation: {}} : {}});
    const transport = new StdioClientTransport({
        command: process.env.PRISM_COMMAND,
        args: ['mcp', '-b', 'native', '-w', tree, ...approve ? ['--approve', approve] : [], ...options],
        env: process.env, stderr: 'pipe',
    });
    const about = {client, transport, tree, stderr: '', problems: []};

    transport.stderr.on('data', data => (about.stderr += data));
    client.onerror = error => about.problems.push(error);
    if (answer)
        client.setRequestHandler(types.ElicitRequestSchema, answer);
    await client.connect(transport);
    clients.add(client);
    about.call = (name, args, ...more) => client.callTool({name, arguments: args}, undefined, ...more);
    about.close = async () => {
        clients.delete(client);
        const pid = transport.pid;
        await client.close();
        await until(() => !fs.existsSync(`/proc/${pid}`), 'the server to end');
        assert.deepEqual(about.problems, []);
    };
    return about;
}

const NEEDED = ['shell', 'read', 'write', 'edit', 'repo_list', 'repo_search', 'glob', 'delete', 'move', 'git_status',
    'git_diff', 'git_branch', 'git_worktree', 'git_apply', 'git_commit', 'git_pr_handoff', 'ask_user_decision'];

test('the tools have names, schemas that are schemas, and annotations', async () => {
    const server = await connect();
    const {tools} = await server.client.listTools();
    const names = tools.map(tool => tool.name);
    const ajv = new Ajv({strict: false});

    assert.deepEqual(NEEDED.filter(name => !names.includes(name)), []);
    assert.equal(new Set(names).size, names.length);
    for (const tool of tools) {
        assert(ajv.validateSchema(tool.inputSchema), tool.name);
        assert.equal(tool.inputSchema.type, 'object');
        assert.equal(tool.inputSchema.additionalProperties, false, tool.name);
        assert(tool.description.length > 20 && tool.title && tool.annotations, tool.name);
    }
    const hint = name => tools.find(tool => tool.name === name).annotations;
    assert(hint('read').readOnlyHint && hint('glob').readOnlyHint && hint('repo_search').readOnlyHint);
    assert(!hint('shell').readOnlyHint && hint('shell').destructiveHint && !hint('shell').openWorldHint);
    assert.equal(server.client.getServerVersion().name, 'prism');
    assert.match(server.client.getInstructions(), /no network/);
    await server.client.ping();
    await server.close();
});

test('every tool of files and commands', async () => {
    const server = await connect();
    const good = async (name, args) => {
        const result = await server.call(name, args);
        assert(!result.isError, `${name}: ${textOf(result)}`);
        return result;
    };
    const inTree = name => path.join(server.tree, name);

    let result = await good('shell', {command: 'pwd; exit 3'});
    assert.match(textOf(result), /^\/workspace\n/);
    assert.equal(result.structuredContent.exitCode, 3);
    assert.match(textOf(await good('read', {path: 'sub/notes.txt'})), /two needle/);
    await good('write', {path: 'new/file.txt', content: 'a\nb\n'});
    assert.equal(fs.readFileSync(inTree('new/file.txt'), 'utf8'), 'a\nb\n');
    result = await good('edit', {path: 'new/file.txt', edits: [{oldText: 'b', newText: 'c'}]});
    assert.equal(fs.readFileSync(inTree('new/file.txt'), 'utf8'), 'a\nc\n');
    assert.equal(typeof result.structuredContent.patch, 'string');
    assert.match(textOf(await good('repo_list', {path: '.'})), /notes\.txt/);
    result = await good('repo_search', {query: 'needle'});
    assert.match(textOf(result), /sub\/notes\.txt:2:5/);
    assert.equal(result.structuredContent.matchCount, 1);
    assert.match(textOf(await good('glob', {pattern: '**/*.txt'})), /new\/file\.txt/);
    await good('move', {from: 'new/file.txt', to: 'new/moved.txt'});
    await good('delete', {path: 'new', recursive: true});
    assert(!fs.existsSync(inTree('new')));
    await server.close();
});

test('every tool of git', async () => {
    const tree = makeTree();
    for (const args of [['init', '-q', '-b', 'main'], ['config', 'user.name', 'T'], ['config', 'user.email', 't@t'],
        ['add', '.'], ['commit', '-qm', 'first']])
        execFileSync('git', args, {cwd: tree, env: {...process.env, GIT_CONFIG_GLOBAL: '/dev/null'}});
    const server = await connect({tree});
    const good = async (name, args) => {
        const result = await server.call(name, args);
        assert(!result.isError, `${name}: ${textOf(result)}`);
        return result;
    };

    await good('write', {path: 'added.txt', content: 'x\n'});
    let result = await good('git_status', {});
    assert.equal(result.structuredContent.dirty, true);
    await good('edit', {path: 'hello.c', edits: [{oldText: 'return 0', newText: 'return 1'}]});
    result = await good('git_diff', {});
    assert.match(textOf(result), /return 1/);
    await good('git_commit', {paths: ['added.txt', 'hello.c'], message: 'second'});
    await good('git_branch', {action: 'list'});
    await good('git_worktree', {action: 'list'});
    const patch = '--- a/hello.c\n+++ b/hello.c\n@@ -1,4 +1,4 @@\n int main (void)\n {\n-  return 1;\n+  return 2;\n }\n';
    await good('git_apply', {action: 'check', patch});
    await good('git_apply', {action: 'apply', patch});
    assert.match(fs.readFileSync(path.join(tree, 'hello.c'), 'utf8'), /return 2/);
    await good('git_pr_handoff', {base: 'HEAD~1'});
    await server.close();
});

test('progress is told while a command runs', async () => {
    const server = await connect();
    const seen = [];

    const result = await server.call('shell', {command: 'for i in 1 2 3 4 5 6 7 8; do echo step $i; sleep 0.2; done'},
        {onprogress: progress => seen.push(progress)});
    assert.match(textOf(result), /step 8/);
    assert(seen.some(progress => /^step \d$/.test(progress.message)), JSON.stringify(seen));
    seen.slice(1).forEach((progress, i) => assert(progress.progress > seen[i].progress));
    await server.close();
});

test('cancelling kills', async () => {
    const server = await connect();
    const controller = new AbortController(), mark = marker();
    const call = server.call('shell', {command: `sleep ${mark} & sleep ${mark}; true`}, {signal: controller.signal});

    await until(() => isRunning(mark), 'the command');
    const start = Date.now();
    controller.abort('enough');
    await assert.rejects(call);
    await until(() => !isRunning(mark), 'the command to be gone');
    console.log(`# gone after ${Date.now() - start} ms`);
    assert.match(textOf(await server.call('shell', {command: 'echo alive'})), /alive/);
    await server.close();
});

test('what needs approval is asked, and the answer counts', async () => {
    const questions = [];
    let next = () => ({action: 'accept', content: {decision: 'allow'}});
    const server = await connect({
        approve: 'ask',
        answer: request => {
            questions.push(request.params);
            return next();
        },
    });
    const touch = async name => {
        const result = await server.call('shell', {command: `touch ${name}`});
        return {result, there: fs.existsSync(path.join(server.tree, name))};
    };

    let done = await touch('one');
    assert(done.there && !done.result.isError, textOf(done.result));
    assert.match(questions[0].message, /touch one/);
    assert.deepEqual(questions[0].requestedSchema.required, ['decision']);

    for (const answer of [{action: 'accept', content: {decision: 'deny'}}, {action: 'decline'}, {action: 'cancel'}]) {
        next = () => answer;
        done = await touch(`no-${answer.action}`);
        assert(!done.there && done.result.isError, answer.action);
    }
    next = () => {
        throw new Error('nobody home');
    };
    done = await touch('error');
    assert(!done.there && done.result.isError);

    // For exactly this, and nothing else.
    next = () => ({action: 'accept', content: {decision: 'allow-always'}});
    assert((await touch('always')).there);
    const before = questions.length;
    fs.unlinkSync(path.join(server.tree, 'always'));
    next = () => ({action: 'decline'});
    assert((await touch('always')).there);
    assert.equal(questions.length, before);
    assert(!(await touch('always2')).there);
    assert.equal(questions.length, before + 1);

    // What would move a cursor or turn a line round is shown as what it is.
    await server.call('shell', {command: 'echo \u001b[2K\u202e evil'});
    assert(!/[\u001b\u202e]/.test(questions.at(-1).message));
    assert.match(questions.at(-1).message, /202e/i);
    const {contents} = await server.client.readResource({uri: 'prism://audit'});
    const asked = contents[0].text.trim().split('\n').map(line => JSON.parse(line)).filter(one => one.kind === 'approval');
    assert.deepEqual(asked.slice(0, 2).map(one => one.answer), ['allow', 'deny']);
    await server.close();
});

test('a question is withdrawn when its call is cancelled', async () => {
    let asked = false, withdrawn = false;
    const server = await connect({
        approve: 'ask',
        answer: (_request, extra) => new Promise(resolve => {
            asked = true;
            extra.signal.addEventListener('abort', () => {
                withdrawn = true;
                resolve({action: 'cancel'});
            });
        }),
    });
    const controller = new AbortController();
    const call = server.call('shell', {command: 'touch never'}, {signal: controller.signal});

    await until(() => asked, 'the question');
    await server.client.ping();
    assert.match(textOf(await server.call('read', {path: 'hello.c'})), /main/);
    controller.abort();
    await assert.rejects(call);
    await until(() => withdrawn, 'the question to be withdrawn');
    assert(!fs.existsSync(path.join(server.tree, 'never')));
    await server.close();
});

test('a client that cannot ask is denied, with the rule that would allow it', async () => {
    const tree = makeTree();
    const server = await connect({approve: null, tree, options: ['--policy', policy({
        roots: [tree],
        commandRules: [{match: 'prefix', pattern: ['ls'], action: 'allow'}],
    })]});

    assert(!(await server.call('shell', {command: 'ls'})).isError);
    const result = await server.call('shell', {command: 'touch file'});
    assert(result.isError);
    assert.match(textOf(result), /commandRules|"touch"/);
    assert.equal(result._meta['prism/outcome'], 'denied');
    assert.match(server.stderr, /cannot ask/);
    await server.close();
});

test('a model asks, and a person decides', async () => {
    const options = [{id: 'left', label: 'Go left', pros: ['short'], cons: ['steep']}, {id: 'right', label: 'Go right'}];
    const questions = [];
    let next;
    const server = await connect({answer: request => {
        questions.push(request.params);
        return next;
    }});
    const ask = more => server.call('ask_user_decision', {question: 'Where to?', options, selectionMode: 'single', allowCustom: true, ...more});

    next = {action: 'accept', content: {choice: 'right'}};
    let result = await ask();
    assert(!result.isError, textOf(result));
    assert.match(questions[0].message, /Where to\?[^]*left: Go left[^]*\+ short[^]*- steep/);
    assert.equal(result.structuredContent.selectedId ?? result.structuredContent.selectedIds[0], 'right');
    next = {action: 'accept', content: {'custom.text': 'stay here'}};
    result = await ask();
    assert.equal(result.structuredContent.customText, 'stay here');
    next = {action: 'accept', content: {left: true, right: true}};
    result = await ask({selectionMode: 'multiple'});
    assert.deepEqual(result.structuredContent.selectedIds, ['left', 'right']);
    next = {action: 'accept', content: {choice: 'nowhere'}};
    assert((await ask()).isError);
    next = {action: 'decline'};
    assert((await ask()).isError);
    await server.close();

    const other = await connect();
    result = await other.call('ask_user_decision', {question: 'Where to?', options, selectionMode: 'single'});
    assert(result.isError);
    assert.match(textOf(result), /cannot ask/);
    await other.close();
});

test('big outputs are cut, and said to be; images come as images', async () => {
    const server = await connect();
    const png = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');

    fs.writeFileSync(path.join(server.tree, 'dot.png'), png);
    let result = await server.call('shell', {command: 'yes 0123456789 | head -c 20000000'});
    assert(!result.isError, textOf(result).slice(-300));
    assert(JSON.stringify(result).length < 2000000);
    fs.writeFileSync(path.join(server.tree, 'big.txt'), 'a line of a big file\n'.repeat(500000));
    result = await server.call('read', {path: 'big.txt'});
    assert(!result.isError && JSON.stringify(result).length < 2000000);
    result = await server.call('read', {path: 'dot.png'});
    const image = result.content.find(part => part.type === 'image');
    assert.equal(image.mimeType, 'image/png');
    assert(Buffer.from(image.data, 'base64').equals(png));
    const content = 'x'.repeat(6000000);
    result = await server.call('write', {path: 'sent.txt', content});
    assert(!result.isError, textOf(result));
    assert.equal(fs.statSync(path.join(server.tree, 'sent.txt')).size, content.length);
    await server.close();
});

test('bad input is an answer, not an end', async () => {
    const server = await connect();

    await assert.rejects(server.call('nope', {}), {code: -32602});
    await assert.rejects(server.client.request({method: 'no/such'}, types.EmptyResultSchema), {code: -32601});
    await assert.rejects(server.client.readResource({uri: 'prism://nope'}), {code: -32002});
    for (const [name, args] of [['read', {}], ['read', {path: 1}], ['read', {path: 'hello.c', no: 1}],
        ['read', {path: 'a\0b'}], ['read', {path: '../../etc/passwd'}], ['shell', {command: ['ls']}]]) {
        const result = await server.call(name, args);
        assert(result.isError && textOf(result).length > 10, `${name} ${JSON.stringify(args)}`);
    }
    await server.client.ping();
    await server.close();
});

test('fifty calls at once', async () => {
    const server = await connect();
    const results = await Promise.all([...Array(50).keys()].map(i => server.call('shell', {command: `echo ${i}`})));

    results.forEach((result, i) => assert.equal(textOf(result).split('\n')[0], `${i}`));
    await server.close();
});

test('resources: the audit, the policy, the sandbox', async () => {
    const server = await connect({options: ['--allow', 'https://allowed.example']});
    let updates = 0;

    server.client.setNotificationHandler(types.ResourceUpdatedNotificationSchema, () => updates++);
    const {resources} = await server.client.listResources();
    assert.deepEqual(resources.map(one => one.uri), ['prism://audit', 'prism://policy', 'prism://sandbox']);
    assert.deepEqual((await server.client.listResourceTemplates()).resourceTemplates, []);
    const read = async name => (await server.client.readResource({uri: `prism://${name}`})).contents[0];
    const effective = JSON.parse((await read('policy')).text);
    assert.equal(effective.workspace, server.tree);
    assert.equal(effective.egress.rules[0].origin, '--allow https://allowed.example');
    assert.equal(JSON.parse((await read('sandbox')).text).capabilities.filesystem_isolated, true);

    await server.client.subscribeResource({uri: 'prism://audit'});
    const result = await server.call('shell', {command: 'curl -sS -m 20 https://denied.example/'});
    assert.equal(result._meta['prism/denials'][0].what, 'https://denied.example');
    assert.match(textOf(result), /--allow https:\/\/denied\.example/);
    await until(() => updates > 0, 'the update');
    const audit = (await read('audit')).text.trim().split('\n').map(line => JSON.parse(line));
    assert(audit.some(one => one.kind === 'egress' && one.record.host === 'denied.example'));
    assert(audit.some(one => one.kind === 'call' && one.tool === 'shell' && one.outcome === 'ok'));
    await server.client.unsubscribeResource({uri: 'prism://audit'});
    const {tools} = await server.client.listTools();
    assert(tools.find(tool => tool.name === 'shell').annotations.openWorldHint);
    await server.close();
});

test('logs have levels', async () => {
    const logs = [];
    const tree = makeTree();
    const client = new Client({name: 'test', version: '1'}, {capabilities: {}});
    const transport = new StdioClientTransport({
        command: process.env.PRISM_COMMAND, args: ['mcp', '-w', tree], env: process.env, stderr: 'ignore',
    });

    client.setNotificationHandler(types.LoggingMessageNotificationSchema, message => logs.push(message.params));
    await client.connect(transport);
    await client.setLoggingLevel('debug');
    await until(() => logs.some(log => log.level === 'warning' && /cannot ask/.test(log.data)), 'the warning');
    await client.close();
});

// 0.15.0: the later ones of 1.x run only inside the whole inspector, and 2 wants a newer Node.js than 20.
test('the inspector lists and calls', async () => {
    const inspector = path.join(CLIENTS, 'node_modules', '.bin', 'mcp-inspector-cli');
    const tree = makeTree();
    const inspect = (...args) => {
        const done = spawnSync(process.execPath, [fs.realpathSync(inspector), '--cli', process.env.PRISM_COMMAND, 'mcp',
            '-w', tree, '--approve', 'always', ...args], {encoding: 'utf8', timeout: DEADLINE});
        assert.equal(done.status, 0, done.stderr);
        return JSON.parse(done.stdout);
    };

    const {tools} = inspect('--method', 'tools/list');
    assert(tools.some(tool => tool.name === 'repo_search'));
    const called = inspect('--method', 'tools/call', '--tool-name', 'shell', '--tool-arg', 'command=echo inspected');
    assert.match(textOf(called), /inspected/);
    const read = inspect('--method', 'tools/call', '--tool-name', 'read', '--tool-arg', 'path=sub/notes.txt');
    assert.match(textOf(read), /needle/);
    assert.equal(inspect('--method', 'resources/list').resources.length, 3);
});

const names = process.argv.slice(2);
let failed = false, number = 0;
for (const {name, run} of tests.filter(one => !names.length || names.some(word => one.name.includes(word)))) {
    try {
        await run();
        console.log(`ok ${++number} ${name}`);
    } catch (error) {
        failed = true;
        console.log(error.stack.replace(/^/gm, '# '));
        console.log(`not ok ${++number} ${name}`);
    }
    for (const client of clients)
        await client.close();
    clients.clear();
}
console.log(`1..${number}`);
fs.rmSync(folder, {recursive: true, force: true});
process.exit(failed ? 1 : 0);

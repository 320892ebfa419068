// SPDX-License-Identifier: LGPL-2.1-or-later
// srt-egress.mjs WORKSPACE LOAD PORT COUNT: CONNECT set-ups from inside
// sandbox-runtime's sandbox through its own proxy. Each line on stdin is one run
// of egress-load; its rate goes to stdout.
import { SandboxManager } from '@anthropic-ai/sandbox-runtime';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

const [workspace, load, port, count] = process.argv.slice(2);
await SandboxManager.initialize({
  network: { allowedDomains: ['127.0.0.1', 'localhost'], deniedDomains: [] },
  filesystem: { denyRead: [], allowWrite: [workspace], denyWrite: [] },
});
process.chdir(workspace);
const script = `p=\${HTTP_PROXY#http://}; p=\${p%/}
case $p in
  *@*) export EGRESS_LOAD_HEADER="Proxy-Authorization: Basic $(printf %s "\${p%@*}" | sed 's/%2B/+/g; s/%2F/\\//g; s/%3D/=/g' | base64 -w0)"; p=\${p##*@} ;;
esac
exec ${load} connect \${p##*:} ${port} 32 ${count}`;
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const command = await SandboxManager.wrapWithSandbox(script);
  const rate = await new Promise((resolve) => {
    const child = spawn(command, { shell: true, stdio: ['ignore', 'pipe', 'inherit'] });
    let text = '';
    child.stdout.on('data', (data) => { text += data; });
    child.on('close', (code) => resolve(code === 0 ? parseFloat(text) : -1));
  });
  console.log(rate);
  SandboxManager.cleanupAfterCommand?.();
}
await SandboxManager.reset?.();
process.exit(0);

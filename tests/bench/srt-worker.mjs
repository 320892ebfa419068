// SPDX-License-Identifier: LGPL-2.1-or-later
// srt-worker.mjs WORKSPACE PROGRAM: sandbox-runtime as a library. Initialized
// once; each line on stdin is one command wrapped, spawned and waited for; its
// microseconds go to stdout.
import { SandboxManager } from '@anthropic-ai/sandbox-runtime';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { performance } from 'node:perf_hooks';

const [workspace, program] = process.argv.slice(2);
await SandboxManager.initialize({
  network: { allowedDomains: ['localhost'], deniedDomains: [] },
  filesystem: { denyRead: [], allowWrite: [workspace], denyWrite: [] },
});
process.chdir(workspace);
console.log('ready');
for await (const line of createInterface({ input: process.stdin })) {
  const start = performance.now();
  const command = await SandboxManager.wrapWithSandbox(program);
  const code = await new Promise((resolve) => {
    spawn(command, { shell: true, stdio: 'ignore' }).on('exit', resolve);
  });
  console.log(code === 0 ? ((performance.now() - start) * 1000).toFixed(1) : '-1');
  SandboxManager.cleanupAfterCommand?.();
}
await SandboxManager.reset?.();
process.exit(0);

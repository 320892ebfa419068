// SPDX-License-Identifier: LGPL-2.1-or-later
// One of the releases of the service's own client, named by the first argument, beside a local
// server of this process's own; and what was made of it, as TAP.
import {spawn} from 'node:child_process';
import {createRequire} from 'node:module';
import path from 'node:path';
import readline from 'node:readline';

/** 2.49 or 2.51, of those that tests/lib/fetch-clients fetched. */
export const release = process.argv[2];
export const apiKey = 'e2b_0123456789abcdef';
const clients = process.env.PRISM_E2B_CLIENTS ?? new URL('../../.dev/e2b', import.meta.url).pathname;
export const {Sandbox} = createRequire(path.join(clients, 'x.js'))(`e2b-${release}`);

const server = spawn(process.execPath, [new URL('../lib/e2b-server.mjs', import.meta.url).pathname], {stdio: ['pipe', 'pipe', 'inherit']});
const line = await new Promise(answer => readline.createInterface(server.stdout).once('line', answer));
export const url = `http://127.0.0.1:${line.split(' ')[1]}`;
export const fault = faults => fetch(`${url}/faults`, {method: 'PUT', body: JSON.stringify(faults)});

/** Ends when the server has, and what it keeps in folders has gone. */
export async function endServer () {
  server.stdin.end();
  await new Promise(answer => server.on('exit', answer));
}

/** Each of names by check(), which throws; one after another. */
export async function sayTap (names, check) {
  let n = 0;
  console.log(`1..${names.length}`);
  for (const name of names)
    try {
      await check(name);
      console.log(`ok ${++n} ${name}`);
    } catch (error) {
      process.exitCode = 1;
      console.log(`not ok ${++n} ${name}`);
      console.log(String(error.stack ?? error).replace(/^/gm, '# '));
    }
}

#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A local package with a program is installed, and a script of the project runs it.
# shellcheck source-path=SCRIPTDIR source=setup.sh
. "$(dirname "$0")/setup.sh"
mkdir greeter project
cat >greeter/package.json <<'JSON'
{ "name": "greeter", "version": "1.0.0", "bin": { "greet": "greet.js" } }
JSON
printf '#!/usr/bin/env node\nconsole.log("hello " + process.argv[2]);\n' >greeter/greet.js
chmod +x greeter/greet.js
cat >project/package.json <<'JSON'
{ "name": "project", "version": "1.0.0", "scripts": { "test": "greet world" }, "dependencies": { "greeter": "file:../greeter" } }
JSON
cd project
npm install --offline --no-audit --no-fund --loglevel=error
[ -x node_modules/.bin/greet ]
[ "$(npm test --silent)" = 'hello world' ]
[ "$(npx --offline greet you)" = 'hello you' ]

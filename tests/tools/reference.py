# SPDX-License-Identifier: LGPL-2.1-or-later
"""docs/tools.md is what the tools say of themselves. With --write it is written anew."""
import json
import os
import re
import subprocess
import sys

ROOT = os.environ.get('PRISM_SOURCE_ROOT') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
PAGE = os.path.join(ROOT, 'docs', 'tools.md')
HEAD = '''# The coding tools

This page is made from the tools' own schemas: `tests/tools/reference.py --write` writes it.

A tool takes one JSON object and answers with text or an image, with metadata (a JSON object), and,
where it failed, with a code and a message that says what to send instead. What its schema does not
name is refused. `prism tool call NAME JSON` calls one in a fresh sandbox; a program binds them to a
tree with `PrismComposition`; an MCP client gets them from `prism mcp`.

Paths are below the workspace, relative to it or absolute in its own names. A path that leads out,
by its words or through a link, is refused (`escape`), and what changes the tree follows no link at
all. In a name, bytes that are no text are written as `\\xHH`, and read so. Where nothing has the name
as written, a leading `@` is taken off and other spellings of blanks, accents and apostrophes are tried.

In sandbox mode every file operation is done inside by the sandbox's agent: tools and shell see the
same files, and nothing resolves on the host. In host mode names are looked up beneath a descriptor of
the folder, and what a policy was asked about is what is used: where a name means something else by the
time that somebody said yes, the tool says so (`conflict`) and changes nothing. Commands run on the host
there, and nothing isolates them.

A file is written anew and takes the old one's place and permission bits (as root, its owner too). What
hangs on the old file itself is not carried over: extended attributes and access control lists, and its
other names, which keep the old content.

What a tool cannot show in full, the output of a command or a long difference, is in a file that the
tree's commands can read, whose path the answer tells: in a sandbox below its `/tmp`, gone with it; on
the host in a temporary folder that is gone with the composition.

'''
LIMITS = '''## Limits

A program sets them with `prism_composition_set_limit()`; more than the hard one is refused.

| limit | default | hard |
| --- | --- | --- |
'''
CODES = '''
## Codes of failure

| code | means |
| --- | --- |
'''


def effect(word):
    return {'none': 'looks, and changes nothing', 'local_mutation': 'changes files of the tree',
            'external_mutation': 'may change anything that it reaches'}[word]


def kind(schema):
    if 'enum' in schema:
        return ', '.join(schema['enum'])
    if schema['type'] == 'integer' and 'maximum' in schema:
        return '%d to %d' % (schema['minimum'], schema['maximum'])
    return schema['type']


def rows(schema, prefix=''):
    for name, about in schema['properties'].items():
        star = ' (needed)' if name in schema.get('required', []) else ''
        yield '| `%s%s`%s | %s | %s |' % (prefix, name, star, kind(about), about.get('description', ''))
        if about['type'] == 'array' and about['items']['type'] == 'object':
            yield from rows(about['items'], name + '[].')


def page():
    tools = json.loads(subprocess.run([os.environ['PRISM_COMMAND'], 'tool', 'list', '--json'], check=True,
                                      stdout=subprocess.PIPE).stdout)
    text = HEAD
    for tool in tools:
        text += '## %s\n\n%s\n\nEffect: %s%s.\n\n' % (tool['name'], tool['description'], effect(tool['effect']),
                                                      '; runs alone' if tool['exclusive'] else '')
        text += '| parameter | value | meaning |\n| --- | --- | --- |\n' + '\n'.join(rows(tool['input_schema'])) + '\n\n'
    with open(os.path.join(ROOT, 'libprism', 'tools', 'prism-tool-settings.c'), encoding='utf-8') as file:
        source = file.read()
    units = {'KIB': 1024, 'MIB': 1 << 20, 'GIB': 1 << 30}

    def number(word):
        product = 1
        for part in word.split('*'):
            product *= units.get(part.strip()) or int(part)
        return product
    text += LIMITS
    for name, usual, most in re.findall(r'\{ "([a-z-]+)", ([^,]+), ([^}]+?) \}', source):
        text += '| %s | %d | %d |\n' % (name, number(usual), number(most))
    text += CODES
    with open(os.path.join(ROOT, 'libprism', 'tools', 'prism-tool-error.h'), encoding='utf-8') as file:
        header = file.read()
    for name, meaning in re.findall(r' \* @PRISM_TOOL_ERROR_([A-Z_]+): ((?:.|\n \*   )+)', header):
        text += '| %s | %s |\n' % (name.lower().replace('_', '-'), re.sub(r'\n \*   ', ' ', meaning))
    return text


if sys.argv[1:] == ['--write']:
    with open(PAGE, 'w', encoding='utf-8') as out:
        out.write(page())
    sys.exit(0)
print('1..1')
with open(PAGE, encoding='utf-8') as there:
    same = there.read() == page()
print(('ok' if same else 'not ok') + ' 1 docs/tools.md is what the tools say; else run tests/tools/reference.py --write')
sys.exit(not same)

# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the documents say is true: their programs build and run, their links lead
somewhere, and every variable that is read is listed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from tap import BUILD, ROOT, files, installed_headers, read, run

BLOCK = re.compile(r'^```(\w+)\n(.*?)^```$', re.M | re.S)


def documents():
    return [n for n in files('.md') if n.startswith(('docs/', 'examples/')) or '/' not in n]


def blocks(language):
    for name in documents():
        for number, (kind, text) in enumerate(BLOCK.findall(read(name)), 1):
            if kind == language:
                yield f'{name}, block {number}', text


def flags(folder, made=False):
    package = ['gio-unix-2.0', 'json-glib-1.0']
    found = subprocess.run(['pkg-config', '--cflags', '--libs', *package], check=True, capture_output=True, text=True).stdout.split()
    return [f'-I{folder}' if made else installed_headers(folder), f'-L{BUILD}/libprism', '-lprism-1'] + found


def c_programs():
    """the C programs of the documents build without a warning, and run"""
    for where, text in blocks('c'):
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, 'example.c'), os.path.join(folder, 'example')
            with open(source, 'w') as file:
                file.write(text)
            how = [] if re.search(r'^main \(', text, re.M) else ['-shared', '-fPIC']
            done = subprocess.run(['gcc', '-Wall', '-Wextra', '-Wno-unused-parameter', '-Werror', *how, '-o', program, source, *flags(folder)],
                                  capture_output=True, text=True)
            if done.returncode:
                yield f'{where}: {done.stderr}'
            elif not how:
                yield from complaints(where, [program], folder)


def plugin():
    """the plug-in of docs/writing-a-plugin.md builds, loads and is inspected"""
    name = 'docs/writing-a-plugin.md'
    parts = {kind: text for kind, text in BLOCK.findall(read(name)) if kind in ('ini', 'c')}
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        for leaf, kind in (('example.plugin', 'ini'), ('example.c', 'c')):
            with open(os.path.join(folder, leaf), 'w') as file:
                file.write(parts[kind])
        subprocess.run(['gcc', '-shared', '-fPIC', '-fvisibility=hidden', '-o', os.path.join(folder, 'example.so'),
                        os.path.join(folder, 'example.c'), *flags(folder)], check=True)
        yield from complaints(name, [os.environ['PRISM_COMMAND'], 'inspect', 'example'], folder, PRISM_PLUGIN_PATH=folder)


def python_programs():
    """the Python programs of the documents run"""
    for where, text in blocks('python'):
        with tempfile.TemporaryDirectory() as folder:
            yield from complaints(where, ['/usr/bin/python3', '-c', text], folder)


def examples():
    """the example says the same in C, Python, JavaScript and Vala"""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, 'run')
        subprocess.run(['gcc', '-Wall', '-Wextra', '-Wno-unused-parameter', '-Werror', '-o', program,
                        os.path.join(ROOT, 'examples', 'run.c'), *flags(folder)], check=True)
        subprocess.run(['valac', '-C', '--vapidir', f'{BUILD}/gir', '--pkg', 'libprism-1', '-d', folder, f'{ROOT}/examples/run.vala'], check=True)
        subprocess.run(['gcc', '-w', '-o', f'{folder}/run-vala', f'{folder}/run.c', *flags(folder, made=True)], check=True)
        for argv in ([program], ['/usr/bin/python3', f'{ROOT}/examples/run.py'], ['gjs', f'{ROOT}/examples/run.js'], [f'{folder}/run-vala']):
            for command, status, said in ((['sh', '-c', 'echo hi; ! touch x 2>/dev/null; exit 3'], 0, 'hi\nexit code 3, network isolated: yes\n'),
                                          (['no-such-command'], 1, '')):
                done = subprocess.run([*argv, folder, '--', *command], capture_output=True, text=True, timeout=60)
                if (done.returncode, done.stdout) != (status, said):
                    yield f'{argv[-1]} {command[0]}: {done.returncode}: {done.stdout}{done.stderr}'


def complaints(where, argv, folder, **environment):
    os.mkdir(os.path.join(folder, 'work'))
    done = subprocess.run(argv, cwd=os.path.join(folder, 'work'), capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, **environment))
    if done.returncode or done.stderr:
        yield f'{where}: exit status {done.returncode}: {done.stderr.strip() or done.stdout.strip()}'


def reference():
    """the reference is whole: gi-docgen finds nothing to complain about"""
    if not shutil.which('gi-docgen'):
        yield 'gi-docgen is missing: ./dev setup'
        return
    with tempfile.TemporaryDirectory() as folder:
        gir = ['--add-include-path', f'{BUILD}/gir', f'{BUILD}/gir/Prism-1.gir']
        for verb, more in (('check', []), ('generate', ['--quiet', '--content-dir', f'{ROOT}/docs', '--output-dir', folder])):
            done = subprocess.run(['gi-docgen', verb, '--fatal-warnings', '--config', f'{ROOT}/docs/prism.toml', *more, *gir],
                                  capture_output=True, text=True)
            said = [line for line in (done.stdout + done.stderr).splitlines() if 'WARNING' in line or 'ERROR' in line]
            yield from said or ([] if done.returncode == 0 else [f'gi-docgen {verb}: exit status {done.returncode}'])


def links():
    """links between the documents lead somewhere"""
    for name in documents():
        for target in re.findall(r'\]\(([^)#:\s]+)(?:#[^)]*)?\)', read(name)):
            if not os.path.exists(os.path.join(ROOT, os.path.dirname(name), target)):
                yield f'{name}: {target}'


def verbs():
    """every ./dev verb that is named is there, and ./dev help names every verb"""
    there = set(re.findall(r'^do_(\w+)\(\)', read('dev'), re.M))
    for name in documents():
        for verb in re.findall(r'\./dev (\w+)', read(name)):
            if verb not in there and verb != 'VERB':
                yield f'{name}: ./dev {verb}'
    named = set(re.findall(r'\./dev (\w+)', subprocess.run([os.path.join(ROOT, 'dev'), 'help'], capture_output=True, text=True).stdout))
    yield from (f'./dev help does not name {verb}' for verb in sorted(there - named - {'help'}))


def paths():
    """files and folders of this tree that the documents name are there"""
    for name in documents():
        for path in re.findall(r'`((?:agent|cli|data|docs|examples|gir|libprism|plugins|po|tests)/[\w./-]*)`', read(name)):
            if not os.path.exists(os.path.join(ROOT, path)) and not re.search('NAME|libprism/tools/', path):
                yield f'{name}: {path}'


def variables():
    """docs/environment.md lists every variable that is read"""
    listed = read('docs/environment.md')
    for name in files('.c', '.py') + ['dev']:
        if name == 'tests/api/documents.py' or '/seeds/' in name:
            continue
        for variable in re.findall(r'(?:getenv \(|environ\[|environ\.get\(|\$\{)["\']?(PRISM_\w+)', read(name)):
            if f'`{variable}`' not in listed:
                yield f'{variable} ({name})'


if __name__ == '__main__':
    sys.exit(run([c_programs, plugin, python_programs, examples, reference, links, paths, verbs, variables]))

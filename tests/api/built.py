# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the build must be: what it links, what it exports, what its headers say."""
import concurrent.futures
import glob
import os
import re
import subprocess
import sys
import tempfile

from tap import BUILD, files, installed_headers, public_headers, read, run

LIBRARY = os.path.join(BUILD, 'libprism', 'libprism-1.so.0')
PROGRAM = os.path.join(BUILD, 'cli', 'prism')
PROGRAM_MODULE = os.path.join(BUILD, 'cli', 'prism-cli.so')
GLIB = {'glib-2.0', 'gobject-2.0', 'gio-2.0', 'gmodule-2.0', 'json-glib-1.0'}
SYSTEM = {'c', 'pthread', 'dl', 'm', 'asan', 'ubsan', 'gcc_s'}


def output(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def needed(path):
    names = re.findall(r'\(NEEDED\).*\[(?:lib)?([^\]]+?)\.so[^\]]*\]', output('readelf', '-d', path))
    return {n for n in names if not n.startswith('ld-linux')} - SYSTEM


def exported(path):
    symbols = [line.split()[-1] for line in output('nm', '-D', '--defined-only', path).splitlines()]
    return {s.split('@')[0] for s in symbols if not s.startswith(('__asan', '__odr_asan', '__ubsan'))}


def modules():
    return glob.glob(os.path.join(BUILD, 'libprism', 'modules', '*.so'))


def plugins():
    return [p for p in glob.glob(os.path.join(BUILD, 'plugins', '*', '*.so'))]


def declared():
    """Function name → header, of what is marked as available."""
    names = {}
    for header in public_headers():
        text = re.sub(r'/\*.*?\*/', '', read(header), flags=re.S)
        for statement in re.split(r'^PRISM_AVAILABLE_IN_\w+\s', text, flags=re.M)[1:]:
            kind = re.match(r'G_DECLARE_\w+ \(\w+,\s*(prism_\w+),', statement)
            function = re.search(r'\b(prism_\w+)\s*\(', statement.split(';')[0])
            if kind:
                names[kind.group(1) + '_get_type'] = header
            elif function:
                names[function.group(1)] = header
    return names


def library_links():
    """the library links glib, gio, gmodule, json-glib and nothing else"""
    yield from sorted(needed(LIBRARY) - GLIB)


def module_links():
    """its modules add libarchive and libcrypto, and do not link the library"""
    for path in modules():
        yield from (f'{os.path.basename(path)}: {n}' for n in sorted(needed(path) - GLIB - {'archive', 'crypto'}))


def plugin_links():
    """plug-ins link the library and GLib; libsoup only where they speak HTTP, OpenSSL only egress' part for TLS"""
    for path in plugins():
        allowed = GLIB | {'prism-1'} | (set() if '/native/' in path or '/egress/' in path else {'soup-3.0', 'seccomp'})
        if os.path.basename(path) == 'egress-tls.so':
            allowed = GLIB | {'ssl', 'crypto'}
        yield from (f'{os.path.basename(path)}: {n}' for n in sorted(needed(path) - allowed))


def agent_links():
    """the agent links nothing"""
    path = os.path.join(BUILD, 'agent', 'prism-agent')
    if b'asan' not in open(path, 'rb').read():
        yield from needed(path)


def program_links():
    """the program's start links nothing, so that it is there before the libraries; the program itself only GLib and the library"""
    yield from (f'prism: {n}' for n in sorted(needed(PROGRAM)))
    yield from (f'prism-cli.so: {n}' for n in sorted(needed(PROGRAM_MODULE) - GLIB - {'prism-1'}))


def program_exports():
    """each half of the program exports what the other, or the native backend, looks for"""
    have = {n for n in exported(PROGRAM) if n.startswith('prism')}
    yield from (f'prism: {n}' for n in sorted(have - {'prism_native_begun'}))
    yield from (f'prism-cli.so: {n}' for n in sorted(exported(PROGRAM_MODULE) ^ {'prism_cli_main'}))


def module_exports():
    """a module exports exactly its query symbol"""
    for path in modules() + plugins():
        symbols = exported(path)
        if len(symbols) != 1:
            yield f'{os.path.basename(path)}: {sorted(symbols)}'


def library_exports():
    """the library exports exactly what its headers declare"""
    generated = {s for s in exported(LIBRARY) if s.endswith('_get_type')}
    have, want = exported(LIBRARY), set(declared())
    yield from (f'{n} is exported and not declared' for n in sorted(have - want - generated))
    yield from (f'{n} is declared in {declared()[n]} and not exported' for n in sorted(want - have))


def documented():
    """every public function has a doc comment with Since"""
    blocks = {}
    for name in files('.c', '.h', under='libprism'):
        for block in re.findall(r'/\*\*\n(.*?)\*/', read(name), re.S):
            head = re.match(r'\s*\*\s*(\w+):', block)
            if head:
                blocks[head.group(1)] = block
    for name, header in sorted(declared().items()):
        if name.endswith(('_get_type', '_quark')):
            continue
        if name not in blocks:
            yield f'{name} ({header}): no doc comment'
        elif 'Since: ' not in blocks[name]:
            yield f'{name} ({header}): no Since'


def headers_alone():
    """each public header compiles alone, in C and in C++"""
    flags = output('pkg-config', '--cflags', 'gio-unix-2.0', 'json-glib-1.0').split()

    def compile_one(job):
        compiler, language, header = job
        source = f'#include <libprism/{os.path.basename(header)}>\n'
        done = subprocess.run([compiler, '-x', language, '-fsyntax-only', '-Wall', '-Wextra', '-Werror', '-Wno-unused-parameter',
                               *flags, '-'], input=source, capture_output=True, text=True)
        return f'{header} in {language}: {done.stderr.splitlines()[0]}' if done.returncode else None

    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        flags.append(installed_headers(folder))
        jobs = [(*compiler, header) for header in public_headers() for compiler in (('gcc', 'c'), ('g++', 'c++'))]
        yield from (problem for problem in pool.map(compile_one, jobs) if problem)


if __name__ == '__main__':
    sys.exit(run([library_links, module_links, plugin_links, agent_links, program_links, program_exports, module_exports, library_exports, documented, headers_alone]))

# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the sources must look like: who may include whom, names, licences, sizes."""
import hashlib
import os
import re
import sys

from tap import code_only, files, read, run

FOLDERS = ['base', 'modules', 'policy', 'egress', 'sandbox', 'agent', 'workspace', 'tools', 'session', 'plugin', 'health']
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
LONGEST_FILE = 600  # lines of code: comments and blank lines are free
LONGEST_FUNCTION = 80

# Hosts of package registries, as SHA-256: not to be named anywhere, here neither.
REGISTRIES = {
    '00a7dc5a0cc3', '0dc11026ac75', '0fd460f0568e', '1ba4e37997a2', '271dacc9f4d0', '2e97613f5a81',
    '30d0ab9692eb', '317d2d52829b', '3ca29e55be4b', '3d01f3609be8', '43c04ed1dabe', '4db460c55b85',
    '5cd04dc6512f', '5e9dacd35779', '70bb4000cd2f', '70cca582c489', '71741fe2460a', '789e46d79514',
    '8743857e3ea0', '9da5f32d9641', 'a0f007d863a0', 'a4aa2ac280bb', 'ae1f45a5b387', 'c2b35955576f',
    'c899567ee906', 'd6d7019ca9fc', 'dcb6cc3991f9', 'e680c440a2e9', 'e83cc4bcd94e', 'ea3d68fd8b1a',
    'eb7e11c7f9ec', 'fd0c6a927919',
}


def folder_of_header():
    where = {}
    for name in files('.h', '.h.in', under='libprism'):
        parts = name.split('/')
        where[os.path.basename(name).removesuffix('.in')] = parts[1] if len(parts) > 2 else ''
    where['prism-enum-types.h'] = 'base'
    return where


def of_wait(header):
    """wait/ is part of the library, of the programs and of the plug-ins."""
    return header in {os.path.basename(name) for name in files('.h', under='wait')}


def layers():
    """a folder of libprism includes only folders to its left"""
    where = folder_of_header()
    for name in files('.c', '.h', under='libprism'):
        parts = name.split('/')
        if len(parts) < 3:
            continue
        for header in INCLUDE.findall(read(name)):
            header = os.path.basename(header)
            target = where.get(header)
            if header in ('prism-wire.h',):
                if parts[1] not in ('agent', 'modules'):
                    yield f'{name} includes {header}, which is for agent and modules'
            elif of_wait(header):
                continue
            elif target is None:
                built = os.path.join(os.environ['PRISM_BUILD_ROOT'], 'libprism')
                if not any(os.path.exists(os.path.join(built, folder, header)) for folder in ('', parts[1])):
                    yield f'{name} includes {header}, which is no header of libprism'
            elif target == '' or FOLDERS.index(target) > FOLDERS.index(parts[1]):
                yield f'{name} includes {header} of {target or "libprism/"}, which is not to its left'


def outsiders():
    """plug-ins, programs and examples include public headers and their own folder"""
    where = folder_of_header()
    for name in files('.c', '.h'):
        top, folder = name.split('/')[0], os.path.dirname(name)
        if top not in ('plugins', 'cli', 'examples'):
            continue
        own = {os.path.basename(n) for n in files('.h', under='/'.join(name.split('/')[:2 if top == 'plugins' else 1]))}
        for header in INCLUDE.findall(read(name)):
            base = os.path.basename(header)
            if base in own or header == 'config.h' or (base == 'prism-launch.h' and name.startswith('plugins/native/')):
                continue
            if of_wait(base):
                continue
            # The program's start, and only it: what is usual is begun before any plug-in is loaded.
            if base == 'prism-native-begin.h' and name == 'cli/prism-start.c':
                continue
            if base.startswith('prism-http') and folder in ('plugins/docker', 'plugins/e2b'):
                continue
            if base in where and not base.endswith('-private.h'):
                continue
            yield f'{name} includes {header}'


def agent_alone():
    """the agent includes nothing of the library and no GLib"""
    for name in files('.c', '.h', under='agent'):
        for header in re.findall(r'#\s*include\s+[<"]([^">]+)[">]', read(name)):
            if header.startswith(('glib', 'gio', 'libprism')) or os.path.basename(header) in folder_of_header():
                yield f'{name} includes {header}'


def no_backend_named():
    """no file in libprism/ names a backend"""
    word = re.compile(r'\b(docker|podman|e2b|native|firecracker|kubernetes)\b', re.I)
    for name in files(under='libprism'):
        for number, line in enumerate(read(name).splitlines(), 1):
            if word.search(line):
                yield f'{name}:{number}: {line.strip()}'


def licences():
    """every source says its licence in its first five lines"""
    plain = ('.md', '.json', '.txt', '.gir', '.po', '.supp', 'COPYING', 'NEWS', 'LINGUAS', 'POTFILES.in', '.gitignore', '.editorconfig',
             '.clang-format', '.keep', '.html', '.svg', '.rst', '.deps', 'data/debian/copyright')
    for name in files():
        if name.endswith(plain) or '/seeds/' in name or os.path.islink(name):
            continue
        if not any('SPDX-License-Identifier: ' in line for line in read(name).splitlines()[:5]):
            yield name


def no_registry_named():
    """no host of a package registry is named"""
    host = re.compile(r'[a-z0-9][a-z0-9-]*(?:\.[a-z0-9-]+)+', re.I)
    for name in files():
        if '/seeds/' in name:
            continue
        for number, line in enumerate(read(name).splitlines(), 1):
            for found in host.findall(line):
                if hashlib.sha256(found.lower().encode()).hexdigest()[:12] in REGISTRIES:
                    yield f'{name}:{number}'


def waived(name):
    """`house: allow long …` with its reason in the file itself."""
    return re.findall(r'house: allow (long file|long function (\w+)): \S', read(name))


def sizes():
    """files and functions stay small, or say in a comment why not"""
    for name in files('.c', '.h'):
        text = read(name)
        allowed = waived(name)
        lines = sum(1 for line in code_only(text).splitlines() if line.strip())
        if lines > LONGEST_FILE and not any(kind == 'long file' for kind, _ in allowed):
            yield f'{name}: {lines} lines of code'
        functions = {function for _, function in allowed}
        # In this style a function's body is what lies between { and } in the first column.
        for match in re.finditer(r'^(\w+) \([^;{]*?\)?\n?[^;{}]*\n\{\n(.*?)^\}', code_only(text), re.M | re.S):
            length = sum(1 for line in match.group(2).splitlines() if line.strip())
            if length > LONGEST_FUNCTION and match.group(1) not in functions:
                yield f'{name}: {match.group(1)}() has {length} lines'


def translations():
    """po/POTFILES.in lists exactly the files with messages"""
    potfiles = 'po/POTFILES.in'
    if potfiles not in files(under='po'):
        return
    listed = {line for line in read(potfiles).splitlines() if line and not line.startswith('#')}
    marked = {n for n in files('.c') if n.split('/')[0] in ('cli', 'libprism', 'plugins')
              and re.search(r'\b(_|N_|C_|Q_|ngettext|g_dngettext|dgettext)\s*\(\s*$|\b(_|N_|C_|Q_|ngettext)\s*\(\s*"', read(n), re.M)}
    for name in sorted(listed - set(files())):
        yield f'{name} is listed and does not exist'
    for name in sorted(marked - listed):
        yield f'{name} has messages and is not listed'


def waits():
    """no test waits for time"""
    for name in files('.c', under='tests'):
        for number, line in enumerate(code_only(read(name)).splitlines(), 1):
            if re.search(r'\b(sleep|usleep|g_usleep)\s*\(', line) and 'house: allow sleep' not in read(name):
                yield f'{name}:{number}: {line.strip()}'


def cancel_sources():
    """a main context hears of a cancellable by wait/, not by GLib's own source, which races with who cancels"""
    for name in files('.c', '.h'):
        if not name.startswith('tests/') and re.search(r'\bg_cancellable_source_new\b', code_only(read(name))):
            yield name


def bug_cases():
    """each case of tests/verdicts/bugs.tsv names a test that is there"""
    table = 'tests/verdicts/bugs.tsv'
    shapes = {'.def': 'ATTACK ({},', '.c': '"{}"', '.py': 'def {}(', '.sh': '{}', '.tsv': '\n# {}\n'}
    cases, have, known = set(), set(), set(files(under='tests'))
    for number, line in enumerate(read(table).splitlines(), 1):
        if line.startswith('# cases:'):
            cases.update(line.split()[2:])
        if line.startswith('#') or not line:
            continue
        if line.count('\t') != 3:
            yield f'{table}:{number}: not case, fault, file, test'
            continue
        case, _, name, test = line.split('\t')
        have.add(case)
        if name not in known:
            yield f'{table}:{number}: there is no {name}'
        elif shapes[os.path.splitext(name)[1]].format(test) not in read(name):
            yield f'{table}:{number}: {name} has no test {test}'
    for case in sorted(cases - have):
        yield f'{table}: {case} has no test'
    for case in sorted(have - cases):
        yield f'{table}: {case} is not in the list of cases'


if __name__ == '__main__':
    sys.exit(run([layers, outsiders, agent_alone, no_backend_named, licences, no_registry_named, sizes, translations, waits, cancel_sources, bug_cases]))

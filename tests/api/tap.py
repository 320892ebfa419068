# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rows of the house's rules: each a function that yields what breaks it."""
import os
import re
import subprocess

ROOT = os.environ['PRISM_SOURCE_ROOT']
BUILD = os.environ['PRISM_BUILD_ROOT']


def files(*suffixes, under=''):
    """Tracked files, or, in an unpacked release, all but the build folders."""
    if os.path.exists(os.path.join(ROOT, '.git')):
        out = subprocess.run(['git', '-c', 'safe.directory=*', 'ls-files', '-z', under or '.'], cwd=ROOT, check=True,
                             capture_output=True, text=True).stdout
        names = [n for n in out.split('\0') if n and os.path.isfile(os.path.join(ROOT, n))]
    else:
        names = []
        for folder, subfolders, leaves in os.walk(os.path.join(ROOT, under)):
            subfolders[:] = [s for s in subfolders if not s.startswith(('build', '.git'))]
            names += [os.path.relpath(os.path.join(folder, leaf), ROOT) for leaf in leaves]
    return sorted(n for n in names if not suffixes or n.endswith(suffixes))


def read(name):
    with open(os.path.join(ROOT, name), encoding='utf-8', errors='replace') as file:
        return file.read()


def public_headers():
    return [h for h in files('.h', under='libprism') if not h.endswith('-private.h') and '/modules/' not in h]


def installed_headers(folder):
    """Flat, as they are installed: what a user's compiler sees."""
    flat = os.path.join(folder, 'libprism')
    os.mkdir(flat)
    made = [os.path.join(BUILD, 'libprism', n) for n in ('prism-version.h', 'prism-enum-types.h')]
    for path in [os.path.join(ROOT, h) for h in public_headers()] + made:
        os.symlink(path, os.path.join(flat, os.path.basename(path)))
    return f'-I{folder}'


def code_only(text):
    """Without comments and string contents; line numbers stay."""
    blank = lambda m: re.sub(r'[^\n]', ' ', m.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def run(rows):
    print(f'1..{len(rows)}')
    failed = False
    for number, row in enumerate(rows, 1):
        broken = [str(b) for b in row()]
        for line in broken[:40]:
            print('#', line)
        if len(broken) > 40:
            print(f'# and {len(broken) - 40} more')
        print(f"{'not ok' if broken else 'ok'} {number} {row.__name__.replace('_', ' ')}: {row.__doc__}")
        failed = failed or bool(broken)
    return 1 if failed else 0

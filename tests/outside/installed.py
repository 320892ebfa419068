# SPDX-License-Identifier: LGPL-2.1-or-later
"""A copy of what is installed, in a folder of its own, and the environment of somebody
who has that and no tree. Only the prefix of the copied .pc is changed: the library was
built for another."""
import glob
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ['PRISM_SOURCE_ROOT'], 'tests', 'lib'))

ROOT = os.environ['PRISM_SOURCE_ROOT']
BUILD = os.environ['PRISM_BUILD_ROOT']


def run(*argv, **more):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode:
        raise AssertionError(f'{" ".join(argv)}: exit status {done.returncode}\n{done.stdout}')
    return done.stdout


def install(folder, *tags):
    """What `meson install` puts below FOLDER; its prefix there."""
    run('meson', 'install', '-C', BUILD, '--no-rebuild', '--destdir', folder, *(['--tags', ','.join(tags)] if tags else []))
    [pc] = glob.glob(f'{folder}/**/pkgconfig/libprism-1.pc', recursive=True)
    with open(pc) as file:
        text = file.read()
    prefix = folder + re.search(r'^prefix=(.*)$', text, re.M).group(1)
    with open(pc, 'w') as file:
        file.write(re.sub(r'^prefix=.*$', f'prefix={prefix}', text, flags=re.M))
    return prefix, os.path.dirname(os.path.dirname(pc))


def environment(prefix, libdir, plugins=''):
    """The variables by which an installed copy is found where it is not installed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith('PRISM_') or name == 'PRISM_TEST_UID'}
    env.update(
        PATH=f'{prefix}/bin:{os.environ["PATH"]}', LD_LIBRARY_PATH=libdir, PKG_CONFIG_PATH=f'{libdir}/pkgconfig',
        GI_TYPELIB_PATH=f'{libdir}/girepository-1.0', XDG_DATA_DIRS=f'{prefix}/share:/usr/local/share:/usr/share',
        PRISM_PLUGIN_DIR=f'{libdir}/libprism-1/plugins', PRISM_MODULES=f'{libdir}/libprism-1/modules',
        PRISM_AGENT=f'{prefix}/libexec/libprism/prism-agent', PRISM_PLUGIN_PROBE=f'{prefix}/libexec/libprism/prism-plugin-probe',
        PRISM_PLUGIN_PATH=plugins)
    return env

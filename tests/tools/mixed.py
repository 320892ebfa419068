# SPDX-License-Identifier: LGPL-2.1-or-later
"""A scripted agent makes mixed tool calls on a real git repository: on the host, in a native
sandbox and, where PRISM_TOOLS_BACKENDS says so, elsewhere. Everywhere the same answers, the
same tree, the same commits, and nothing left. PRISM_TOOLS_CALLS says how many."""
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ['PRISM_SOURCE_ROOT'], 'tests', 'bindings'))

import gi

gi.require_version('Prism', '1')
from gi.repository import Gio, Prism

import harness

CALLS = int(os.environ.get('PRISM_TOOLS_CALLS', '300'))
BACKENDS = os.environ.get('PRISM_TOOLS_BACKENDS', 'host,native').split(',')
WORDS = ['alpha', 'beta', 'gamma', 'delta', 'needle', 'omega', 'sigma', 'tau']
GIT = ['git', '-c', 'user.name=Tests', '-c', 'user.email=tests@example.org', '-c', 'safe.directory=*']


def git(folder, *args):
    env = dict(os.environ, GIT_CONFIG_GLOBAL='/dev/null', GIT_CONFIG_NOSYSTEM='1',
               GIT_AUTHOR_DATE='2020-01-01T00:00:00Z', GIT_COMMITTER_DATE='2020-01-01T00:00:00Z')
    return subprocess.run(GIT + list(args), cwd=folder, env=env, check=True, stdout=subprocess.PIPE).stdout


def make_repository(folder):
    """The same each time."""
    chance = random.Random(7)
    for number in range(60):
        path = os.path.join(folder, 'src', 'part%d' % (number % 6), 'file%02d.txt' % number)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            for line in range(chance.randrange(3, 60)):
                file.write('%d %s %s\n' % (line, chance.choice(WORDS), chance.choice(WORDS)))
    git(folder, 'init', '--quiet', '--initial-branch=main')
    git(folder, 'config', 'user.name', 'Tests')
    git(folder, 'config', 'user.email', 'tests@example.org')
    git(folder, 'add', '.')
    git(folder, 'commit', '--quiet', '-m', 'begin')


def identity(folder):
    """Of every file but git's own."""
    digest = hashlib.sha256()
    for where, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != '.git')
        for name in sorted(files):
            path = os.path.join(where, name)
            digest.update(os.path.relpath(path, folder).encode() + b'\0')
            if os.path.islink(path):
                digest.update(os.readlink(path).encode())
            else:
                digest.update(b'%o' % (os.stat(path).st_mode & 0o777))
                with open(path, 'rb') as file:
                    digest.update(file.read())
    return digest.hexdigest()


def plan(count):
    """What the agent calls: nothing depends on what was answered."""
    chance = random.Random(11)
    paths = ['src/part%d/file%02d.txt' % (number % 6, number) for number in range(60)]
    for number in range(count):
        path = chance.choice(paths)
        kind = chance.randrange(20)
        if kind < 4:
            yield 'read', {'path': path, 'offset': chance.randrange(1, 20), 'limit': 10}
        elif kind < 6:
            yield 'write', {'path': 'new/%d/note%d.txt' % (number % 5, number % 17), 'content': 'note %d\n' % number}
        elif kind < 9:
            yield 'edit', {'path': path, 'edits': [{'oldText': '%d %s' % (chance.randrange(12), chance.choice(WORDS)),
                                                    'newText': 'changed by call %d' % number}]}
        elif kind < 11:
            yield 'repo_search', {'query': chance.choice(WORDS), 'maxMatches': 20, 'context': chance.randrange(3)}
        elif kind == 11:
            yield 'glob', {'pattern': 'src/**/file%d*.txt' % chance.randrange(6)}
        elif kind == 12:
            yield 'repo_list', {'path': 'src', 'maxResults': 30, 'offset': chance.randrange(40)}
        elif kind == 13:
            yield 'move', {'from': path, 'to': path + '.moved', 'overwrite': True}
        elif kind == 14:
            yield 'move', {'from': path + '.moved', 'to': path}
        elif kind == 15:
            yield 'delete', {'path': 'new/%d/note%d.txt' % (number % 5, chance.randrange(17))}
        elif kind == 16:
            yield 'shell', {'command': 'wc -l %s; echo %d >> log.txt' % (path, number)}
        elif kind == 17:
            yield chance.choice(['read', 'write', 'delete']), chance.choice(
                [{'path': '../../etc/passwd', 'content': 'x'}, {'path': 7}, {}, {'path': 'a', 'no': 1}, {'path': '/etc/shadow'}])
        elif kind == 18:
            yield chance.choice(['git_status', 'git_diff']), {}
        else:
            yield 'git_status', {'includeIgnored': True}
    yield 'git_status', {}
    yield 'git_branch', {'action': 'create', 'name': 'work'}
    yield 'git_commit', {'paths': ['.'], 'message': 'all of it\n'}
    yield 'git_status', {}
    yield 'git_branch', {'action': 'list'}
    yield 'git_branch', {'action': 'switch', 'name': 'main'}
    yield 'git_branch', {'action': 'switch', 'name': 'work'}
    yield 'git_pr_handoff', {'base': 'main'}


def backend_for(name):
    backend = Prism.Registry.get_default().create_backend(name)
    if name == 'docker':
        sys.path.insert(0, os.path.join(os.environ['PRISM_SOURCE_ROOT'], 'tests', 'docker'))
        import daemon
        backend.props.image = daemon.Place(folder=os.environ['PRISM_TEST_DOCKER_FOLDER']).image('git')
        backend.props.socket = os.environ['PRISM_TEST_DOCKER_SOCKET']
    return backend


def composition_for(backend, folder):
    if backend == 'host':
        composition = Prism.Composition.new(Prism.CompositionMode.HOST)
        composition.set_folder(Gio.File.new_for_path(folder))
        return composition, None
    spec = Prism.SandboxSpec(workspace=Gio.File.new_for_path(folder))
    sandbox = backend_for(backend).create_sandbox(spec, None)
    composition = Prism.Composition.new(Prism.CompositionMode.SANDBOX)
    composition.set_sandbox(sandbox)
    composition.set_workspace(folder)
    return composition, sandbox


def work(backend):
    folder = tempfile.mkdtemp(prefix='prism-mixed-')
    try:
        make_repository(folder)
        composition, sandbox = composition_for(backend, folder)
        composition.props.git = True
        composition.bind(None)
        root = composition.props.workspace_root
        answers = []
        for number, (tool, arguments) in enumerate(plan(CALLS)):
            result = composition.find_tool(tool).call(json.dumps(arguments), Prism.ToolContext.new('run', None, str(number)), None)
            text = (result.get_message() or '') if result.get_failed() else result.dup_text()
            # Where the tree is differs; commits have the time in their names.
            text = text.replace(root, 'ROOT')
            if not tool.startswith('git_') or tool == 'git_status' and number < CALLS:
                answers.append((tool, arguments, int(result.get_code()) if result.get_failed() else -1,
                                text if not result.get_failed() else ''))
            else:
                assert not result.get_failed(), (tool, arguments, text)
        status = git(folder, 'status', '--porcelain').decode()
        left = [name for where, _, names in os.walk(folder) for name in names if name.startswith('.prism-')]
        if sandbox is not None:
            sandbox.close(None)
        git(folder, 'fsck', '--strict')
        return answers, identity(folder), git(folder, 'write-tree'), status, left
    finally:
        shutil.rmtree(folder)


def mixed_calls():
    first = None
    for backend in BACKENDS:
        answers, tree, index, status, left = work(backend)
        assert status == '', (backend, status)
        assert left == [], (backend, left)
        assert sum(1 for answer in answers if answer[2] == -1) > len(answers) / 2
        if first is None:
            first = (backend, answers, tree, index)
            continue
        for number, (one, other) in enumerate(zip(first[1], answers)):
            assert one == other, (number, first[0], one, backend, other)
        assert (first[2], first[3]) == (tree, index), backend


def repository_runs_nothing():
    """Whatever its configuration names: no git tool runs it."""
    folder = tempfile.mkdtemp(prefix='prism-hostile-')
    try:
        make_repository(folder)
        marker = os.path.join(folder, 'MARKER')
        program = os.path.join(folder, 'evil')
        with open(program, 'w', encoding='utf-8') as file:
            file.write('#!/bin/sh\ntouch "%s"\ncat\n' % marker)
        os.chmod(program, 0o755)
        hooks = os.path.join(folder, 'hooks')
        os.mkdir(hooks)
        for hook in ['pre-commit', 'post-checkout', 'post-commit', 'commit-msg', 'reference-transaction', 'post-index-change']:
            shutil.copy(program, os.path.join(hooks, hook))
        for key in ['core.fsmonitor', 'core.pager', 'core.editor', 'core.sshCommand', 'core.askPass', 'sequence.editor',
                    'diff.external', 'diff.evil.command', 'diff.evil.textconv', 'filter.evil.clean', 'filter.evil.smudge',
                    'filter.evil.process', 'merge.evil.driver', 'gpg.program', 'credential.helper', 'pager.diff', 'pager.status']:
            git(folder, 'config', key, program)
        git(folder, 'config', 'core.hooksPath', hooks)
        git(folder, 'config', 'commit.gpgSign', 'true')
        git(folder, 'config', 'filter.evil.required', 'true')
        with open(os.path.join(folder, '.gitattributes'), 'w', encoding='utf-8') as file:
            file.write('* filter=evil diff=evil merge=evil\n')
        composition, _ = composition_for('host', folder)
        composition.props.git = True
        composition.bind(None)

        def call(tool, **arguments):
            result = composition.find_tool(tool).call(json.dumps(arguments), None, None)
            assert not os.path.exists(marker), tool
            return result

        path = 'src/part0/file00.txt'
        with open(os.path.join(folder, path), 'a', encoding='utf-8') as file:
            file.write('more\n')
        patch = call('git_diff', paths=[path]).dup_text()
        for tool, arguments in [
                ('git_status', {}), ('git_diff', {}), ('git_diff', {'staged': True}),
                ('git_commit', {'paths': [path], 'message': 'one'}),
                ('git_apply', {'action': 'reverse', 'patch': patch}), ('git_apply', {'action': 'apply', 'patch': patch}),
                ('git_branch', {'action': 'create', 'name': 'next', 'createCheckpoint': True}),
                ('git_branch', {'action': 'switch', 'name': 'main', 'createCheckpoint': True}),
                ('git_worktree', {'action': 'add', 'path': 'tree', 'branch': 'next'}), ('git_worktree', {'action': 'list'}),
                ('git_worktree', {'action': 'remove', 'path': 'tree', 'force': True}),
                ('git_pr_handoff', {'base': 'main~1'})]:
            result = call(tool, **arguments)
            assert not result.get_failed(), (tool, arguments, result.get_message())
        for tool, arguments in [('git_branch', {'action': 'switch', 'name': '--orphan'}),
                                ('git_branch', {'action': 'create', 'name': 'a..b'}),
                                ('git_commit', {'paths': ['../x'], 'message': 'x'}),
                                ('git_commit', {'paths': ['.'], 'message': ' '}),
                                ('git_worktree', {'action': 'add', 'path': '../away'}),
                                ('git_apply', {'action': 'apply', 'patch': '--- a/../x\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n'}),
                                ('git_pr_handoff', {'base': '--output=x'})]:
            result = call(tool, **arguments)
            assert result.get_failed(), (tool, arguments)
    finally:
        shutil.rmtree(folder)


harness.run([mixed_calls, repository_runs_nothing])

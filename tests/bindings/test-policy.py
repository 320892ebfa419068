# SPDX-License-Identifier: LGPL-2.1-or-later
"""A policy that is written in Python, and the stock one, whose questions are answered from there."""
import os
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import gi

gi.require_version('Prism', '1')
from gi.repository import Gio, GLib, GObject, Prism

import harness


def until(done):
    context = GLib.MainContext.default()
    late = []
    timeout = GLib.timeout_add_seconds(30, late.append, True)
    while not done():
        assert not late, 'too late'
        context.iteration(True)
    GLib.source_remove(timeout)


def action(command, **properties):
    return Prism.Action(kind='shell', operation='execute', command=command, run_id='run', **properties)


class Policy(GObject.Object, Prism.Policy):
    """Says yes to `true` at once, to `later` later, and raises at `raise`."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def do_check(self, operation):
        command = operation.get_action().get_command()
        self.asked.append(command)
        if command == 'raise':
            raise ValueError('no idea')
        if command == 'later':
            source = GLib.Idle()
            source.set_callback(lambda *_: operation.complete(Prism.Decision.new_allow()) or GLib.SOURCE_REMOVE)
            source.attach(GLib.MainContext.get_thread_default())
        elif command == 'true':
            operation.complete(Prism.Decision(verdict=Prism.Verdict.ALLOW, exclusive=True))
        else:
            operation.complete(Prism.Decision.new_deny('python', 'not this one'))


def check_async(policy, about, cancellable=None):
    answers = []

    def answered(source, result):
        try:
            answers.append(source.check_finish(result))
        except GLib.Error as error:
            answers.append(error)

    policy.check_async(about, cancellable, answered)
    return answers


def a_policy_in_python():
    """a policy in Python decides, at once or later, for both ways to ask"""
    policy = Policy()
    assert policy.check(action('true'), None).props.allowed
    assert policy.check(action('true'), None).props.exclusive
    denied = policy.check(action('rm'), None)
    assert (denied.props.allowed, denied.props.reason_id, denied.props.reason) == (False, 'python', 'not this one')
    assert policy.check(action('later'), None).props.allowed
    answers = check_async(policy, action('later'))
    until(lambda: answers)
    assert answers[0].props.allowed
    assert policy.asked == ['true', 'true', 'rm', 'later', 'later']
    try:
        denied.enforce()
    except GLib.Error as error:
        assert error.matches(Prism.policy_error_quark(), Prism.PolicyError.DENIED), error
        assert 'not this one' in error.message
    else:
        raise AssertionError('enforced nothing')


def a_policy_that_raises():
    """one that raises is an error once the caller cancels, and never a yes"""
    policy = Policy()
    hook, sys.excepthook = sys.excepthook, lambda *_: None
    cancellable = Gio.Cancellable()
    answers = check_async(policy, action('raise'), cancellable)
    GLib.timeout_add(50, lambda: cancellable.cancel() or GLib.SOURCE_REMOVE)
    until(lambda: answers)
    sys.excepthook = hook
    assert isinstance(answers[0], GLib.Error), answers


def a_question_answered_later():
    """a question of the stock policy is answered later, from the main loop and from a thread"""
    with tempfile.TemporaryDirectory() as folder:
        policy = Prism.ApprovalPolicy(roots=[folder], approval_timeout_ms=0)
        kept = []
        policy.connect('approval-requested', lambda _, request: kept.append(request))
        for respond in (lambda request: GLib.timeout_add(20, lambda: request.respond(Prism.ApprovalAnswer.ALLOW) and GLib.SOURCE_REMOVE),
                        lambda request: threading.Thread(target=request.respond, args=(Prism.ApprovalAnswer.ALLOW,)).start()):
            answers = check_async(policy, action('make test', directory=folder))
            until(lambda: kept)
            request = kept.pop()
            text = request.dup_text()
            assert 'command: make test\n' in text and f'directory: {folder}\n' in text and 'why: ' in text, text
            assert request.props.pending and request.props.can_remember and request.props.action.props.command == 'make test'
            respond(request)
            until(lambda: answers)
            assert answers[0].props.allowed
            assert not request.respond(Prism.ApprovalAnswer.DENY)
        denied = policy.check(action('sudo make'), None)
        assert denied.props.reason_id == 'default-deny', denied.props.reason


def rules_and_lines():
    """rules, and what a line is made of, from Python"""
    policy = Prism.ApprovalPolicy(roots=['/'])
    policy.add_rule(Prism.CommandRule.new_prefix(['git', 'status'], Prism.Verdict.ALLOW, None))
    policy.add_rule(Prism.CommandRule.new(Prism.CommandMatch.REGEX, 'pu(sh|ll)', Prism.Verdict.DENY, 'offline'))
    assert policy.check(action('git status -s'), None).props.allowed
    assert policy.check(action('git pull'), None).props.reason == 'offline'
    assert policy.check(action('git log'), None).props.reason_id == 'approval-required'
    assert policy.evaluate(action('git log')).props.verdict == Prism.Verdict.ASK
    assert [rule.get_line() for rule in policy.get_rules()][0] == '{"match":"prefix","pattern":["git","status"],"action":"allow"}'
    assert Prism.shell_list_commands('a; b "c d" | e $(f)') == ['a', "b 'c d'", 'e $(...)', 'f']
    assert Prism.shell_has_metacharacters('a; b') and not Prism.shell_has_metacharacters('a "; b"')
    try:
        Prism.shell_list_commands('eval $x')
    except GLib.Error as error:
        assert 'cannot be told' in error.message
    decision = Prism.evaluate_command_rules(list(policy.get_rules()), 'git push', True)
    assert decision.props.reason_id == 'rule-denied'


def a_guard():
    """names that stay in their folders"""
    with tempfile.TemporaryDirectory() as folder:
        guard = Prism.PathGuard.new([folder])
        assert guard.check(f'{folder}/a/b', Prism.PathIntent.WRITE)
        try:
            guard.check(f'{folder}/../x', Prism.PathIntent.READ)
        except GLib.Error as error:
            assert error.matches(Prism.policy_error_quark(), Prism.PolicyError.DENIED), error
        fd = guard.open(f'{folder}/new', Prism.PathIntent.WRITE, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o644)
        os.write(fd, b'x')
        os.close(fd)
        assert os.stat(f'{folder}/new').st_size == 1


harness.run([a_policy_in_python, a_policy_that_raises, a_question_answered_later, rules_and_lines, a_guard])

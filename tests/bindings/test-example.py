# SPDX-License-Identifier: LGPL-2.1-or-later
"""The example of the API's description, on the native backend, as it stands there."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

import gi

gi.require_version('Prism', '1')
from gi.repository import Gio, Prism


def as_described():
    os.chdir(tempfile.mkdtemp())
    registry = Prism.Registry.get_default()
    backend = registry.create_backend("native")
    spec = Prism.SandboxSpec(workspace=Gio.File.new_for_path("."), network=Prism.NetworkMode.EGRESS,
                             egress_policy=Prism.EgressPolicy.new_static(["api.github.com"]))
    sandbox = backend.create_sandbox(spec, None)
    result = sandbox.exec(Prism.Command.new(["sh", "-c", "echo made inside >file; echo $HTTPS_PROXY; exit 3"]), None)
    capabilities = sandbox.props.capabilities
    assert (result.props.exit_code, capabilities.get_network_isolated(), capabilities.get_egress_restricted()) == (3, False, True)
    assert result.get_stdout().get_data() == b'http://127.0.0.1:3128\n'
    sandbox.close(None)
    with open('file', encoding='utf-8') as file:
        assert file.read() == 'made inside\n'


harness.run([as_described])

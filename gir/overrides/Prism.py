# SPDX-License-Identifier: LGPL-2.1-or-later
# What makes libprism read naturally in Python; it adds no behaviour.
from ..module import get_introspection_module
from ..overrides import override

Prism = get_introspection_module('Prism')

__all__ = []


class Sandbox(Prism.Sandbox):
    """with backend.create_sandbox(spec, None) as sandbox: ... closes it at the end."""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close(None)


Sandbox = override(Sandbox)
__all__.append('Sandbox')

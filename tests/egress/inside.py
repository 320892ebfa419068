# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs inside a sandbox that may reach one host and port, and tries everything else.
Prints a line for each way: NAME, a tab, and "out" if it got further than it may, or
why it did not. No way that works here may be called anything but "out"."""
import concurrent.futures
import contextlib
import ctypes
import json
import os
import socket
import struct
import sys

WAIT = 1  # second: what is refused is refused at once, and the host's side counts what gets through
libc = ctypes.CDLL(None, use_errno=True)
given = json.loads(sys.argv[1])  # good, evil, udp, six, any: ports; tls; own: addresses; unix, abstract; other
PROXY = ('127.0.0.1', 3128)
TOKEN = given['token'].encode()


def reached(data):
    return 'out' if TOKEN in data else 'nothing of it came back'


def tcp(address, port, family=socket.AF_INET, **options):
    with socket.socket(family, socket.SOCK_STREAM) as s:
        s.settimeout(WAIT)
        for name, value in options.items():
            s.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
        s.connect((address, port))
        s.sendall(b'GET / HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n')
        return 'out' if s.recv(1) else 'closed'


def udp(address, port, family=socket.AF_INET):
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(WAIT)
        if family == socket.AF_INET:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.sendto(b'x' * 30, (address, port))
        s.recvfrom(100)
        return 'out'


def kind(family, sort, protocol=0):
    socket.socket(family, sort, protocol).close()
    return 'out'


def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return 'out'


def ask(data):
    """Bytes to the proxy, and whether the token of a place that is not allowed comes back."""
    with socket.create_connection(PROXY, WAIT) as s:
        s.settimeout(WAIT)
        s.sendall(data)
        got = b''
        with contextlib.suppress(OSError):
            while more := s.recv(65536):
                got += more
    return reached(got)


def get(url, host=None, *more):
    host = host or url.split('/')[2]
    return ask('\r\n'.join([f'GET {url} HTTP/1.1', f'Host: {host}', 'Connection: close', *more, '', '']).encode())


def tunnel(place, then=b'GET / HTTP/1.1\r\nHost: evil.test\r\nConnection: close\r\n\r\n', host=None):
    with socket.create_connection(PROXY, WAIT) as s:
        s.settimeout(WAIT)
        s.sendall(f'CONNECT {place} HTTP/1.1\r\nHost: {host or place}\r\n\r\n'.encode())
        got = s.recv(65536)
        if b' 200 ' not in got.split(b'\r\n')[0]:
            return 'refused: ' + got.split(b'\r\n')[0].decode()
        s.sendall(then)
        with contextlib.suppress(OSError):
            while more := s.recv(65536):
                got += more
    return reached(got)


def hello(name):
    """A ClientHello of the smallest kind, for another name."""
    sni = name.encode()
    names = struct.pack('>BH', 0, len(sni)) + sni
    extension = struct.pack('>HHH', 0, len(names) + 2, len(names)) + names
    body = b'\x03\x03' + bytes(32) + b'\0' + b'\0\x02\x13\x01' + b'\x01\0' + struct.pack('>H', len(extension)) + extension
    message = b'\x01' + struct.pack('>I', len(body))[1:] + body
    return b'\x16\x03\x01' + struct.pack('>H', len(message)) + message


def name_resolves(name):
    return 'out' if socket.getaddrinfo(name, 80) else ''


def dns(server):
    query = struct.pack('>HHHHHH', 1, 0x100, 1, 0, 0, 0) + b'\x04good\x04test\0' + b'\0\x01\0\x01'
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(WAIT)
        s.sendto(query, (server, 53))
        s.recvfrom(100)
        return 'out'


def pathname(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(WAIT)
        s.connect(path)
        return 'out'


def other_namespace():
    with open('/proc/1/ns/net', 'rb') as file:
        return call(308, file.fileno(), 0)  # setns


def new_route():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as s:
        # RTM_NEWLINK of a dummy interface
        info = struct.pack('HH', 10, 1) + b'dummy\0\0\0'
        link = struct.pack('HH', 4 + len(info), 18) + info
        body = struct.pack('BxHiII', 0, 0, 0, 0, 0) + link
        s.sendall(struct.pack('IHHII', 16 + len(body), 16, 0x605, 1, 0) + body)
        error = struct.unpack_from('i', s.recv(4096), 16)[0]
        if error:
            raise OSError(-error, os.strerror(-error))
        return 'out'


def mine():
    """Whether another process's listener can be put in the place of the proxy's."""
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        s.bind(PROXY)
        s.listen()
        return 'out'


good, evil = given['good'], given['evil']
WAYS = {
    'tcp to the loopback of the host': lambda: tcp('127.0.0.1', evil),
    'tcp to another address of the loopback': lambda: tcp('127.0.0.2', given['any']),
    'tcp to 0.0.0.0': lambda: tcp('0.0.0.0', given['any']),
    'tcp to the internet': lambda: tcp('192.0.2.1', 80),
    'tcp to ::1': lambda: tcp('::1', given['six'], socket.AF_INET6),
    'tcp to a mapped address': lambda: tcp('::ffff:127.0.0.1', evil, socket.AF_INET6),
    'tcp to an internet address of IPv6': lambda: tcp('2001:db8::1', 80, socket.AF_INET6),
    'tcp bound to a device': lambda: tcp('192.0.2.1', 80, SO_BINDTODEVICE=b'eth0\0'),
    'tcp with a mark': lambda: tcp('192.0.2.1', 80, SO_MARK=1),
    'udp to the loopback of the host': lambda: udp('127.0.0.1', given['udp']),
    'udp to the internet': lambda: udp('192.0.2.1', 53),
    'udp to everybody': lambda: udp('255.255.255.255', given['udp']),
    'udp to a group': lambda: udp('224.0.0.1', given['udp']),
    'udp to ::1': lambda: udp('::1', given['udp'], socket.AF_INET6),
    'a name': lambda: name_resolves('good.test'),
    'a name server on the loopback': lambda: dns('127.0.0.53'),
    'a name server of the internet': lambda: dns('192.0.2.53'),
    'raw packets': lambda: kind(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP),
    'raw packets of IPv6': lambda: kind(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6),
    'frames': lambda: kind(socket.AF_PACKET, socket.SOCK_RAW, 3),
    'the host of this machine (vsock)': lambda: kind(40, socket.SOCK_STREAM),
    'bluetooth': lambda: kind(31, socket.SOCK_RAW, 1),
    'the kernel\'s crypto': lambda: kind(38, socket.SOCK_SEQPACKET),
    'io_uring': lambda: call(425, 4, ctypes.create_string_buffer(120)),
    'another interface': new_route,
    'a socket of the host by its path': lambda: pathname(given['unix']),
    'an abstract socket of the host': lambda: pathname('\0' + given['abstract']),
    'the place of the proxy\'s listener': mine,
    'CONNECT to the address itself': lambda: tunnel(f'127.0.0.1:{good}'),
    'CONNECT to another address': lambda: tunnel(f'127.0.0.1:{evil}'),
    'CONNECT to a mapped address': lambda: tunnel(f'[::ffff:127.0.0.1]:{evil}'),
    'CONNECT to a number': lambda: tunnel(f'2130706433:{evil}'),
    'CONNECT to octal': lambda: tunnel(f'0177.0.0.1:{evil}'),
    'CONNECT to another host': lambda: tunnel(f'evil.test:{evil}'),
    'CONNECT to another port': lambda: tunnel(f'good.test:{evil}'),
    'CONNECT to a subdomain': lambda: tunnel(f'evil.good.test:{evil}'),
    'CONNECT with another Host': lambda: tunnel(f'evil.test:{evil}', host=f'good.test:{good}'),
    'CONNECT with a line end in it': lambda: tunnel(f'evil.test:{evil}\r\nX: good.test:{good}'),
    'CONNECT to the proxy': lambda: tunnel('127.0.0.1:3128', f'GET http://evil.test:{evil}/ HTTP/1.1\r\n\r\n'.encode()),
    'TLS to another name': lambda: tunnel(f'good.test:{given["tls"]}', hello('evil.test')),
    'TLS without a name': lambda: tunnel(f'good.test:{given["tls"]}', hello('')),
    'no TLS where TLS is due': lambda: tunnel(f'good.test:{given["tls"]}'),
    'GET of another host': lambda: get(f'http://evil.test:{evil}/'),
    'GET of another host in capitals': lambda: get(f'http://EVIL.TEST.:{evil}/'),
    'GET with another Host': lambda: get(f'http://good.test:{good}/', f'evil.test:{evil}'),
    'GET of another host with the good Host': lambda: get(f'http://evil.test:{evil}/', f'good.test:{good}'),
    'GET with two Hosts': lambda: get(f'http://good.test:{good}/', None, f'Host: evil.test:{evil}'),
    'GET with a user': lambda: get(f'http://good.test:{good}@evil.test:{evil}/', f'evil.test:{evil}'),
    'GET with a backslash': lambda: get(f'http://evil.test:{evil}\\@good.test:{good}/'),
    'GET of a longer name': lambda: get(f'http://good.test.evil.test:{evil}/'),
    'GET of an address': lambda: get(f'http://127.0.0.1:{evil}/'),
    'GET without a host in the target': lambda: get('/', f'evil.test:{evil}'),
    'GET of https': lambda: get(f'https://evil.test:{evil}/', f'evil.test:{evil}'),
    'GET of ftp': lambda: get(f'ftp://evil.test:{evil}/', f'evil.test:{evil}'),
    'a redirect to another host': lambda: get(f'http://good.test:{good}/to-evil'),
    'a redirect to an address': lambda: get(f'http://good.test:{good}/to-address'),
    'a redirect to another port': lambda: get(f'http://good.test:{good}/to-port'),
    'a second request in the body of the first': lambda: ask(
        f'POST http://good.test:{good}/ HTTP/1.1\r\nHost: good.test:{good}\r\nContent-Length: 4\r\n'
        f'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET http://evil.test:{evil}/ HTTP/1.1\r\nHost: evil.test:{evil}\r\n\r\n'.encode()),
    'a second request after the first': lambda: ask(
        f'GET http://good.test:{good}/ HTTP/1.1\r\nHost: good.test:{good}\r\n\r\n'
        f'GET http://evil.test:{evil}/ HTTP/1.1\r\nHost: evil.test:{evil}\r\nConnection: close\r\n\r\n'.encode()),
    'a websocket to another host': lambda: get(f'http://evil.test:{evil}/', None, 'Upgrade: websocket', 'Connection: upgrade'),
    'what another sandbox may reach': lambda: get(f'http://other.test:{given["other"]}/'),
}
for number, address in enumerate(given['own']):
    WAYS[f'tcp to the host\'s address {number}'] = lambda a=address: tcp(a, given['any'])
    WAYS[f'CONNECT to the host\'s address {number}'] = lambda a=address: tunnel(f'{a}:{given["any"]}')
NAMESPACES = {
    'the network namespace of pid 1': other_namespace,
    'a network namespace of its own': lambda: call(272, 0x40000000),
    'a user and a network namespace': lambda: call(272, 0x50000000),
}


def attempt(way):
    name, function = way
    try:
        return name, function()
    except (OSError, UnicodeError) as error:
        return name, f'{type(error).__name__}: {error}'


def attempt_in_child(way):
    """Where one works, that process is elsewhere; and the kernel wants it without threads."""
    ends = os.pipe()
    if os.fork() == 0:
        os.write(ends[1], attempt(way)[1].encode())
        os._exit(0)
    os.close(ends[1])
    with os.fdopen(ends[0], 'rb') as end:
        return way[0], end.read().decode()


results = [attempt_in_child(way) for way in NAMESPACES.items()]
with concurrent.futures.ThreadPoolExecutor(16) as pool:
    results += pool.map(attempt, WAYS.items())
for name, result in results:
    print(name, result, sep='\t')

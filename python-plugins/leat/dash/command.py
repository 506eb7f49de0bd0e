# SPDX-License-Identifier: Apache-2.0
"""The command line of `leat dash`. The page is for its user alone: on loopback it wants a token, on a socket of the file system the file's
permissions say who may."""
import os
import secrets
import signal
import sys
import threading

from ..planning.words import Parser, Refused, run, whole
from .runs import Runs
from .web import Page, serve_on_port, serve_on_socket


def main():
    options = _parser().parse_args()
    return run("dash", lambda: _serve(options))


def _parser():
    parser = Parser("dash", "Shows running sessions of yours on this node as a page, live.",
                    "Exit codes: 0 ended by Ctrl-C or a signal; 1 it cannot listen there; 2 the command line is wrong.")
    parser.add_argument("session", nargs="*", help="Sessions, or names of simulations (default: all of this node, later ones too)")
    parser.add_argument("--port", type=whole(0, 65535), default=0, metavar="N", help="On 127.0.0.1 (default: one that is free)")
    parser.add_argument("--socket", metavar="FILE", help="Listens on a socket in the file system, for you alone, and on no port")
    parser.add_argument("--read-only", action="store_true", help="Nothing can be set or signalled from the page")
    parser.add_argument("--interpreter", metavar="PYTHON", help="Python with h5py and NumPy, which fields need (default: python3 in PATH)")
    return parser


def _serve(options):
    """Until a signal comes."""
    page = Page(Runs(options.session), secrets.token_urlsafe(18), options.read_only)
    try:
        server = serve_on_socket(page, options.socket) if options.socket else serve_on_port(page, options.port)
    except OSError as why:
        where = options.socket or f"127.0.0.1:{options.port}"
        raise Refused(f"cannot listen on {where}: {why.strerror}", 1) from None
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a browser that goes away is no end
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(_told(options, server, page.token))
    sys.stdout.flush()
    ended.wait()
    page.end()
    server.shutdown()
    if options.socket:
        os.unlink(options.socket)


def _told(options, server, token):
    """Where the page is, from here and from elsewhere."""
    node = os.uname().nodename
    port = 8080 if options.socket else server.server_address[1]
    far = os.path.abspath(options.socket) if options.socket else f"127.0.0.1:{port}"
    link = f"http://127.0.0.1:{port}/?token={token}"
    here = "" if options.socket else f"  on this machine:  {link}\n"
    return f"{here}  from elsewhere:   ssh -L {port}:{far} {node}\n                    then {link}\n"

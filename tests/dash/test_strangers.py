# SPDX-License-Identifier: Apache-2.0
"""Who may see the page of `leat dash`, and who harms it: nobody without its token, no page from elsewhere, no browser that reads
nothing."""
import contextlib
import re
import socket

import pytest
from dash_run import Dash, config, write
from leat_run import LIMIT, Run

MOST = 128  # connections


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dash")
    (folder / "means.py").write_text("import leat\n")
    with Run(folder, config(), 2) as run:
        run.init()
        write(run, range(3))
        with Dash(run) as dash:
            yield run, dash
            write(run, range(3, 6))  # whatever was done to the page
            run.finish()


@pytest.mark.parametrize("path", ["/", "/events", "/scalars?run=x", "/picture?run=x", "/field?run=x"])
def test_nothing_is_shown_without_the_token(running, path):
    _, dash = running
    for cookie in (False, "wrong", dash.token[:-1], dash.token + "x", "\xfc"):
        status, _, body = dash.get(path, cookie=cookie)
        assert status == 401 and dash.token.encode() not in body, (path, cookie)
    assert dash.get(f"/?token={dash.token}x", cookie=False)[0] == 401


def test_the_token_comes_in_once_and_is_a_cookie_that_no_other_page_sends(running):
    _, dash = running
    status, headers, _ = dash.get(f"/?token={dash.token}", cookie=False)
    assert status == 303 and headers["Location"] == "/" and "HttpOnly; SameSite=Strict" in headers["Set-Cookie"]
    status, headers, body = dash.get("/")
    assert status == 200 and "default-src 'self'" in headers["Content-Security-Policy"] and headers["Referrer-Policy"] == "no-referrer"
    assert dash.token.encode() not in body and b"http://" not in body.replace(b"http://www.w3.org", b"") and b"https://" not in body


def test_a_name_that_leads_here_from_elsewhere_is_refused(running):
    _, dash = running
    for host in ("evil.example", f"evil.example:{dash.port}", "127.0.0.1.evil.example", "localhost.evil.example:80", ""):
        assert dash.get("/", host=host or "x")[0] == 403
    for host in ("localhost", f"localhost:{dash.port}", "127.0.0.1:8080", f"[::1]:{dash.port}"):
        assert dash.get("/", host=host)[0] == 200


def test_only_questions_are_answered_and_only_those_that_are_known(running):
    run, dash = running
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert dash.get("/", method=method)[0] == 501
    for path in ("/../../etc/passwd", "/page.html", "/picture", f"/picture?run={run.session}&name=../../../etc/passwd&iteration=0",
                 "/scalars?run=..%2F..", f"/picture?run={run.session}&name=x&iteration=-1"):
        assert dash.get(path)[0] == 404, path
    status, _, body = dash.get(f"/field?run={run.session}&variable=u&file=/etc/passwd")
    assert status == 200 and b"no store of this run" in body
    status, _, body = dash.get(f"/field?run={run.session}&variable=../../x&axis=99999999999999&index=-3")
    assert status == 200 and b'"error"' in body


def test_an_order_counts_only_with_the_token_and_from_the_page_itself(running):
    run, dash = running
    order = {"run": run.session, "parameter": "dt", "value": "7"}
    for cookie in (False, "wrong", dash.token[:-1]):
        assert dash.order("/set", cookie=cookie, **order)[0] == 401
        assert dash.order("/signal", cookie=cookie, run=run.session, event="snap")[0] == 401
    for origin in ("", "null", "http://evil.example", f"http://127.0.0.1:{dash.port + 1}", f"https://127.0.0.1:{dash.port}"):
        assert dash.order("/set", origin=origin, **order)[0] == 403
    assert dash.get("/set", method="POST", host="evil.example", body="{}", Origin="http://evil.example")[0] == 403
    assert dash.get(f"/set?run={run.session}&parameter=dt&value=7")[0] == 404, "no order by a link"
    assert dash.order("/", **order)[0] == 404 and dash.order("/drain", run=run.session)[0] == 404
    assert {rank.must("get_double", "dt").value for rank in run.ranks} == {0.5}


@pytest.mark.parametrize("body", ["", "[]", "{", "[" * 50000, '{"run": 1}', "\0", "x" * 70000])
def test_an_order_that_is_none_is_refused(running, body):
    _, dash = running
    with contextlib.suppress(ConnectionError):  # it does not read what is too long
        assert dash.get("/set", method="POST", host=f"127.0.0.1:{dash.port}", body=body, Origin=f"http://127.0.0.1:{dash.port}")[0] == 400
    assert dash.get("/")[0] == 200


def test_with_read_only_nothing_is_set_and_the_page_offers_nothing(running):
    run, _ = running
    with Dash(run, "--read-only") as dash:
        dash.await_state(run.session, lambda state: state["connection"] == "there", "the run")
        assert b'<body class="read-only">' in dash.get("/")[2]
        for path in ("/set", "/signal"):
            status, said = dash.order(path, run=run.session, parameter="dt", value="7", event="snap")
            assert status == 403 and "--read-only" in said
    assert {rank.must("get_double", "dt").value for rank in run.ranks} == {0.5}


@pytest.mark.parametrize("words", [
    b"\0\1\2\3\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET /" + b"x" * 200000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 5000 + b"\r\n", b"GET / HTTP/1.1\r\nCookie: leat=\xff\xfe;;;=\r\n\r\n"])
def test_garbage_is_refused_and_harms_nothing(running, words):
    _, dash = running
    with dash.connect() as connection:
        connection.settimeout(LIMIT)
        with contextlib.suppress(OSError):
            connection.sendall(words)
            connection.shutdown(socket.SHUT_WR)
            answer = connection.recv(1 << 16)
            assert not answer or re.search(rb"^HTTP/1.1 [45]|Error code: [45]", answer), answer
    assert dash.get("/")[0] == 200


def test_a_hundred_browsers_and_some_that_read_nothing_are_served_and_more_are_told(running):
    run, dash = running
    with contextlib.ExitStack() as open_ones:
        readers = [open_ones.enter_context(dash.events()) for _ in range(100)]
        for reader in readers[:50]:  # the others read nothing
            assert reader.recv(12) == b"HTTP/1.1 200"
        assert dash.get("/")[0] == 200 and run.session in dash.states()
        for _ in range(MOST):
            open_ones.enter_context(dash.events())
        with dash.connect() as one_more:
            assert one_more.recv(1 << 12).startswith(b"HTTP/1.1 503")
    dash.await_state(run.session, lambda state: state["connection"] == "there", "places again")

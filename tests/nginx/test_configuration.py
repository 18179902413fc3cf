"""Directives: what google/ngx_brotli accepts works unchanged, nonsense is refused with its line."""

import re

import pytest

from harness.bodies import text
from harness.decode import decode
from harness.nginx import GOOGLE, MODULE

REFUSED = {
    "an unknown pool": ("brotli_thread_pool nowhere;", r'"nowhere".*"off".*"default".*"thread_pool"'),
    "level 12": ("brotli_comp_level 12;", r"12.*0.*11|0.*11.*12"),
    "level -1": ("brotli_comp_level -1;", r"-1"),
    "a level in words": ("brotli_comp_level best;", r"best|invalid number"),
    "a window of 3k": ("brotli_window 3k;", r"3k.*1k.*16m|1k.*16m.*3k"),
    "a window of 32m": ("brotli_window 32m;", r"32m.*16m|16m.*32m"),
    "segments of 1k": ("brotli_parallel_segment_size 1k;", r"1k.*64k.*16m|64k.*16m.*1k"),
    "segments of 17m": ("brotli_parallel_segment_size 17m;", r"17m.*64k.*16m|64k.*16m.*17m"),
    "no tasks": ("brotli_parallel_tasks 0;", r"\b0\b.*1.*64|1.*64.*\b0\b"),
    "65 tasks": ("brotli_parallel_tasks 65;", r"65.*1.*64|1.*64.*65"),
    "brotli maybe": ("brotli maybe;", r"maybe.*on.*off"),
    "brotli_proxied sometimes": ("brotli_proxied any sometimes;", r'"sometimes".*"off".*"any"'),
    "brotli_no_transform maybe": ("brotli_no_transform maybe;", r"maybe.*on.*off"),
    "brotli_static maybe": ("brotli_static maybe;", r'"maybe".*"on".*"off".*"always"'),
    "a negative least length": ("brotli_thread_pool_min_length -1;", r"-1"),
}


@pytest.mark.parametrize("directive, message", REFUSED.values(), ids=REFUSED.keys())
def test_a_bad_value_is_refused_with_its_line_and_what_is_allowed(nginx_check, directive, message):
    accepted, said = nginx_check(directive)
    assert not accepted
    emergencies = "\n".join(line for line in said.splitlines() if "emerg" in line)
    assert re.search(message, emergencies), said
    assert re.search(r"nginx\.conf:\d+", emergencies), said


def test_a_reload_with_an_unknown_pool_keeps_the_configuration_in_force(nginx):
    server = nginx("brotli on; brotli_thread_pool br;")
    body = text(50_000)
    server.file("page.html", body)
    server.rewrite(server="brotli on; brotli_thread_pool nowhere;")
    server.refused_reload('invalid value "nowhere"')
    assert decode(server.get("/page.html").body) == body


@pytest.mark.parametrize("directive", [
    "brotli on;", "brotli_static on;", "brotli_proxied any;", "brotli_no_transform on;",
    "brotli_comp_level 5;", "brotli_window 1m;", "brotli_min_length 1k;",
    "brotli_thread_pool br;", "brotli_parallel_tasks 2;", "brotli_parallel_segment_size 1m;",
    "brotli_thread_pool_min_length 1k;"])
def test_a_directive_given_twice_is_refused(nginx_check, directive):
    accepted, said = nginx_check(directive * 2)
    assert not accepted
    assert "is duplicate" in said


def test_every_directive_is_accepted_in_http_server_and_location(nginx_check):
    directives = """
      brotli on;
      brotli_static on;
      brotli_proxied no-cache no-store private expired auth;
      brotli_no_transform on;
      brotli_types text/plain application/json;
      brotli_comp_level 5;
      brotli_window 1m;
      brotli_min_length 100;
      brotli_thread_pool br;
      brotli_parallel_tasks 64;
      brotli_parallel_segment_size 16m;
      brotli_thread_pool_min_length 8k;
    """
    accepted, said = nginx_check(f"{directives} location / {{ {directives} }}",
                                 http=directives.replace("brotli on;", ""))
    assert accepted, said
    assert "[warn]" not in said


def test_the_smallest_and_the_largest_values_are_accepted(nginx_check):
    accepted, said = nginx_check("""
      location /least {
        brotli_comp_level 0; brotli_window 1k; brotli_parallel_tasks 1;
        brotli_parallel_segment_size 64k; brotli_min_length 0; brotli_thread_pool_min_length 0;
      }
      location /most {
        brotli_comp_level 11; brotli_window 16m; brotli_parallel_tasks 64;
        brotli_parallel_segment_size 16m;
      }
    """)
    assert accepted, said


def test_brotli_buffers_warns_once_and_changes_nothing(nginx_check):
    accepted, said = nginx_check("brotli_buffers 32 4k; location /a { brotli_buffers 16 8k; }")
    assert accepted, said
    warnings = {line for line in said.splitlines() if "[warn]" in line}
    # Each line goes to stderr and to the log: one text, maybe with two time stamps.
    texts = {re.sub(r"^.*\[warn\] (\d+#\d+: )?", "", line) for line in warnings}
    assert len(texts) == 1, said
    assert "brotli_buffers" in texts.pop()


def test_a_pool_may_be_declared_after_its_use(nginx):
    server = nginx("brotli_thread_pool late;", threads="", tail="thread_pool late threads=1;")
    server.file("page.html", text(10_000))
    assert decode(server.get("/page.html").body) == text(10_000)


def test_the_pool_named_default_needs_no_declaration(nginx):
    server = nginx("brotli_thread_pool default;", threads="")
    server.file("page.html", text(10_000))
    assert decode(server.get("/page.html").body) == text(10_000)
    assert server.log_lines(containing='added to thread pool "default"')


def test_compression_can_be_switched_inside_if(nginx):
    server = nginx("""
      brotli off;
      location / {
        if ($arg_compress) { brotli on; }
      }
    """)
    server.file("page.html", text(5_000))
    assert server.get("/page.html").encoding is None
    response = server.get("/page.html?compress=1")
    assert response.encoding == "br"
    assert decode(response.body) == text(5_000)


def test_only_html_is_compressed_unless_types_are_given(nginx):
    server = nginx("location /all/ { brotli_types *; } location /json/ { brotli_types application/json; }")
    for name in ("page.html", "page.txt", "page.json", "page.png"):
        for directory in ("", "all/", "json/"):
            server.file(directory + name, text(3_000))
    with server.h1() as client:
        def compressed(directory):
            return [name for name in ("html", "txt", "json", "png")
                    if client.request(f"/{directory}page.{name}").encoding == "br"]
        assert compressed("") == ["html"]
        assert compressed("all/") == ["html", "txt", "json", "png"]
        assert compressed("json/") == ["html", "json"]


def test_the_least_length_is_inclusive_and_applies_to_known_lengths(nginx):
    server = nginx("brotli_min_length 1000;")
    server.file("short.html", text(999))
    server.file("long.html", text(1_000))
    assert server.get("/short.html").encoding is None
    assert server.get("/long.html").encoding == "br"


def test_the_ratio_is_logged_for_a_compressed_response_and_only_there(nginx):
    server = nginx("location /plain/ { brotli off; }")
    server.file("page.html", text(50_000))
    server.file("plain/page.html", text(50_000))
    compressed = server.get("/page.html")
    server.get("/plain/page.html")
    first, second = server.wait_for_access_log(2)
    ratio = float(first.split()[3])
    assert abs(ratio - 50_000 / len(compressed.body)) < 0.006
    assert second.split()[3] == "-"


@pytest.mark.loads
def test_two_modules_that_compress_are_refused_together(nginx_check):
    both = f'load_module "{MODULE}"; load_module "{GOOGLE}";'
    for load in (both, "; ".join(reversed(both.rstrip(";").split("; "))) + ";"):
        accepted, said = nginx_check(load=load)
        assert not accepted
        assert "[emerg]" in said


@pytest.mark.loads
def test_the_module_loaded_twice_is_refused(nginx_check):
    accepted, said = nginx_check(load=f'load_module "{MODULE}"; ' * 2)
    assert not accepted
    assert "is already loaded" in said


def test_the_level_and_the_window_reach_the_encoder(nginx):
    server = nginx("""
      location /fast/ { alias www/; brotli_comp_level 1; }
      location /small/ { alias www/; brotli_comp_level 11; }
      location /narrow/ { alias www/; brotli_comp_level 9; brotli_window 1k; }
      location /wide/ { alias www/; brotli_comp_level 9; }
    """)
    body = text(200_000)
    server.file("page.html", body)
    sizes = {}
    for name in ("fast", "small", "narrow", "wide"):
        response = server.get(f"/{name}/page.html")
        assert decode(response.body) == body
        sizes[name] = len(response.body)
    assert sizes["small"] < sizes["fast"]
    assert sizes["wide"] < sizes["narrow"]

"""Files that are left out of a window from its page: how they are named, and what is left to do then."""

from __future__ import annotations

import html
import re
from dataclasses import replace

from airflow_provider_blockread.ledger.model import GroupRef
from airflow_provider_blockread.ledger.windows.exclusions import list_exclusions
from airflow_provider_blockread.ledger.windows.groups import claim_group, fail_group
from airflow_provider_blockread.steps import plan
from tests.pages.actions.forms import OWN, client_of, fields_of, path_of
from tests.pipeline.make import Pipe


def test_a_file_is_left_out_for_a_reason(pipe: Pipe) -> None:
    """Its path and the reason are asked for; names of any kind stay text."""
    window, client = pipe.plan().window, client_of(pipe)
    given = {"path": pipe.uri("b"), "reason": "<b>spoilt</b>"}
    form = client.get(path_of(window, "exclude"), params={"path": "<a>"}).text
    shown = client.get(path_of(window, "exclude"), params=given).text
    done = client.post(path_of(window, "exclude"), data=given | {"token": fields_of(shown)["token"]}, headers=OWN)
    (left,) = list_exclusions(pipe.env.ledger, window, 1, limit=9)

    assert 'value="&lt;a&gt;"' in form
    assert 'value="&lt;b&gt;spoilt&lt;/b&gt;"' in shown
    assert done.status_code == 200
    assert (left.path, left.reason, left.who) == (pipe.uri("b"), "<b>spoilt</b>", "ann")


def test_a_file_is_named_as_people_know_it(pipe: Pipe) -> None:
    """By its name, the end of its path, or as a page shows it; a name of several files, or of none, is refused."""
    pipe.put({"x/c": b"4\n", "y/c": b"5\n", "odd\u200b": b"6\n"})
    window, client = pipe.plan().window, client_of(pipe)

    def shown(path: str) -> str:
        return client.get(path_of(window, "exclude"), params={"path": path, "reason": "bad"}).text

    for name in ("b", str(pipe.source / "b"), pipe.uri("b")):
        assert f"{pipe.uri('b')} is left out of it" in shown(name)
    assert f"{pipe.uri('y/c')} is left out of it" in shown("y/c")
    assert "odd\\u200b is left out of it" in shown("odd\\u200b")
    assert "holds 2 files named c" in shown("c")
    assert f"ame one by its path, such as {pipe.uri('x/c')}" in shown("c")
    assert f"{pipe.uri('x/c')} is left out of it" in shown(pipe.uri("x/c"))
    assert "holds no file d" in shown("d")


def test_a_file_that_fails_its_window_is_left_out_from_its_page(pipe: Pipe) -> None:
    """The page names the file in the form; then it says how the rest is read, and no more to leave the file out."""
    pipe.owner = "load/manual__1/logs.plan/-1"
    ref = plan(pipe.env, replace(pipe.request("w"), run="load/manual__1"))
    window, client = ref.window, client_of(pipe)
    group = GroupRef(window=window, generation=1, group=0)
    claim = claim_group(pipe.env.ledger, group, owner="reader", clear_number=0, stale_after_s=60)
    assert claim is not None
    what = f"line at byte 0 of {pipe.uri('b')} block 0 bytes [0, 2): no line"
    fail_group(pipe.env.ledger, claim, f"{what}; leave it out with `blockread windows exclude {window} b --reason bad`")
    page = f"/ledgers/main/windows/{window}"
    before = client.get(page).text
    [link] = re.findall(r'href="([^"]*/actions/exclude\?[^"]*)"', before)
    form = client.get(html.unescape(link)).text
    given = {"path": pipe.uri("b"), "reason": "spoilt"}
    shown = client.get(path_of(window, "exclude"), params=given).text
    done = client.post(path_of(window, "exclude"), data=given | {"token": fields_of(shown)["token"]}, headers=OWN).text
    after = client.get(page).text
    [file] = re.findall(r'href="(/ledgers/main/files/\d+)"><span class="path" title="[^"]*/b"', after)[:1]

    assert f'name="path" value="{pipe.uri("b")}"' in form
    assert "To have the rest of the window read, clear the run from its plan on." in done
    assert "airflow dags clear load --run-id manual__1" in done
    assert "blockread windows exclude" in before
    assert "blockread windows exclude" not in after + client.get(file).text
    assert "Read the rest.</b> The file that it failed on is left out: clear the run from its plan on." in after
    assert [state for state in re.findall(r"</span>(\w+)</span></td>", after) if state in {"excluded", "failed"}] == [
        *("failed", "failed", "excluded")  # its group and generation; and the file
    ]


def test_what_does_not_print_comes_back_as_it_was_given(pipe: Pipe) -> None:
    """Fields of forms keep characters that pages show escaped; a reason with one is recorded, as it was given."""
    window, client, odd = pipe.plan().window, client_of(pipe), "a\u200b\u00ad\ufeff\u202e<b>"
    kept = f'value="{odd.replace("<", "&lt;").replace(">", "&gt;")}"'
    forms = [
        client.get(path_of(window, "exclude"), params={"path": odd}).text,
        client.get("/search", params={"q": odd}).text,
        client.get("/ledgers/main/feeds/1", params={"text": odd}).text,
    ]
    given = {"path": pipe.uri("b"), "reason": odd}
    shown = client.get(path_of(window, "exclude"), params=given).text
    client.post(
        path_of(window, "exclude"), data={k: html.unescape(v) for k, v in fields_of(shown).items()}, headers=OWN
    )
    (left,) = list_exclusions(pipe.env.ledger, window, 1, limit=9)

    assert all(kept in form for form in forms)
    assert left.reason == odd

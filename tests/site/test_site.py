# SPDX-License-Identifier: Apache-2.0
"""The site of docs/ is made without a warning, shows what the pages say, leads where they lead, and needs no network."""
import html
import pathlib
import re
import shutil
import subprocess
import urllib.parse

import pytest
from browser import Browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
PHONE = 390


def made_in(tree, folder):
    return subprocess.run([tree / "tools/make_site", folder], capture_output=True, text=True)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = made_in(ROOT, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(folder / "index.html") in done.stdout
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return [page for page in sorted(site.rglob("*.html")) if page.name != "404.html"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of what the site is made of."""
    folder = tmp_path_factory.mktemp("tree")
    for name in ("docs", "tools", "examples", "server"):
        shutil.copytree(ROOT / name, folder / name)
    for name in ("mkdocs.yml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "LICENSE"):
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.mark.parametrize("page, words, said", [
    ("docs/quickstart.md", "\n[Gone](how-to/gone.md)\n", "gone"),
    ("docs/quickstart.md", "\n[Gone](how-to/install.md#gone)\n", "install.md#gone"),
    ("docs/quickstart.md", "\n[Gone](../examples/gone.c)\n", "gone.c"),
    ("docs/how-to/new.md", "# New\n", "how-to/new.md")])
def test_a_link_that_leads_nowhere_and_a_page_out_of_reach_are_errors(tree, tmp_path, page, words, said):
    before = (tree / page).read_text() if (tree / page).exists() else None
    with (tree / page).open("a") as file:
        file.write(words)
    done = made_in(tree, tmp_path / "site")
    (tree / page).unlink() if before is None else (tree / page).write_text(before)
    assert done.returncode != 0 and said in done.stdout + done.stderr


def contents(page):
    """(title, page) of the site's contents, from its start page."""
    nav = re.search(r'<nav class="md-nav md-nav--primary.*?</nav>\s*</div>\s*</div>\s*</div>', page.read_text(), re.S)[0]
    links = re.findall(r'<a href="([^"#]+)" class="md-nav__link[^"]*">(.*?)</a>', nav, re.S)
    return [(" ".join(html.unescape(re.sub(r"<[^>]*>", "", words)).split()), link) for link, words in links]


def test_the_contents_are_those_of_the_index(site):
    index = re.findall(r"\]\(([\w./+-]+\.md)\)", (ROOT / "docs/README.md").read_text())
    in_site = [page.replace("../", "tree/").removesuffix("md") + "html" for page in dict.fromkeys(index)]
    listed = [urllib.parse.unquote(link) for _, link in contents(site / "index.html") if link != "index.html"]
    assert listed == in_site


def test_the_contents_have_the_parts_of_the_index_in_their_order(site):
    tabs = re.search(r'<ul class="md-tabs__list">.*?</ul>', (site / "index.html").read_text(), re.S)[0]
    names = re.findall(r"[A-Z]\w+", re.sub(r"<[^>]*>", "", tabs))
    assert names == ["Documentation", *re.findall(r"^## (\w+)$", (ROOT / "docs/README.md").read_text(), re.M)]
    titles = [title for title, _ in contents(site / "index.html")]
    assert {"Install Leat", "In Fortran", "From XIOS", "leat check"} <= set(titles)


def test_every_page_shows_what_github_shows(site):
    environment = subprocess.run([ROOT / "tools/python_environment", ROOT / "tools/docs.txt"], capture_output=True, text=True)
    assert environment.returncode == 0, environment.stderr
    done = subprocess.run([pathlib.Path(environment.stdout.strip(), "bin/python"), pathlib.Path(__file__).with_name("as_github.py"),
                           ROOT / "docs", site], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_sources_that_pages_lead_to_are_pages_too(site):
    page = (site / "how-to/add-to-c.html").read_text()
    assert "../tree/examples/heat_c/heat.c.html" in page
    shown = html.unescape(re.sub(r"<[^>]*>", "", (site / "tree/examples/heat_c/heat.c.html").read_text()))
    assert (ROOT / "examples/heat_c/heat.c").read_text().strip() in shown
    readme = (site / "tree/examples/heat_openmp/index.html").read_text()
    assert "heat_openmp.xml.html" in readme and "../../../how-to/openmp-phases.html" in readme


def test_nothing_is_fetched_from_elsewhere(pages):
    fetched = re.compile(r'<(?:script|img|iframe)[^>]*\bsrc="?https?:|<link[^>]*\bhref="?https?:')
    assert [(page.name, found[0]) for page in pages if (found := fetched.search(page.read_text()))] == []
    assert len(pages) > 90


def test_it_is_searched_and_read_on_a_dark_page_from_the_disk(site):
    with Browser() as browser:
        browser.open(f"{(site / 'index.html').as_uri()}?q=Lustre")
        found = browser.wait("[...document.querySelectorAll('.md-search-result__link')].map(each => each.href).filter(each => each)")
        assert any("how-to/files-at-scale.html" in each for each in found)
        fetched = browser.value("performance.getEntriesByType('resource').map(each => each.name)")
        assert [each for each in fetched if not each.startswith("file:")] == []
        assert browser.value("document.body.dataset.mdColorScheme") == "default"
        browser.value("document.querySelector('label[title=Dark]').click()")
        browser.wait("document.body.dataset.mdColorScheme == 'slate'")


def test_no_page_is_wider_than_a_phone_and_no_picture_is_missing(site, pages):
    wrong = []
    with Browser(width=PHONE, height=800) as browser:
        for page in pages:
            browser.open(page.as_uri())
            browser.wait(f"location.href == {page.as_uri()!r} && document.readyState == 'complete'")
            wide = browser.value("document.documentElement.scrollWidth")
            missing = browser.value("[...document.images].filter(each => !each.naturalWidth).map(each => each.src)")
            if wide > PHONE or missing:
                wrong.append((str(page.relative_to(site)), wide, missing))
    assert wrong == []

"""Build the site into docs/_build/html, with warnings as errors, and check that each link within it leads somewhere.

    python scripts/docs.py          # all of it, in a few minutes: the scripts run, every public function has a page
    python scripts/docs.py --quick  # the scripts do not run
    python scripts/docs.py --check  # only the links of what is built

It needs `pip install -c constraints.txt -e '.[docs]'`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
SOURCE, BUILT = ROOT / "docs", ROOT / "docs" / "_build" / "html"


class Page(HTMLParser):
    """What one page links to, and the places in it that others can link to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.links.add(value)
            elif name in ("id", "name") and value:
                self.places.add(value)


def broken(folder: Path) -> Iterator[str]:
    """The links between pages, to pictures and to other files that lead nowhere."""
    found = (path for path in folder.rglob("*.html") if path.relative_to(folder).parts[0] != "_static")  # templates
    pages = {path: Page(path.read_text("utf-8")) for path in found}
    for path, page in sorted(pages.items()):
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue  # elsewhere
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{path.relative_to(folder)}: {link}: no such file"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].places:
                yield f"{path.relative_to(folder)}: {link}: no such place"


def build(quick: bool) -> int:
    environment = {**os.environ, "MPLBACKEND": "agg"} | ({"NPDEC_DOCS_QUICK": "1"} if quick else {})
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(SOURCE), str(BUILT)]
    return subprocess.run(command, env=environment, check=False).returncode


def main(words: list[str]) -> int:
    if words not in ([], ["--quick"], ["--check"]):
        sys.stderr.write("usage: python scripts/docs.py [--quick | --check]\n")
        return 2
    if words != ["--check"] and (code := build(words == ["--quick"])):
        return code
    found = list(broken(BUILT))
    sys.stderr.writelines(f"{line}\n" for line in found)
    print(f"{len(found)} broken links; open {BUILT / 'index.html'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

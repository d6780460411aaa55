"""Check the links of the built book.

    python -m tools.links book/_build/html

Those inside it must lead somewhere; those out of it are listed, because to try them needs a network
and says only whether the other host answers today.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from bs4 import BeautifulSoup

from tools.stamp import documentation


def main() -> int:
    """List the addresses outside, then what is broken inside; return 1 if anything is."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="folder with the built book")
    pages = read_pages(parser.parse_args().site)
    print(*external_links(pages), sep="\n")
    broken = broken_links(pages)
    print(*broken, sep="\n", file=sys.stderr)
    return int(bool(broken))


def read_pages(site: Path) -> dict[Path, BeautifulSoup]:
    """Read every page of a site, without what its theme and libraries bring."""
    return {
        path: BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for path in sorted(site.resolve().rglob("*.html"))
        if "_static" not in path.parts
    }


def external_links(pages: dict[Path, BeautifulSoup]) -> list[str]:
    """Return each address of another host, once."""
    return sorted(
        {link.geturl() for page in pages.values() for link in _links(page) if link.netloc}
    )


def broken_links(pages: dict[Path, BeautifulSoup]) -> list[str]:
    """Return ``page: link`` for each link to a file or a place that the site does not have."""
    site = Path(os.path.commonpath([path.parent for path in pages]))
    home = f"{urlsplit(documentation()).path}/"
    places = {path: {tag["id"] for tag in page.find_all(id=True)} for path, page in pages.items()}
    broken = []
    for path, page in pages.items():
        for link in _links(page):
            if link.scheme or link.netloc:
                continue
            target = _target(path, unquote(link.path), site, home)
            place = unquote(link.fragment)
            if not target.exists() or (place and place not in places.get(target, {place})):
                broken.append(f"{path}: {link.geturl()}")
    return broken


def _target(page: Path, link: str, site: Path, home: str) -> Path:
    """Return the file that a link means; the page for what does not exist gives whole paths."""
    if link.startswith(home):
        return site / link.removeprefix(home)
    return (page.parent / link).resolve() if link else page


def _links(page: BeautifulSoup) -> Iterator[SplitResult]:
    """Yield where a page's links, pictures, styles and scripts point."""
    for name in ("href", "src"):
        for tag in page.find_all(attrs={name: True}):
            yield urlsplit(tag[name])


if __name__ == "__main__":
    sys.exit(main())

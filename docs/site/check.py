"""check.py SITE [--shots DIR]: opens each page of the built site in a browser, on a phone and on a desktop, light and dark.

It fails on serious or critical findings of axe, and on a page that scrolls sideways. The browser is Debian's chromium.
"""
import argparse
import functools
import http.server
import itertools
import pathlib
import sys
import threading

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

WIDTHS = {"phone": 390, "desktop": 1280}
SCHEMES = {"default": "light", "slate": "dark"}


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Log nothing: what is missing is a finding of the build."""


def serve(site):
    """Serves the site to this machine, and gives its address. The thread ends with the program."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def pages(site):
    """The pages of the site, without those that only redirect, which have no time to be looked at."""
    found = [p for p in sorted(site.rglob("*.html")) if 'http-equiv="refresh"' not in p.read_text()]
    if not found:
        sys.exit(f"site-check: no pages in {site}; hint: make docs")
    return found


def show(page, scheme, width):
    """Shows the page in these colors, by its own switch, and at this width."""
    page.set_viewport_size({"width": width, "height": 844})
    page.evaluate("name => document.querySelector(`input[data-md-color-scheme=${name}]`).click()", scheme)
    shown = page.evaluate("document.body.dataset.mdColorScheme")
    if shown != scheme:
        sys.exit(f"site-check: the switch of colors shows {shown}, not {scheme}")


def keep_inside(page, address):
    """Lets the page ask nobody but this machine, and gives the list of what it asked for elsewhere."""
    asked = []

    def judge(route):
        if route.request.url.startswith(address):
            return route.continue_()
        asked.append(route.request.url)
        return route.abort()

    page.route("**/*", judge)
    return asked


def findings(page, axe):
    """What is wrong with the page as it is shown now: sentences."""
    wide = page.evaluate("document.scrollingElement.scrollWidth - document.scrollingElement.clientWidth")
    if wide > 0:
        yield f"the page is {wide} px wider than the screen"
    for violation in axe.run(page).response["violations"]:
        if violation["impact"] in ("serious", "critical"):
            nodes = "; ".join(" ".join(map(str, n["target"])) for n in violation["nodes"][:3])
            yield f'{violation["id"]} ({violation["impact"]}, {len(violation["nodes"])}): {violation["help"]}: {nodes}'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=pathlib.Path)
    parser.add_argument("--shots", type=pathlib.Path, help="also write a picture of each view here")
    parser.add_argument("--only", default="", help="only pages whose path contains this")
    parser.add_argument("--browser", default="/usr/bin/chromium")
    args = parser.parse_args()
    axe, seen, bad = Axe(), 0, 0
    address = serve(args.site)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=args.browser, args=["--no-sandbox"])
        page = browser.new_page(reduced_motion="reduce")
        page.set_default_timeout(300_000)  # ms, for a busy machine
        asked = keep_inside(page, address)
        for path in pages(args.site):
            name = str(path.relative_to(args.site))
            if args.only not in name:
                continue
            page.goto(f"{address}/{name}")
            for (scheme, colors), (size, width) in itertools.product(SCHEMES.items(), WIDTHS.items()):
                show(page, scheme, width)
                for sentence in findings(page, axe):
                    print(f"{name} ({size}, {colors}): {sentence}", flush=True)
                    bad += 1
                if args.shots:
                    page.screenshot(path=args.shots / f"{name.replace('/', '-')}-{size}-{colors}.png")
                seen += 1
            for url in asked:
                print(f"{name}: it asks for {url}", flush=True)
            bad += len(asked)
            asked.clear()
        browser.close()
    print(f"site-check: {seen} views, {bad} findings")
    sys.exit(bad > 0)


main()

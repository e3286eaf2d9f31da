"""A browser for the tests of the page: every test fails on a console error and on a request to another origin."""

import os
import shutil
import unittest
from urllib.parse import urlsplit

from playwright.sync_api import expect, sync_playwright

CHROMIUM = os.environ.get("ASSIZE_CHROMIUM") or shutil.which("chromium")
ARGUMENTS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Milliseconds; a busy machine decides slowly.
PATIENCE = 60_000
# What the browser itself writes of every answer that is no 200.
REFUSAL = "Failed to load resource: the server responded with a status of"

expect.set_options(timeout=PATIENCE)


class PageTest(unittest.TestCase):
    """Opens pages of the server at `url`."""

    url: str

    @classmethod
    def setUpClass(cls):
        cls.playwright = sync_playwright().start()
        cls.browser = cls.playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.playwright.stop()

    def setUp(self):
        self.complaints = []
        self.elsewhere = []
        self.may_be_refused = False

    def tearDown(self):
        complaints = [text for text in self.complaints if not (self.may_be_refused and text.startswith(REFUSAL))]
        self.assertEqual(complaints, [], "the console")
        self.assertEqual(self.elsewhere, [], "requests to another origin")

    def open(self, before=None, **options):
        """A page in a context of its own; `before` gets it while it is still empty."""
        options.setdefault("viewport", {"width": 1280, "height": 800})
        context = self.browser.new_context(permissions=["clipboard-read", "clipboard-write"], **options)
        self.addCleanup(context.close)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda message: self.complaints.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.note_origin(request.url))
        if before:
            before(page)
        page.goto(self.url)
        return page

    def note_origin(self, url):
        """Keeps an address that is not the server's and not the page's own data."""
        parts = urlsplit(url)
        if parts.scheme != "blob" and f"{parts.scheme}://{parts.netloc}" != self.url:
            self.elsewhere.append(url)

    def opened(self, **options):
        """A page that knows which model is served."""
        page = self.open(**options)
        expect(page.locator("#model")).to_contain_text("·")
        return page

    def decide(self, page, how=None):
        """Decides and waits for the answer or the error; gives the request that was sent."""
        with page.expect_response(lambda response: response.url.endswith("/decide"), timeout=PATIENCE) as answered:
            (how or page.locator("#decide").click)()
        expect(page.locator("#decide")).to_have_text("Decide")
        return answered.value.request

    def shown(self, page):
        """The probabilities that the bars stand for, by answer."""
        answers = page.locator("#results .answer")
        return [
            [float(bar.get_attribute("data-probability")) for bar in answer.locator(".bar").all()]
            for answer in answers.all()
        ]

    def copied(self, page, tab):
        """What the copy button of a tab puts on the clipboard."""
        page.locator(f"#tab-{tab}").click()
        page.locator(".copy").click()
        expect(page.locator(".copy")).to_have_text("Copied")
        return page.evaluate("navigator.clipboard.readText()")

    def close_to(self, found, expected):
        """Compares probabilities by answer; the same batch need not be the same to the last bit."""
        self.assertEqual([len(answer) for answer in found], [len(answer) for answer in expected])
        for one, other in zip(found, expected, strict=True):
            for a, b in zip(one, other, strict=True):
                self.assertAlmostEqual(a, b, delta=1e-6)


def probabilities(decided):
    """The probabilities of an answer of the server, by question, as the page shows them."""
    return [
        [answer["probability"], 1 - answer["probability"]]
        if answer["type"] == "predicate"
        else [entry["probability"] for entry in answer["probabilities"]]
        for answer in decided["answers"]
    ]

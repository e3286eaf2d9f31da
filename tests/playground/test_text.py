"""The page of a server with a model of text. `ASSIZE_URL` names its root.

    ASSIZE_URL=http://127.0.0.1:8080 python -m unittest discover -s tests/playground -p test_text.py -v
"""

import json
import os
import subprocess
import sys
import unittest
import urllib.request

from browser import PATIENCE, PageTest, expect, probabilities

URL = os.environ["ASSIZE_URL"]
# Everything that some quoting gets wrong.
ODD = "It's \"quoted\" \\n \\ $HOME `id` $(id) %s !! '''\nünïcode \U0001f600 \u2028 \x7f </script><!-- <b>bold</b> {x}\t;#@"


def posted(body):
    """The server's answer to a body, without the page."""
    request = urllib.request.Request(f"{URL}/decide", data=body.encode(), headers={"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as response:
        return json.load(response)


class TextPage(PageTest):
    url = URL


class Answers(TextPage):
    """What a visitor sees who presses the button."""

    def test_a_first_visit(self):
        page = self.opened()
        expect(page.locator("#media")).to_contain_text("reads text only")
        self.assertEqual(page.locator("#media input").count(), 0)
        names = page.locator("#gallery button").all_inner_texts()
        self.assertIn("Spam", names)
        self.assertNotIn("Picture", names)
        request = self.decide(page)
        decided = posted(request.post_data)
        self.close_to(self.shown(page), probabilities(decided))
        expect(page.locator(".verdict strong")).to_have_text(decided["answers"][0]["choice"])
        results = page.locator("#results")
        for said in ("confidence", "option mass", "Tokens", "Time", "forward", decided["artifact"], decided["engine"]["name"], "probabilities are raw"):
            expect(results).to_contain_text(said)
        self.assertEqual(page.locator(".raw").count(), 0)
        expect(page.locator("#said")).to_contain_text(decided["answers"][0]["choice"])

    def test_every_example_is_answered(self):
        page = self.opened()
        for example in page.locator("#gallery button").all():
            with self.subTest(example.inner_text()):
                example.click()
                request = self.decide(page)
                expect(page.locator(".answer").first).to_be_visible()
                self.close_to(self.shown(page), probabilities(posted(request.post_data)))

    def test_several_questions_of_every_type(self):
        page = self.opened()
        page.get_by_role("button", name="Several questions").click()
        body = json.loads(self.decide(page).post_data)
        self.assertEqual([question["id"] for question in body["questions"]], ["mood", "clean", "stars"])
        self.assertEqual([len(answer) for answer in self.shown(page)], [3, 2, 5])
        page.locator("#questions > li").nth(1).get_by_role("button", name="Score").click()
        expect(page.locator(".stale")).to_be_visible()

    def test_a_raw_probability_is_marked_where_it_differs(self):
        def calibrate(route):
            decided = route.fetch().json()
            first, second = decided["answers"][0]["probabilities"]
            first.update(probability=0.9, raw_probability=0.6)
            second.update(probability=0.1, raw_probability=0.4)
            decided["calibration"] = "cal-0123456789abcdef"
            route.fulfill(json=decided)

        page = self.opened()
        page.route("**/decide", calibrate)
        self.decide(page)
        self.assertEqual(page.locator(".raw").count(), 2)
        self.assertEqual([mark.evaluate("mark => mark.style.left") for mark in page.locator(".raw").all()], ["60%", "40%"])
        self.assertEqual([fill.evaluate("fill => fill.style.width") for fill in page.locator(".fill").all()], ["90%", "10%"])
        expect(page.locator("#results")).to_contain_text("cal-0123456789abcdef")

    def test_json_is_sent_as_it_stands(self):
        page = self.opened()
        page.get_by_role("button", name="JSON", exact=True).click()
        state = '{"one": 1.0, "small": 1e-3,\n  "escaped": "\\u00e9\\/"}'
        page.locator("#state-text").fill(state)
        body = self.decide(page).post_data
        for text in ('"one": 1.0', '"small": 1e-3', '"\\u00e9\\/"'):
            self.assertIn(text, body)
        self.assertEqual(json.loads(body)["state"], json.loads(state))
        self.close_to(self.shown(page), probabilities(posted(body)))

    def test_what_is_typed_is_never_markup(self):
        evil = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
        page = self.opened()
        page.locator("#state-text").fill(evil)
        page.locator("[data-field=question]").fill(evil)
        page.locator('[data-field="options[0].name"]').fill(evil)
        self.decide(page)
        expect(page.locator(".bar-label").first).to_have_text(evil)
        self.assertEqual(page.locator("main img, main script").count(), 0)
        self.assertIsNone(page.evaluate("window.hacked ?? null"))

    def test_a_head_offers_its_own_question(self):
        def give_head(route):
            listed = route.fetch().json()
            options = [{"name": "refund", "description": "wants money back"}, {"name": "status"}]
            listed["models"][0]["x_head"] = {"id": "head-1", "question": {"type": "choice", "question": "What is wanted?", "options": options}}
            route.fulfill(json=listed)

        page = self.opened(before=lambda page: page.route("**/v1/models", give_head))
        self.assertEqual(page.locator("#gallery button").count(), 1)
        expect(page.locator("[data-field=question]")).to_have_value("What is wanted?")
        body = json.loads(self.decide(page).post_data)
        self.assertEqual(body["options"], [{"name": "refund", "description": "wants money back"}, "status"])

    def test_an_answer_can_be_stopped(self):
        page = self.opened()
        held = []
        page.route("**/decide", lambda route: held.append(route))
        page.locator("#decide").click()
        expect(page.locator("#decide")).to_have_text("Stop")
        page.locator("#decide").click()
        expect(page.locator("#status")).to_have_text("Stopped.")
        expect(page.locator("#decide")).to_have_text("Decide")
        held[0].abort()


class Errors(TextPage):
    """The server's message, beside the field that it is about."""

    def check(self, page, selector, message=None):
        """The field is marked, has the focus and the message that the answers show as well."""
        self.may_be_refused = True
        said = page.locator(".refusal p").first.inner_text()
        if message:
            self.assertIn(message, said)
        field = page.locator(selector)
        expect(field).to_be_focused()
        expect(field).to_have_attribute("aria-invalid", "true")
        note = field.get_attribute("aria-describedby").split()[-1]
        expect(page.locator(f"#{note}")).to_have_text(said)
        expect(page.locator(f"#{note}")).to_be_visible()

    def test_an_option_twice(self):
        page = self.opened()
        page.locator('[data-field="options[1].name"]').fill("spam")
        self.decide(page)
        self.check(page, '[data-field="options[1].name"]', "names must differ")
        expect(page.locator("#results")).to_contain_text("status 422")
        page.locator('[data-field="options[1].name"]').fill("ham")
        self.decide(page)
        self.assertEqual(page.locator("main .fault, main [aria-invalid]").count(), 0)

    def test_a_field_of_one_question_of_several(self):
        page = self.opened()
        page.get_by_role("button", name="Several questions").click()
        second = "#questions > li:nth-child(2) "
        page.locator(second + "[data-field=question]").fill("")
        self.decide(page)
        self.check(page, second + "[data-field=question]")
        page.locator(second + "[data-field=question]").fill("Was it clean?")
        page.locator(second + "[data-field=id]").fill("mood")
        self.decide(page)
        self.check(page, second + "[data-field=id]", "ids must differ")

    def test_a_setting(self):
        page = self.opened()
        page.locator("#more summary").click()
        page.locator("#order-averages").fill("many")
        page.locator("#more summary").click()
        self.decide(page)
        self.check(page, "#order-averages")

    def test_no_options_and_no_questions(self):
        page = self.opened()
        for _ in range(2):
            page.get_by_role("button", name="Remove option 1").click()
        self.decide(page)
        self.check(page, "[data-field=options]", "is empty")
        page.get_by_role("button", name="Remove question 1").click()
        self.decide(page)
        self.check(page, "#add-question", "is empty")

    def test_a_state_that_is_no_json_is_not_sent(self):
        page = self.opened()
        sent = []
        page.on("request", lambda request: sent.append(request.url))
        page.get_by_role("button", name="JSON", exact=True).click()
        page.locator("#state-text").fill('{"a": 1,}')
        page.locator("#decide").click()
        self.check(page, "#state-text", "not JSON")
        self.assertEqual(sent, [])
        page.locator("#state-text").fill('{"a": 1, "a": 2}')
        self.decide(page)
        self.check(page, "#state-text")

    def test_a_state_that_is_too_long(self):
        page = self.opened()
        page.locator("#state-text").fill("word " * 20_000)
        self.decide(page)
        self.check(page, "#state-text", "truncate")
        page.locator("#more summary").click()
        page.locator("#truncate").select_option("middle")
        self.decide(page)
        expect(page.locator(".made")).to_contain_text("tokens of the state were dropped")

    def test_a_body_above_the_limit_is_not_sent(self):
        def lower(route):
            listed = route.fetch().json()
            listed["models"][0]["x_max_body_bytes"] = 100
            route.fulfill(json=listed)

        page = self.opened(before=lambda page: page.route("**/v1/models", lower))
        page.locator("#decide").click()
        self.check(page, "#state-text", "at most 100 bytes")

    def test_a_server_that_is_gone(self):
        page = self.opened()
        page.route("**/decide", lambda route: route.abort())
        page.locator("#decide").click()
        expect(page.locator(".refusal")).to_contain_text("cannot be reached")
        self.complaints.clear()


class Key(TextPage):
    """The API key; a server that asks for one is played, since the tested one is open."""

    def test_a_key_is_asked_for_sent_and_forgotten(self):
        seen = []

        def guard(route):
            seen.append(route.request.headers.get("authorization"))
            if seen[-1] == "Bearer right":
                return route.continue_()
            error = {"type": "unauthorized", "message": "this server wants an API key", "field": None}
            return route.fulfill(status=401, json={"error": error})

        self.may_be_refused = True
        page = self.open(before=lambda page: page.route(lambda url: url.endswith(("/decide", "/v1/models")), guard))
        expect(page.locator("#key-panel")).to_be_visible()
        expect(page.locator("#key-note")).to_contain_text("wants an API key")
        expect(page.locator("#key-input")).to_be_focused()
        page.keyboard.type("right")
        page.keyboard.press("Enter")
        expect(page.locator("#model")).to_contain_text("·")
        expect(page.locator("#key-panel")).to_be_hidden()
        self.decide(page)
        self.assertEqual((seen[0], seen[-1]), (None, "Bearer right"))
        stored = page.evaluate("[JSON.stringify({...sessionStorage}), JSON.stringify({...localStorage}), document.cookie]")
        self.assertIn("right", stored[0])
        self.assertNotIn("right", stored[1] + stored[2])
        for tab in ("curl", "python"):
            text = self.copied(page, tab)
            self.assertIn("ASSIZE_API_KEY", text)
            self.assertNotIn("right", text)
        page.locator("#key-toggle").click()
        page.locator("#key-forget").click()
        expect(page.locator("#key-note")).to_contain_text("wants an API key")
        self.assertNotIn("right", page.evaluate("JSON.stringify({...sessionStorage})"))


class Code(TextPage):
    """The code is the request, whatever was typed."""

    def odd_page(self):
        page = self.opened()
        page.locator("#state-text").fill(ODD)
        page.locator("[data-field=question]").fill(f"What? {ODD}")
        page.locator('[data-field="options[0].name"]').fill("it's \"a\" \\")
        page.locator('[data-field="options[0].description"]').fill("$x </script> 'é'")
        page.locator("#more summary").click()
        page.locator("#truncate").select_option("end")
        self.decide(page)
        return page, self.shown(page)

    def test_curl(self):
        page, shown = self.odd_page()
        done = subprocess.run(["sh", "-c", self.copied(page, "curl")], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.close_to(shown, probabilities(json.loads(done.stdout)))

    def test_python(self):
        page, shown = self.odd_page()
        done = subprocess.run([sys.executable, "-W", "error", "-c", self.copied(page, "python")], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.close_to(shown, probabilities({"answers": answers}))

    def test_python_of_a_json_state(self):
        page = self.opened()
        page.get_by_role("button", name="JSON", exact=True).click()
        page.locator("#state-text").fill('{"true": true, "no": [false, null], "n": 1.50, "s": "null \\/ \\ud83d\\ude00 \\"true\\""}')
        self.decide(page)
        done = subprocess.run([sys.executable, "-W", "error", "-c", self.copied(page, "python")], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.close_to(self.shown(page), probabilities({"answers": [json.loads(line) for line in done.stdout.splitlines()]}))

    def test_json(self):
        page, shown = self.odd_page()
        text = self.copied(page, "json")
        self.assertEqual(json.loads(text)["state"], ODD)
        self.close_to(shown, probabilities(posted(text)))
        answer = json.loads(self.copied(page, "answer"))
        self.close_to(shown, probabilities(answer))


class Keyboard(TextPage):
    """Everything without a pointer."""

    def test_a_decision(self):
        page = self.opened()
        page.keyboard.press("Tab")
        expect(page.locator(".skip")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.locator("#state-text")).to_be_focused()
        page.keyboard.press("Control+a")
        page.keyboard.type("The invoice of March is attached.")
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.dataset.field") == "options[1].name":
                break
        page.keyboard.press("Control+a")
        page.keyboard.type("invoice")
        page.keyboard.press("Enter")
        expect(page.locator('[data-field="options[2].name"]')).to_be_focused()
        page.keyboard.type("other")
        request = self.decide(page, lambda: page.keyboard.press("Control+Enter"))
        body = json.loads(request.post_data)
        self.assertEqual(body["state"], "The invoice of March is attached.")
        self.assertEqual(body["options"], ["spam", "invoice", "other"])
        self.assertEqual(len(self.shown(page)[0]), 3)
        expect(page.locator('[data-field="options[2].name"]')).to_be_focused()

    def test_the_focus_is_seen_has_a_name_and_leaves_the_page(self):
        page = self.opened()
        self.decide(page, lambda: page.keyboard.press("Control+Enter"))
        seen = []
        for _ in range(200):
            page.keyboard.press("Tab")
            where = page.evaluate(
                """() => {
                    const at = document.activeElement;
                    if (at === document.body || at === null) return null;
                    const style = getComputedStyle(at);
                    const labels = [...(at.labels ?? [])].map((label) => label.textContent).join();
                    const by = at.getAttribute("aria-labelledby");
                    const name = at.getAttribute("aria-label") || labels || at.textContent || (by && document.getElementById(by)?.textContent);
                    return {id: at.id, name, outline: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0, tag: at.tagName};
                }"""
            )
            if where is None:
                break
            seen.append(where)
            self.assertTrue(where["name"], where)
            self.assertTrue(where["outline"], where)
        else:
            self.fail(f"the focus never left the page: {[place['id'] for place in seen]}")
        ids = [place["id"] for place in seen if place["id"]]
        order = ["key-toggle", "theme-toggle", "state-text", "add-question", "decide", "tab-curl"]
        self.assertEqual([identity for identity in ids if identity in order], order)

    def test_options_and_questions_move_with_their_focus(self):
        page = self.opened()
        names = lambda: [field.input_value() for field in page.locator(".entry .name").all()]
        page.get_by_role("button", name="Move option 1 down").focus()
        page.keyboard.press("Enter")
        self.assertEqual(names(), ["not spam", "spam"])
        expect(page.locator('[data-field="options[1].name"]')).to_be_focused()
        page.locator("#add-question").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#questions > li:nth-child(2) [data-field=question]")).to_be_focused()
        page.keyboard.type("Second?")
        page.get_by_role("button", name="Move question 2 up").focus()
        page.keyboard.press("Space")
        self.assertEqual(page.locator("[data-field=question]").first.input_value(), "Second?")
        page.get_by_role("button", name="Remove question 1").focus()
        page.keyboard.press("Enter")
        self.assertEqual(page.locator("#questions > li").count(), 1)
        self.assertEqual(names(), ["not spam", "spam"])

    def test_tabs_are_walked_with_arrows(self):
        page = self.opened()
        page.locator("#tab-curl").focus()
        for name in ("python", "json", "answer", "curl"):
            page.keyboard.press("ArrowRight")
            expect(page.locator(f"#tab-{name}")).to_be_focused()
            expect(page.locator(f"#tab-{name}")).to_have_attribute("aria-selected", "true")


class Looks(TextPage):
    """Themes, small screens and less motion."""

    def brightness(self, page):
        """0 to 255, of the page's ground."""
        return page.evaluate(
            """() => {
                const pen = document.createElement("canvas").getContext("2d");
                pen.fillStyle = getComputedStyle(document.body).backgroundColor;
                pen.fillRect(0, 0, 1, 1);
                const [red, green, blue] = pen.getImageData(0, 0, 1, 1).data;
                return (red + green + blue) / 3;
            }"""
        )

    def test_the_theme_follows_the_system_until_one_is_chosen(self):
        self.assertGreater(self.brightness(self.opened(color_scheme="light")), 200)
        page = self.opened(color_scheme="dark")
        self.assertLess(self.brightness(page), 60)
        page.get_by_role("button", name="Light theme").click()
        self.assertGreater(self.brightness(page), 200)
        page.reload()
        expect(page.get_by_role("button", name="Dark theme")).to_be_visible()
        self.assertGreater(self.brightness(page), 200)

    def test_nothing_is_wider_than_a_phone(self):
        for width in (360, 390):
            page = self.opened(viewport={"width": width, "height": 780}, has_touch=True)
            for example in page.locator("#gallery button").all():
                example.click()
                self.decide(page)
                page.locator("#tab-json").click()
                with self.subTest(width=width, example=example.inner_text()):
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)

    def test_less_motion(self):
        page = self.opened(reduced_motion="reduce")
        self.decide(page)
        self.assertEqual(page.locator(".fill").first.evaluate("fill => getComputedStyle(fill).transitionProperty"), "none")


if __name__ == "__main__":
    unittest.main()

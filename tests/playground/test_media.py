"""The page of a server whose model takes pictures, sounds and videos. `ASSIZE_MEDIA_URL` names its root.

    ASSIZE_MEDIA_URL=http://127.0.0.1:8080 python -m unittest discover -s tests/playground -p test_media.py -v
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from browser import PageTest, expect, probabilities

MEDIA = Path(__file__).parent.parent / "media"
PICTURES = Path(__file__).parent.parent / "golden/gemma4_unified_tiny/media/images"
PICTURE = PICTURES / "jpeg_w120_h90.jpg"
SOUND = MEDIA / "chirp_16000_u8.wav"
VIDEO = MEDIA / "nine_frames.mp4"
PICKER = "#media input[type=file]"


class MediaPage(PageTest):
    url = os.environ["ASSIZE_MEDIA_URL"]

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def ran(self, command):
        """What a command prints that runs in the folder of the files."""
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def files(self, page):
        """The names of the files, in their order."""
        return page.locator(".medium .file").all_inner_texts()

    def test_a_picture_a_sound_and_a_video_are_sent_and_answered(self):
        page = self.opened()
        shown = {}
        for path, kind in ((PICTURE, "image"), (SOUND, "audio"), (VIDEO, "video")):
            with self.subTest(kind):
                page.get_by_role("button", name="Spam").click()
                page.set_input_files(PICKER, path)
                self.assertEqual(self.files(page), [path.name])
                request = self.decide(page)
                self.assertTrue(request.headers["content-type"].startswith("multipart/form-data"))
                expect(page.locator(".made")).to_contain_text(f"{kind} 1")
                shown[kind] = self.shown(page)
                shutil.copy(path, self.folder)
                self.close_to(shown[kind], probabilities(json.loads(self.ran(["sh", "-c", self.copied(page, "curl")]))))
                lines = self.ran([sys.executable, "-c", self.copied(page, "python")]).splitlines()
                self.close_to(shown[kind], probabilities({"answers": [json.loads(line) for line in lines]}))
        page.get_by_role("button", name="Spam").click()
        self.decide(page)
        self.assertEqual(self.files(page), [])
        self.assertNotIn(self.shown(page), list(shown.values()))

    def test_every_preview_is_drawn(self):
        page = self.opened()
        page.set_input_files(PICKER, [PICTURE, SOUND, MEDIA / "vp9.webm"])
        expect(page.locator(".medium")).to_have_count(3)
        picture = page.locator(".medium img")
        picture.evaluate("picture => picture.decode()")
        self.assertEqual(picture.evaluate("picture => picture.naturalWidth"), 120)
        for kind in ("audio", "video"):
            player = page.locator(f".medium {kind}")
            seconds = player.evaluate(
                "player => new Promise((resolve, reject) => { const done = () => resolve(player.duration); player.onerror = reject;"
                " player.readyState > 0 ? done() : (player.onloadedmetadata = done); })"
            )
            self.assertGreater(seconds, 0, kind)

    def test_the_examples_make_their_media(self):
        page = self.opened()
        for name, kind in (("Picture", "image"), ("Sound", "audio"), ("Video", "video")):
            with self.subTest(name):
                page.locator("#gallery").get_by_role("button", name=name).click()
                expect(page.locator(f".medium.{kind}")).to_have_count(1)
                self.decide(page)
                expect(page.locator(".made")).to_contain_text(f"{kind} 1")
                self.assertEqual(len(self.shown(page)), 1)

    def test_media_are_ordered_and_removed(self):
        page = self.opened()
        page.set_input_files(PICKER, [PICTURE, PICTURES / "square_48.png"])
        self.decide(page)
        first = self.shown(page)
        page.get_by_role("button", name=f"Move up square_48.png").click()
        self.assertEqual(self.files(page), ["square_48.png", PICTURE.name])
        self.decide(page)
        self.assertNotEqual(self.shown(page), first)
        page.get_by_role("button", name="Remove square_48.png").click()
        self.assertEqual(self.files(page), [PICTURE.name])
        expect(page.locator(".medium select")).to_be_focused()

    def test_files_are_dropped_and_pasted(self):
        page = self.opened()
        bytes_ = list((PICTURES / "square_48.png").read_bytes())
        event = """([bytes, name, kind]) => {
            const files = new DataTransfer();
            files.items.add(new File([new Uint8Array(bytes)], name, {type: "image/png"}));
            const how = {bubbles: true, cancelable: true};
            const happened = kind === "drop" ? new DragEvent(kind, {...how, dataTransfer: files}) : new ClipboardEvent(kind, {...how, clipboardData: files});
            document.querySelector("#state-text").dispatchEvent(happened);
            return happened.defaultPrevented;
        }"""
        self.assertTrue(page.evaluate(event, [bytes_, "dropped.png", "drop"]))
        self.assertTrue(page.evaluate(event, [bytes_, "pasted.png", "paste"]))
        self.assertEqual(self.files(page), ["dropped.png", "pasted.png"])
        self.decide(page)
        expect(page.locator(".made")).to_contain_text("image 2")

    def test_a_file_with_an_odd_name(self):
        name = "it's \"odd\"; type=a\\b ünï $HOME.jpg"
        shutil.copy(PICTURE, self.folder / name)
        page = self.opened()
        page.set_input_files(PICKER, self.folder / name)
        self.decide(page)
        shown = self.shown(page)
        self.close_to(shown, probabilities(json.loads(self.ran(["sh", "-c", self.copied(page, "curl")]))))
        lines = self.ran([sys.executable, "-c", self.copied(page, "python")]).splitlines()
        self.close_to(shown, probabilities({"answers": [json.loads(line) for line in lines]}))

    def test_a_damaged_file_is_named(self):
        self.may_be_refused = True
        damaged = self.folder / "damaged.png"
        damaged.write_bytes((PICTURES / "square_48.png").read_bytes()[:40])
        page = self.opened()
        page.set_input_files(PICKER, [PICTURE, damaged])
        self.decide(page)
        row = page.locator(".medium").nth(1)
        expect(row.locator(".fault")).to_have_text(page.locator(".refusal p").first.inner_text())
        expect(row.locator("select")).to_be_focused()

    def test_other_files_are_refused_at_once(self):
        text = self.folder / "notes.txt"
        text.write_text("no medium")
        page = self.opened()
        page.set_input_files(PICKER, text)
        expect(page.locator("#media .fault")).to_contain_text("notes.txt is not a picture, sound or video")
        self.assertEqual(self.files(page), [])

    def test_files_above_the_limit_are_not_sent(self):
        def lower(route):
            listed = route.fetch().json()
            listed["models"][0]["x_max_body_bytes"] = 1000
            route.fulfill(json=listed)

        page = self.opened(before=lambda page: page.route("**/v1/models", lower))
        sent = []
        page.on("request", lambda request: sent.append(request.url) if request.url.endswith("/decide") else None)
        page.set_input_files(PICKER, VIDEO)
        page.locator("#decide").click()
        expect(page.locator("#media-field > .fault")).to_contain_text("at most 1.0 kB")
        self.assertEqual(sent, [])


if __name__ == "__main__":
    unittest.main()

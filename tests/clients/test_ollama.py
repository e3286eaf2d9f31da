"""The official Ollama client, unmodified, against a running server. `ASSIZE_URL` names its root.

    ASSIZE_URL=http://127.0.0.1:8080 python -m unittest discover -s tests/clients -v
"""

import asyncio
import base64
import json
import math
import os
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import httpx
from ollama import AsyncClient, Client, ResponseError
from pydantic import BaseModel, Field

URL = os.environ["ASSIZE_URL"]
# Seconds; a crowd on a busy machine takes its time.
PATIENCE = 300
MODEL = "jev-latest"
MAIL = "Dear friend, you have WON $5,000,000! Click here to claim your prize before midnight."
# One black pixel.
PIXEL = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPgPAAEDAQFIqE4cAAAAAElFTkSuQmCC")


class Verdict(BaseModel):
    """What is asked about a mail."""

    spam: bool = Field(description="Is this message spam?")
    topic: Literal["lottery", "meeting", "bill"] = Field(description="What is this about?")
    urgency: int = Field(ge=1, le=3, description="How urgent does it sound?")


FORMAT = Verdict.model_json_schema()
USER = [{"role": "user", "content": MAIL}]


def client(**options):
    """A client that waits long enough."""
    return Client(host=URL, **{"timeout": PATIENCE, **options})


def posted(path, body):
    """The JSON answer to a plain request."""
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
        return json.load(reply)


class OllamaTest(unittest.TestCase):
    """A test with a client."""

    def setUp(self):
        self.ollama = client()
        self.addCleanup(self.ollama.close)


class Answers(OllamaTest):
    """Chats and prompts with a schema."""

    def check(self, answer, text):
        """Everything that must hold of an answer, whose text is `text`."""
        self.assertTrue(answer.model and answer.created_at)
        self.assertEqual((answer.done, answer.done_reason), (True, "stop"))
        self.assertGreater(answer.prompt_eval_count, 0)
        self.assertEqual(answer.eval_count, 0)
        self.assertGreater(answer.total_duration, answer.prompt_eval_duration)
        return Verdict.model_validate_json(text)

    def test_chat(self):
        answer = self.ollama.chat(MODEL, USER, format=FORMAT, options={"temperature": 0}, keep_alive="5m")
        self.assertEqual(answer.message.role, "assistant")
        self.check(answer, answer.message.content)

    def test_generate(self):
        prompt = self.ollama.generate(MODEL, MAIL, system="Be strict.", format=FORMAT)
        chat = self.ollama.chat(MODEL, [{"role": "system", "content": "Be strict."}, *USER], format=FORMAT)
        self.assertEqual(self.check(prompt, prompt.response), self.check(chat, chat.message.content))
        self.assertEqual(prompt.prompt_eval_count, chat.prompt_eval_count)

    def test_streams(self):
        whole = self.ollama.chat(MODEL, USER, format=FORMAT).message.content
        *parts, last = self.ollama.chat(MODEL, USER, format=FORMAT, stream=True)
        self.assertFalse(any(part.done for part in parts))
        self.assertEqual("".join(part.message.content for part in [*parts, last]), whole)
        self.check(last, whole)
        *parts, last = self.ollama.generate(MODEL, MAIL, format=FORMAT, stream=True)
        text = "".join(part.response for part in [*parts, last])
        self.assertEqual(text, whole)
        self.check(last, text)

    def test_async(self):
        async def ask():
            async with AsyncClient(host=URL, timeout=PATIENCE) as ollama:
                whole = await ollama.chat(MODEL, USER, format=FORMAT)
                stream = await ollama.chat(MODEL, USER, format=FORMAT, stream=True)
                return whole, [part async for part in stream]

        whole, parts = asyncio.run(ask())
        self.check(whole, whole.message.content)
        self.assertEqual("".join(part.message.content for part in parts), whole.message.content)

    def test_probabilities_arrive_as_logprobs(self):
        answer = self.ollama.chat(MODEL, USER, format=FORMAT, logprobs=True, top_logprobs=3)
        decided = posted("/decide", {"state": MAIL, "question": "Is this message spam?", "type": "predicate"})
        spam, topic, urgency = answer.logprobs
        true = next(entry for entry in spam.top_logprobs if entry.token == "true")
        self.assertAlmostEqual(math.exp(true.logprob), decided["answers"][0]["probability"], delta=5e-3)
        self.assertEqual({entry.token for entry in topic.top_logprobs}, {'"lottery"', '"meeting"', '"bill"'})
        self.assertAlmostEqual(sum(math.exp(entry.logprob) for entry in urgency.top_logprobs), 1, places=5)
        verdict = json.loads(answer.message.content)
        self.assertEqual([json.loads(entry.token) for entry in answer.logprobs], list(verdict.values()))

    def test_systemone(self):
        question = {"type": "noul", "instructions": "Is this message spam?"}
        answer = self.ollama.systemone(f"{MODEL}:latest", MAIL, {"spam": question})
        self.assertTrue(0 < answer.answers["spam"].noul < 1)


class Library(OllamaTest):
    """What clients ask before they ask anything."""

    def test_the_listed_name_is_served(self):
        (listed,) = self.ollama.list().models
        self.assertTrue(listed.model.endswith(":latest"))
        answer = self.ollama.chat(listed.model, USER, format=FORMAT)
        self.assertTrue(answer.done)
        self.assertGreater(listed.size, 0)
        shown = self.ollama.show(listed.model)
        self.assertIn("completion", shown.capabilities)
        self.assertEqual(shown.details, listed.details)
        (running,) = self.ollama.ps().models
        self.assertEqual(running.digest, listed.digest)
        self.assertGreater(running.context_length, 0)

    def test_nothing_to_judge_asks_whether_the_model_is_loaded(self):
        for answer in [self.ollama.generate(MODEL), self.ollama.chat(MODEL)]:
            self.assertEqual((answer.done, answer.done_reason), (True, "load"))


class Errors(OllamaTest):
    """Errors reach the caller as the client's own class, with a message that says what to do."""

    def refused(self, status, *says, **fields):
        """Asserts that a chat is refused with `status` and a message that has `says`, streamed or not."""
        request = {"model": MODEL, "messages": USER, "format": FORMAT, **fields}
        for stream in [False, True]:
            with self.assertRaises(ResponseError) as caught:
                list(self.ollama.chat(**request, stream=stream))
            self.assertEqual(caught.exception.status_code, status)
            for text in says:
                self.assertIn(text, caught.exception.error)

    def test_free_text(self):
        self.refused(400, "format", "schema", format=None)
        self.refused(400, "format", "schema", format="json")
        self.refused(400, "format", "text", format={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]})

    def test_tools(self):
        tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
        self.refused(400, "tools", "tool_choice", tools=[tool], format=None)

    def test_an_unknown_model(self):
        self.refused(404, "absent", model="absent")

    def test_pictures(self):
        self.refused(415, "messages[0].images[0]", messages=[{"role": "user", "content": "?", "images": [PIXEL]}])

    def test_a_state_over_the_context(self):
        self.refused(413, "messages", messages=[{"role": "user", "content": "word " * 20_000}])

    def test_what_is_not_done(self):
        for call in [lambda: self.ollama.embed(MODEL, "x"), lambda: self.ollama.delete(MODEL), lambda: self.ollama.create("x", from_=MODEL)]:
            with self.assertRaises(ResponseError) as caught:
                call()
            self.assertEqual(caught.exception.status_code, 404)
            self.assertIn("not done here", caught.exception.error)

    def test_a_short_time_limit(self):
        with self.assertRaises(httpx.TimeoutException):
            with client(timeout=0.0005) as hasty:
                hasty.chat(MODEL, USER, format=FORMAT)


class Transport(OllamaTest):
    """Many callers."""

    def test_threads_get_their_own_answers(self):
        def ask(index):
            return self.ollama.generate(MODEL, f"{MAIL} {'word ' * index}", format=FORMAT).prompt_eval_count

        alone = [ask(index) for index in range(6)]
        with ThreadPoolExecutor(12) as pool:
            crowd = list(pool.map(ask, list(range(6)) * 4))
        self.assertEqual(crowd, alone * 4)

    def test_async_crowd(self):
        async def ask():
            async with AsyncClient(host=URL, timeout=PATIENCE) as ollama:
                return await asyncio.gather(*(ollama.generate(MODEL, f"{n} {MAIL}", format=FORMAT) for n in range(16)))

        self.assertEqual(len(asyncio.run(ask())), 16)


if __name__ == "__main__":
    unittest.main()

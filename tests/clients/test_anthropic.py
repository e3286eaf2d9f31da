"""The official Anthropic client, unmodified, against a running server. `ASSIZE_URL` names its root.

    ASSIZE_URL=http://127.0.0.1:8080 python -m unittest discover -s tests/clients -v
"""

import asyncio
import json
import os
import threading
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

import anthropic
from anthropic import Anthropic, AsyncAnthropic
from pydantic import BaseModel, Field

URL = os.environ["ASSIZE_URL"]
# Seconds; a crowd on a busy machine takes its time.
PATIENCE = 300
MODEL = "jev-latest"
MAIL = "Dear friend, you have WON $5,000,000! Click here to claim your prize before midnight."
TRIAGE = {
    "name": "triage",
    "description": "Sorts a mail",
    "input_schema": {
        "type": "object",
        "properties": {
            "spam": {"type": "boolean", "description": "Is this message spam?"},
            "topic": {"description": "What is this about?", "enum": ["lottery", "meeting", "bill"]},
            "urgency": {"type": "integer", "minimum": 1, "maximum": 3, "description": "How urgent does it sound?"},
        },
        "required": ["spam", "topic", "urgency"],
    },
}
REPLY = {
    "name": "reply",
    "description": "Answers a mail",
    "input_schema": {"type": "object", "properties": {"tone": {"enum": ["warm", "cold"]}}, "required": ["tone"]},
}
ANY = {"type": "any"}
NAMED = {"type": "tool", "name": "triage"}
# One black pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPgPAAEDAQFIqE4cAAAAAElFTkSuQmCC"


class Topic(str, Enum):
    """What a mail is about."""

    LOTTERY = "lottery"
    MEETING = "meeting"


class Verdict(BaseModel):
    """An answer in text, as a type."""

    spam: bool = Field(description="Is this message spam?")
    topic: Topic = Field(description="What is this about?")
    tone: Literal["warm", "cold"]
    # The client writes these bounds into the description.
    urgency: int = Field(ge=1, le=3, description="How urgent does it sound?")


def client(**options):
    """A client that fails at the first error instead of trying again."""
    return Anthropic(**{"api_key": "any", "base_url": URL, "timeout": PATIENCE, "max_retries": 0, **options})


def async_client(**options):
    """The same, for coroutines."""
    return AsyncAnthropic(**{"api_key": "any", "base_url": URL, "timeout": PATIENCE, "max_retries": 0, **options})


def asking(text=MAIL, **fields):
    """A request for a call of `triage` about `text`."""
    request = {"model": MODEL, "max_tokens": 64, "messages": [{"role": "user", "content": text}]}
    return {**request, "tools": [TRIAGE], "tool_choice": NAMED, **fields}


class Calls(unittest.TestCase):
    """Calls of tools."""

    def check(self, message):
        """Everything that must hold for a call of `triage`."""
        self.assertRegex(message.id, "^msg_")
        self.assertEqual((message.type, message.role, message.stop_reason), ("message", "assistant", "tool_use"))
        self.assertIsNone(message.stop_sequence)
        self.assertGreater(message.usage.input_tokens, 0)
        self.assertEqual(message.usage.output_tokens, 0)
        (call,) = message.content
        self.assertRegex(call.id, "^toolu_")
        self.assertEqual((call.type, call.name), ("tool_use", "triage"))
        self.assertEqual(list(call.input), ["spam", "topic", "urgency"])
        self.assertIs(type(call.input["spam"]), bool)
        self.assertIn(call.input["topic"], ["lottery", "meeting", "bill"])
        self.assertIn(call.input["urgency"], [1, 2, 3])
        self.assertIs(type(call.input["urgency"]), int)
        return call.input

    def test_sync(self):
        with client() as claude:
            self.check(claude.messages.create(**asking()))

    def test_async(self):
        async def ask():
            async with async_client() as claude:
                return await claude.messages.create(**asking())

        self.check(asyncio.run(ask()))

    def test_any_of_several(self):
        with client() as claude:
            message = claude.messages.create(**asking(tools=[TRIAGE, REPLY], tool_choice=ANY))
        self.assertIn(message.content[0].name, ["triage", "reply"])

    def test_streams(self):
        with client() as claude:
            whole = self.check(claude.messages.create(**asking()))
            with claude.messages.stream(**asking()) as stream:
                kinds = [event.type for event in stream]
                final = stream.get_final_message()
            self.assertEqual(self.check(final), whole)
            self.assertIn("input_json", kinds)
            self.assertEqual((kinds[0], kinds[-1]), ("message_start", "message_stop"))
            raw = list(claude.messages.create(**asking(stream=True)))
        self.assertEqual(
            [event.type for event in raw],
            ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"],
        )
        self.assertEqual(json.loads(raw[2].delta.partial_json), whole)

    def test_async_stream(self):
        async def ask():
            async with async_client() as claude, claude.messages.stream(**asking()) as stream:
                return await stream.get_final_message()

        self.check(asyncio.run(ask()))

    def test_what_changes_nothing(self):
        with client() as claude:
            plain = claude.messages.create(**asking())
            dressed = claude.messages.create(
                **asking(
                    [{"type": "text", "text": MAIL, "cache_control": {"type": "ephemeral"}}],
                    stop_sequences=["x"],
                    metadata={"user_id": "u"},
                    service_tier="auto",
                    thinking={"type": "disabled"},
                    cache_control={"type": "ephemeral"},
                    extra_headers={"anthropic-beta": "some-beta-2026-01-01"},
                    # What clients before 2.0 have arguments for.
                    extra_body={"temperature": 1.0, "top_p": 0.5, "top_k": 3},
                )
            )
        self.assertEqual(plain.x_assize["fields"], dressed.x_assize["fields"])
        self.assertEqual(plain.usage.input_tokens, dressed.usage.input_tokens)

    def test_a_call_and_its_result_go_back(self):
        with client() as claude:
            first = claude.messages.create(**asking())
            result = {"type": "tool_result", "tool_use_id": first.content[0].id, "content": [{"type": "text", "text": "filed"}]}
            turns = [
                {"role": "user", "content": MAIL},
                first.to_param(),
                {"role": "user", "content": [result, {"type": "text", "text": "And now?"}]},
            ]
            second = claude.messages.create(**asking(messages=turns, system=[{"type": "text", "text": "Be strict."}]))
        self.check(second)
        self.assertGreater(second.usage.input_tokens, first.usage.input_tokens)

    def test_tokens_are_counted(self):
        with client() as claude:
            request = asking()
            message = claude.messages.create(**request)
            del request["max_tokens"]
            self.assertEqual(claude.messages.count_tokens(**request).input_tokens, message.usage.input_tokens)

    def test_the_beta_routes_are_the_same(self):
        with client() as claude:
            self.check(claude.beta.messages.create(**asking(), betas=["some-beta-2026-01-01"]))


class Texts(unittest.TestCase):
    """Answers in text that hold JSON."""

    SCHEMA = {"type": "json_schema", "schema": TRIAGE["input_schema"]}

    def request(self, **fields):
        """A request without tools."""
        return {"model": MODEL, "max_tokens": 64, "messages": [{"role": "user", "content": MAIL}], **fields}

    def test_a_schema(self):
        with client() as claude:
            message = claude.messages.create(**self.request(output_config={"format": self.SCHEMA}))
            call = claude.messages.create(**asking()).content[0].input
        self.assertEqual(message.stop_reason, "end_turn")
        self.assertEqual(json.loads(message.content[0].text), call)

    def test_a_type(self):
        with client() as claude:
            message = claude.messages.parse(**self.request(output_format=Verdict))
            self.assertIsInstance(message.parsed_output, Verdict)
            with claude.messages.stream(**self.request(output_format=Verdict)) as stream:
                texts = list(stream.text_stream)
                self.assertEqual(stream.get_final_message().parsed_output, message.parsed_output)
        self.assertEqual("".join(texts), message.content[0].text)


class Numbers(unittest.TestCase):
    """The numbers are those of `POST /decide`."""

    def test_boolean(self):
        question = {"state": MAIL, "question": "Is this message spam?", "type": "predicate"}
        body = json.dumps(question).encode()
        request = urllib.request.Request(f"{URL}/decide", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            decided = json.load(reply)["answers"][0]["probability"]
        with client() as claude:
            message = claude.messages.create(**asking())
        self.assertAlmostEqual(message.x_assize["fields"][0]["probabilities"][1]["probability"], decided, delta=5e-3)


class Transport(unittest.TestCase):
    """Many callers, time limits, and trying again."""

    def test_threads_get_their_own_answers(self):
        texts = [f"{MAIL} Number {index}." for index in range(8)]
        with client() as claude:
            alone = [claude.messages.create(**asking(text)).usage.input_tokens for text in texts]
            with ThreadPoolExecutor(16) as pool:
                crowd = list(pool.map(lambda text: claude.messages.create(**asking(text)), texts * 3))
        self.assertEqual([message.usage.input_tokens for message in crowd], alone * 3)
        self.assertEqual(len({message.id for message in crowd}), 24)

    def test_async_crowd(self):
        async def ask():
            async with async_client() as claude:
                return await asyncio.gather(*(claude.messages.create(**asking(f"{index} {MAIL}")) for index in range(16)))

        self.assertEqual(len(asyncio.run(ask())), 16)

    def test_a_short_time_limit(self):
        with client(timeout=0.0005) as claude, self.assertRaises(anthropic.APITimeoutError):
            claude.messages.create(**asking())

    def test_a_busy_server_is_asked_again(self):
        for status, kind in [(429, "rate_limit_error"), (503, "overloaded_error")]:
            with Reluctant(status, kind) as url, client(base_url=url, max_retries=2) as claude:
                message = claude.messages.create(**asking())
            self.assertEqual(message.stop_reason, "tool_use")


class Reluctant:
    """A server that refuses the first request as a busy one does, and passes the next ones on."""

    def __init__(self, status, kind):
        refused = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                if not refused:
                    refused.append(True)
                    answer = json.dumps({"type": "error", "error": {"type": kind, "message": "try again"}}).encode()
                    self.send_response(status)
                    self.send_header("retry-after-ms", "20")
                else:
                    request = urllib.request.Request(URL + self.path, body, {"content-type": "application/json"})
                    with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                        answer = reply.read()
                    self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Errors(unittest.TestCase):
    """Errors reach the caller as the client's own classes, with a message that says what to do."""

    def refused(self, error, *says, **fields):
        """Asserts that a request raises `error`, whose message has `says`."""
        with client() as claude, self.assertRaises(error) as caught:
            claude.messages.create(**asking(**fields))
        for text in says:
            self.assertIn(text, str(caught.exception))
        self.assertTrue(caught.exception.request_id)
        return caught.exception

    def test_free_text(self):
        error = self.refused(anthropic.BadRequestError, "tool_choice", "any", tool_choice={"type": "auto"})
        self.assertEqual(error.body["error"]["type"], "invalid_request_error")
        self.refused(anthropic.BadRequestError, "tool_choice", tools=[], tool_choice=anthropic.omit)

    def test_an_open_field(self):
        tool = {"name": "write", "input_schema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}
        self.refused(anthropic.BadRequestError, "text", tools=[tool], tool_choice=ANY)

    def test_an_unknown_tool(self):
        self.refused(anthropic.BadRequestError, "tool_choice.name", "absent", tool_choice={"type": "tool", "name": "absent"})

    def test_an_unknown_model(self):
        error = self.refused(anthropic.NotFoundError, "no-such-model", model="no-such-model")
        self.assertEqual(error.body["error"]["type"], "not_found_error")

    def test_a_picture_for_a_model_of_text(self):
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}
        error = self.refused(anthropic.APIStatusError, "messages[0].content[0].source", text=[picture])
        self.assertEqual(error.status_code, 415)

    def test_a_picture_that_is_no_base64(self):
        picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "*"}}
        self.refused(anthropic.BadRequestError, "source.data", "base64", text=[picture])

    def test_a_pdf(self):
        source = {"type": "base64", "media_type": "application/pdf", "data": ""}
        self.refused(anthropic.BadRequestError, "source.type", "text", text=[{"type": "document", "source": source}])

    def test_a_state_over_the_context(self):
        error = self.refused(anthropic.APIStatusError, "messages", text="word " * 20_000)
        self.assertEqual((error.status_code, error.body["error"]["type"]), (413, "request_too_large"))

    def test_a_stream_that_is_refused(self):
        with client() as claude, self.assertRaises(anthropic.BadRequestError):
            claude.messages.create(**asking(stream=True, tool_choice={"type": "auto"}))


if __name__ == "__main__":
    unittest.main()

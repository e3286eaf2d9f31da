"""The official TypeSafe client, unmodified, against a running server. `ASSIZE_URL` names its root.

    ASSIZE_URL=http://127.0.0.1:8080 python -m unittest discover -s tests/clients -v
"""

import asyncio
import os
import unittest
from concurrent.futures import ThreadPoolExecutor

import httpx2
from typesafe_sdk import (
    AsyncTypeSafeClient,
    Choice,
    Noul,
    RetryPolicy,
    Score,
    TypeSafeAPIError,
    TypeSafeClient,
    TypeSafeUnprocessableEntityError,
)

URL = os.environ["ASSIZE_URL"]
# Seconds; the client's own 10 are too few for a crowd on a busy machine.
PATIENCE = 300
NO_RETRY = RetryPolicy(max_retries=0)
MAIL = "Dear friend, you have WON $5,000,000! Click here to claim your prize before midnight."
QUESTIONS = {
    "spam": Noul(instructions="Is this message spam?"),
    "topic": Choice(instructions="What is this about?", criteria={"lottery": "a prize", "meeting": None, "bill \U0001f4b8": None}),
    "urgency": Score(instructions="How urgent does it sound?", criteria=["not at all", "somewhat", "very"]),
}


def client(**options):
    """A client that fails at the first error instead of trying again."""
    options.setdefault("timeout", PATIENCE)
    return TypeSafeClient(api_key="any", base_url=URL, retry=NO_RETRY, **options)


def numbers(answer):
    """The probabilities of an answer, in the order of its options."""
    return [answer.noul] if answer.type == "noul" else list(answer.probabilities.values())


class Answers(unittest.TestCase):
    """The three question shapes."""

    def check(self, response):
        """Everything that must hold for the answers to QUESTIONS."""
        self.assertEqual(set(response.answers), set(QUESTIONS))
        self.assertTrue(response.model)
        self.assertGreater(response.usage.input_tokens, 0)
        spam = response.nouls["spam"]
        self.assertTrue(0 < spam.noul < 1)
        topic = response.choices["topic"]
        self.assertEqual(list(topic.probabilities), ["lottery", "meeting", "bill \U0001f4b8"])
        self.assertAlmostEqual(sum(topic.probabilities.values()), 1, places=5)
        largest = max(topic.probabilities.values())
        self.assertEqual(topic.probabilities[topic.choice], largest)
        self.assertAlmostEqual(topic.confidence, (largest - 1 / 3) / (1 - 1 / 3), places=5)
        urgency = response.scores["urgency"]
        self.assertEqual(urgency.legend, {0: "not at all", 1: "somewhat", 2: "very"})
        self.assertAlmostEqual(sum(urgency.probabilities.values()), 1, places=5)
        expected = sum(level * p for level, p in urgency.probabilities.items())
        self.assertAlmostEqual(urgency.score, expected, places=5)
        mode = max(urgency.probabilities, key=urgency.probabilities.get)
        spread = sum(p * abs(level - mode) for level, p in urgency.probabilities.items())
        self.assertAlmostEqual(urgency.confidence, max(0, 1 - spread / (2 / 3)), places=5)

    def test_sync(self):
        with client() as typesafe:
            self.check(typesafe.system_one(state=MAIL, questions=QUESTIONS))

    def test_async(self):
        async def ask():
            async with AsyncTypeSafeClient(api_key="any", base_url=URL, retry=NO_RETRY, timeout=PATIENCE) as typesafe:
                return await typesafe.system_one(state=MAIL, questions=QUESTIONS)

        self.check(asyncio.run(ask()))

    def test_each_question_alone_gets_the_same_numbers(self):
        with client() as typesafe:
            together = typesafe.system_one(state=MAIL, questions=QUESTIONS)
            for key, question in QUESTIONS.items():
                alone = typesafe.system_one(state=MAIL, questions={key: question})
                for a, b in zip(numbers(together.answers[key]), numbers(alone.answers[key]), strict=True):
                    self.assertAlmostEqual(a, b, delta=5e-3)

    def test_the_state_matters(self):
        with client() as typesafe:
            one = typesafe.system_one(state=MAIL, questions=QUESTIONS)
            other = typesafe.system_one(state="The meeting has been moved to 14:30.", questions=QUESTIONS)
        self.assertNotAlmostEqual(one.nouls["spam"].noul, other.nouls["spam"].noul, places=4)

    def test_structured_state_and_criteria(self):
        state = {"ticket": {"id": 7, "body": "I was charged twice", "tags": ["billing", None]}, "vip": True, "ratio": 0.5}
        questions = {
            "with space": Noul(instructions={"ask": "Is it about money?"}, criteria={"true": ["money", "card"], "false": None}),
            "\U0001f511": Choice(criteria={"yes": {"means": "angry"}, "no": ["calm"]}, instructions=["Is", "the", "user", "angry?"]),
            "levels": Score(criteria=[{"level": "low"}, "high"], instructions="How bad?"),
            "criteria only": Noul(criteria={"true": "about billing"}),
        }
        with client() as typesafe:
            response = typesafe.system_one(state=state, questions=questions)
        self.assertEqual(set(response.answers), set(questions))
        self.assertEqual(response.scores["levels"].legend[0], {"level": "low"})

    def test_255_options(self):
        options = {f"option {index}": None for index in range(255)}
        with client() as typesafe:
            answer = typesafe.system_one(state="7", questions={"q": Choice(criteria=options)}).choices["q"]
        self.assertEqual(list(answer.probabilities), list(options))
        self.assertAlmostEqual(sum(answer.probabilities.values()), 1, places=4)


class Transport(unittest.TestCase):
    """Compression, models, request ids, many callers."""

    def test_bodies_over_1_kib_arrive_compressed(self):
        seen = []
        http_client = httpx2.Client(timeout=PATIENCE, event_hooks={"request": [lambda request: seen.append(dict(request.headers))]})
        state = " ".join(f"line {index}: {MAIL}" for index in range(20))
        with client(http_client=http_client, timeout=None) as typesafe:
            compressed = typesafe.system_one(state=state, questions=QUESTIONS)
        self.assertEqual(seen[0].get("content-encoding"), "zstd")
        with client(compression=False) as typesafe:
            plain = typesafe.system_one(state=state, questions=QUESTIONS)
        self.assertEqual(compressed.usage.input_tokens, plain.usage.input_tokens)
        self.assertAlmostEqual(compressed.nouls["spam"].noul, plain.nouls["spam"].noul, delta=1e-6)

    def test_models_and_request_id(self):
        with client() as typesafe:
            models = typesafe.models.list().models
            self.assertTrue(models)
            for model in models:
                self.assertTrue(model.name and model.description)
                self.assertRegex(model.release_date, r"^\d{4}-\d{2}-\d{2}$")
            response = typesafe.system_one(state="x", questions=QUESTIONS, model=models[0].name)
            self.assertTrue(response.request_id)

    def test_threads_get_their_own_answers(self):
        states = [f"{MAIL} Number {index}." for index in range(8)]
        with client() as typesafe:
            alone = [typesafe.system_one(state=state, questions=QUESTIONS).nouls["spam"].noul for state in states]
            with ThreadPoolExecutor(16) as pool:
                crowd = list(pool.map(lambda state: typesafe.system_one(state=state, questions=QUESTIONS), states * 4))
        for index, response in enumerate(crowd):
            self.assertAlmostEqual(response.nouls["spam"].noul, alone[index % 8], delta=5e-3)

    def test_async_crowd(self):
        async def ask():
            async with AsyncTypeSafeClient(api_key="any", base_url=URL, timeout=PATIENCE) as typesafe:
                calls = [typesafe.system_one(state=f"{index} {MAIL}", questions=QUESTIONS) for index in range(24)]
                return await asyncio.gather(*calls)

        self.assertEqual(len(asyncio.run(ask())), 24)


class Errors(unittest.TestCase):
    """Errors reach the caller as the client's own classes, with a message that says what to do."""

    def refused(self, **request):
        """The error that a request raises."""
        with client() as typesafe, self.assertRaises(TypeSafeAPIError) as caught:
            typesafe.system_one(**request)
        return caught.exception

    def test_an_unknown_question_type(self):
        error = self.refused(state="x", questions={"odd": {"type": "haiku"}})
        self.assertIsInstance(error, TypeSafeUnprocessableEntityError)
        self.assertIn("haiku", str(error))

    def test_too_many_options(self):
        error = self.refused(state="x", questions={"q": Choice(criteria={str(n): None for n in range(257)})})
        self.assertEqual(error.status, 422)
        self.assertIn("257", str(error))

    def test_a_state_over_the_context(self):
        error = self.refused(state="word " * 20_000, questions=QUESTIONS)
        self.assertEqual(error.status, 413)
        self.assertIn("state", str(error))

    def test_an_unknown_model(self):
        error = self.refused(state="x", questions=QUESTIONS, model="no-such-model")
        self.assertIn(error.status, (400, 404))
        self.assertIn("no-such-model", str(error))

    def test_the_server_survives_all_of_it(self):
        with client() as typesafe:
            typesafe.system_one(state=MAIL, questions=QUESTIONS)


if __name__ == "__main__":
    unittest.main()

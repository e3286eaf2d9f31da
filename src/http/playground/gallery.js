// Ready examples. One that needs media names the kind, and makes its file when it is chosen.

import { byId, h } from "./dom.js";
import * as samples from "./samples.js";

const EXAMPLES = [
  {
    name: "Spam",
    state: "Dear friend, you have WON $5,000,000! Click here to claim your prize before midnight.",
    questions: [{ question: "Is this message spam?", options: ["spam", "not spam"] }],
  },
  {
    name: "Ticket routing",
    state: "Hi, I was charged twice for my subscription in March. Could you refund the second payment? The receipt is attached.",
    questions: [{
      question: "Which team should handle this ticket?",
      options: [
        { name: "billing", description: "payments, refunds and invoices" },
        { name: "technical", description: "bugs, errors and outages" },
        { name: "account", description: "login, profile and access" },
        { name: "sales", description: "plans, prices and upgrades" },
      ],
    }],
  },
  {
    name: "Urgency",
    state: "The payment service has been down for twenty minutes and customers cannot check out. We are losing orders.",
    questions: [{ type: "score", question: "How urgent is this report?", levels: ["not urgent at all", "can wait some days", "should be seen today", "needs action at once"] }],
  },
  {
    name: "Moderation",
    state: "If you post that again I will find out where you live.",
    questions: [{
      type: "predicate", question: "Does this comment threaten somebody?",
      when_true: "it announces harm to a person or a group", when_false: "it is rude at most, or harmless",
    }],
  },
  {
    name: "Several questions",
    state: "The room was spotless and the view was lovely, but the staff at the desk were rude and breakfast was cold.",
    questions: [
      { id: "mood", question: "What is the overall mood of this review?", options: ["positive", "negative", "mixed"] },
      { id: "clean", type: "predicate", question: "Was the room clean?" },
      { id: "stars", type: "score", question: "How many stars would this guest give?", levels: ["one", "two", "three", "four", "five"] },
    ],
  },
  {
    name: "JSON state",
    kind: "json",
    state: '{\n  "order": 48213,\n  "customer": {"since": 2019, "orders": 57, "chargebacks": 0},\n  "amount": 1249.90,\n  "shipping": {"country": "NO", "billing_country": "NO"},\n  "note": "Gift for my sister"\n}',
    questions: [{ question: "What should happen to this order?", options: [{ name: "accept", description: "nothing looks wrong" }, { name: "review", description: "a person should look at it" }, { name: "reject", description: "it is fraud" }] }],
  },
  {
    name: "Picture", needs: "image", make: samples.picture,
    state: "A picture from a camera above a street.",
    questions: [{ question: "What does the traffic light show?", options: ["red", "yellow", "green"] }],
  },
  {
    name: "Sound", needs: "audio", make: samples.sound,
    state: "A recording from a kitchen.",
    questions: [{ question: "What is heard?", options: ["a beeping timer", "speech", "music", "silence"] }],
  },
  {
    name: "Video", needs: "video", make: samples.video, can: samples.canRecordVideo,
    state: "A clip from a camera above a track.",
    questions: [{ question: "Which way does the ball roll?", options: ["to the left", "to the right", "it stays where it is"] }],
  },
];

/// The question of a fitted head, as an example: such a server answers no other.
function headExample(head) {
  const { question } = head;
  const text = (content) => (content === undefined || content === null ? "" : typeof content === "string" ? content : JSON.stringify(content));
  return {
    name: "The head’s question", state: EXAMPLES[0].state,
    questions: [{
      type: question.type, question: text(question.question), when_true: text(question.when_true), when_false: text(question.when_false),
      options: question.options?.map((option) => (typeof option === "string" ? option : { name: option.name, description: text(option.description) })),
      levels: question.levels?.map(text),
    }],
  };
}

/// Draws the examples that the served model can take; `onchoose` gets the example and its files.
export class Gallery {
  constructor(onchoose) {
    this.onchoose = onchoose;
    this.offer([], null);
  }

  get first() {
    return this.examples[0];
  }

  offer(kinds, head) {
    const usable = ({ needs, can }) => !needs || (kinds.includes(needs) && (!can || can()));
    this.examples = head ? [headExample(head)] : EXAMPLES.filter(usable);
    byId("gallery").replaceChildren(...this.examples.map((example) => {
      const button = h("button", { type: "button", onclick: () => this.#choose(example, button) }, example.name);
      return h("li", {}, button);
    }));
  }

  async #choose(example, button) {
    if (!example.make) return this.onchoose(example, []);
    button.setAttribute("aria-busy", "true");
    button.disabled = true;
    try {
      this.onchoose(example, [await example.make()]);
    } finally {
      button.removeAttribute("aria-busy");
      button.disabled = false;
      button.focus();
    }
  }
}

// npm's json-rules-engine: one rule per expression, all of them run on every event.
const { Engine } = require("json-rules-engine");
const readline = require("readline");

const engine = new Engine([], { allowUndefinedFacts: true });
engine.addOperator("present", (value) => value !== undefined && value !== null);

const read = (text) => {
  if (text[0] === "s") return text.slice(1);
  return text[0] === "n" ? Number(text.slice(1)) : text === "b1";
};
const names = { "<": "lessThan", "<=": "lessThanInclusive", ">": "greaterThan", ">=": "greaterThanInclusive" };

function condition(tokens) {
  const kind = tokens.next().value;
  if (kind !== "?") {
    const count = Number(tokens.next().value);
    const members = Array.from({ length: count }, () => condition(tokens));
    return kind === "&" ? { all: members } : { any: members };
  }
  const [fact, operator, negated, absent, count] = Array.from({ length: 5 }, () => tokens.next().value);
  const values = Array.from({ length: Number(count) }, () => read(tokens.next().value));
  const test = operator === "in" ? { fact, operator, value: values } : { fact, operator: names[operator], value: values[0] };
  if (negated === "0") return test;
  const present = { fact, operator: "present", value: true };
  return absent === "1" ? { not: test } : { all: [present, { not: test }] };
}

let left = -1;
let number = 0;
const lines = readline.createInterface({ input: process.stdin, terminal: false });
(async () => {
  for await (const line of lines) {
    if (left < 0) {
      left = Number(line);
    } else if (left > 0) {
      const made = condition(line.split("\t")[Symbol.iterator]());
      const conditions = made.all || made.any || made.not ? made : { all: [made] };
      engine.addRule({ conditions, event: { type: String(number++) } });
      left -= 1;
    } else {
      const fields = line.split("\t");
      const facts = {};
      for (let at = 0; at + 1 < fields.length; at += 2) facts[fields[at]] = read(fields[at + 1]);
      const { events } = await engine.run(facts);
      console.log(events.map((event) => event.type).join(" "));
      continue;
    }
    if (left === 0) console.log("ready");
  }
})();

// Trains and plays a session with the types that openapi-typescript has made.
import { readFileSync } from "node:fs";
import type { components, operations } from "./generated.js";

type Schemas = components["schemas"];
type Started =
  operations["start_training"]["responses"][202]["content"]["application/json"];

const [address, table, specPath] = process.argv.slice(2) as [string, string, string];
const spec: Schemas["SpecDocument"] = JSON.parse(readFileSync(specPath, "utf8"));

function check(isTrue: boolean, said: unknown): void {
  if (!isTrue) throw new Error(JSON.stringify(said));
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const isForm = body instanceof FormData;
  const answered = await fetch(`${address}${path}`, {
    method,
    headers: isForm || body === undefined ? {} : { "Content-Type": "application/json" },
    body: isForm ? body : JSON.stringify(body),
  });
  return (await answered.json()) as T;
}

const form = new FormData();
form.set("dataset", new Blob([readFileSync(table)]), "heart.csv");
form.set("spec", new Blob([JSON.stringify(spec)], { type: "application/json" }));
let training: Schemas["Training"] = await call<Started>("POST", "/train", form);
while (training.state === "queued" || training.state === "running") {
  await new Promise((wake) => setTimeout(wake, 100));
  training = await call<Schemas["TrainingWithSpec"]>("GET", `/train/${training.id}`);
}
check(training.state === "succeeded", training);

const wish: Schemas["PredictRequest"] = {
  model: training.model_id as string,
  budget: 60,
  known: { age: 63 },
};
let session = await call<Schemas["Session"]>("POST", "/predict", wish);
const path = `/predict/${session.id}`;
while (session.question !== null && !session.should_stop) {
  const given: Schemas["GivenAnswer"] =
    session.question.feature === "cp"
      ? { feature: "cp", outcome: "value", value: "asymptomatic" }
      : { feature: session.question.feature, outcome: "refused" };
  session = await call("POST", `${path}/answers`, { answers: [given] });
}
const dear: Schemas["AnswersRequest"] = {
  answers: [{ feature: "ca", outcome: "value", value: 2 }],
};
const problem = await call<Schemas["Problem"]>("POST", `${path}/answers`, dear);
check(problem.type === "/problems/over-budget", problem);
session = await call("POST", `${path}/stop`);
console.log(session.stop_reason, session.budget.spent);

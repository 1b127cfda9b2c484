// Plays one flow with the official TypeScript client and prints what it saw, as JSON.
// node flows.mjs FLOW; the client lies in the folder TYPESCRIPT_CLIENT.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.TYPESCRIPT_CLIENT}/package.json`);
const Anthropic = require("@anthropic-ai/sdk").default;
const client = new Anthropic({ maxRetries: 0 });
const beta = client.beta;
const TOOLSET = { type: "agent_toolset_20260401" };
const WEIGH = {
  type: "custom",
  name: "weigh",
  description: "Weigh a thing on the client's scales.",
  input_schema: { type: "object", properties: { thing: { type: "string" } }, required: ["thing"] },
};
const say = (text) => ({ type: "user.message", content: [{ type: "text", text }] });
const seen = [];

async function session(agent, more = {}, environment = {}) {
  const made = await beta.agents.create({ name: "Helper", model: "claude-sonnet-4-6", ...agent });
  const place = await beta.environments.create({ name: "here", ...environment });
  return (await beta.sessions.create({ agent: made.id, environment_id: place.id, ...more })).id;
}

async function followed(id, react = () => [], query = undefined) {
  const stream = await beta.sessions.events.stream(id, query);
  await beta.sessions.events.send(id, { events: [say("Go.")] });
  for await (const event of stream) {
    seen.push(event);
    const events = react(event);
    if (events.length) await beta.sessions.events.send(id, { events });
    if (event.type === "session.status_idle" && event.stop_reason.type !== "requires_action") break;
  }
  return id;
}

let denied = false;
function confirm(event) {
  if (event.type !== "session.status_idle" || event.stop_reason.type !== "requires_action") return [];
  return event.stop_reason.event_ids.map((id) => {
    const first = !denied;
    denied = true;
    return first
      ? { type: "user.tool_confirmation", tool_use_id: id, result: "deny", deny_message: "Elsewhere." }
      : { type: "user.tool_confirmation", tool_use_id: id, result: "allow" };
  });
}

function weigh(event) {
  if (event.type !== "agent.custom_tool_use") return [];
  const known = event.input.thing === "stone";
  const content = [{ type: "text", text: known ? "3 kg" : "too light" }];
  return [{ type: "user.custom_tool_result", custom_tool_use_id: event.id, content, is_error: !known }];
}

const flows = {
  toolset: async () => followed(await session({ tools: [TOOLSET] })),
  disabled: async () => {
    const configs = [{ name: "web_fetch", enabled: false }, { name: "web_search", enabled: false }];
    seen.push(await beta.agents.create({ name: "x", model: "m", tools: [{ ...TOOLSET, configs }] }));
  },
  whitelist: async () => {
    const tools = [{ ...TOOLSET, default_config: { enabled: false }, configs: [{ name: "read", enabled: true }] }];
    seen.push(await beta.agents.create({ name: "x", model: "m", tools }));
  },
  confirm: async () => {
    const ask = { permission_policy: { type: "always_ask" } };
    const configs = [{ name: "read", permission_policy: { type: "always_allow" } }];
    return followed(await session({ tools: [{ ...TOOLSET, default_config: ask, configs }] }), confirm);
  },
  custom: async () => followed(await session({ tools: [WEIGH] }), weigh),
  mcp: async () => {
    const url = process.env.MCP_URL;
    const vault = await beta.vaults.create({ display_name: "Mine" });
    const auth = { type: "static_bearer", mcp_server_url: url, token: "a-token-for-tests" };
    await beta.vaults.credentials.create(vault.id, { auth });
    const allow = { permission_policy: { type: "always_allow" } };
    const tools = [{ type: "mcp_toolset", mcp_server_name: "little", default_config: allow }];
    const mcp_servers = [{ type: "url", name: "little", url }];
    return followed(await session({ tools, mcp_servers }, { vault_ids: [vault.id] }));
  },
  words: async () => followed(await session({}), undefined, { event_deltas: ["agent.message"] }),
  coordinator: async () => {
    const digger = await beta.agents.create({ name: "Digger", model: "m" });
    const id = await followed(await session({ multiagent: { type: "coordinator", agents: [digger.id] } }));
    for await (const thread of beta.sessions.threads.list(id)) seen.push(thread);
    return id;
  },
  pages: async () => {
    for (let number = 0; number < 5; number += 1) await session({}, { title: `${number}` });
    for await (const one of beta.sessions.list({ limit: 2, order: "asc" })) seen.push({ title: one.title });
  },
  refused: async () => {
    const made = await beta.agents.create({ name: "x", model: "m" });
    const refusal = await beta.agents.update(made.id, { version: 7, name: "y" }).catch((problem) => problem);
    seen.push({ status: refusal.status, name: refusal.constructor.name });
    const id = await session({});
    await beta.sessions.archive(id);
    const late = await beta.sessions.events.send(id, { events: [say("x")] }).catch((problem) => problem);
    seen.push({ status: late.status, name: late.constructor.name });
  },
};

const id = await flows[process.argv[2]]();
const told = [];
if (id) for await (const event of beta.sessions.events.list(id)) told.push(event);
console.log(JSON.stringify({ seen, told }));

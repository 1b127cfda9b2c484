// Run one turn and print what happens. Frames end with two line feeds; every payload is one line of JSON.

const url = process.env.ENGINE_URL ?? "http://127.0.0.1:8000";
const response = await fetch(`${url}/execute`, {
  method: "POST",
  headers: { "X-Engine-Key": process.env.ENGINE_KEY, "Content-Type": "application/json" },
  body: JSON.stringify({ message: "Which files are here?", task_id: "example-4" }),
});
if (!response.ok) throw new Error(JSON.stringify(await response.json()));

const decoder = new TextDecoder();
let buffer = "";
for await (const piece of response.body) {
  buffer += decoder.decode(piece, { stream: true });
  const frames = buffer.split("\n\n");
  buffer = frames.pop();
  for (const frame of frames) {
    const line = frame.split("\n").find((one) => one.startsWith("data: "));
    const event = JSON.parse(line.slice("data: ".length));
    if (event.type === "tool_call") console.log(`[${event.tool}]`);
    if (event.text) process.stdout.write(event.text);
  }
}
console.log();

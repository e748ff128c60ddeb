// An MCP client of the official TypeScript SDK that reads its calls from its input, line by line:
//
//	node client.mjs stdio COMMAND ARGUMENT...
//	node client.mjs http URL [TOKEN]
//
// It connects, lists the tools, so that it holds every result against the tool's output schema, and writes the list. Then
// each line of its input, {"id": 1, "tool": "...", "arguments": {...}}, is a call, and is answered by a line with its id and
// either what callTool has returned ("result") or what it has thrown ("error"). It ends with its input.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { createInterface } from 'node:readline';

const [kind, target, ...rest] = process.argv.slice(2);
const transport = kind === 'stdio'
  ? new StdioClientTransport({ command: target, args: rest, env: process.env, stderr: 'inherit' })
  : new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: rest[0] ? { Authorization: `Bearer ${rest[0]}` } : {} } });

const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');
const client = new Client({ name: 'typescript', version: '1' });
// Errors outside of a call: an answer without a request, a line that is not a message, a broken stream.
client.onerror = (error) => say({ fault: String(error) });

await client.connect(transport);
say({ id: 0, result: await client.listTools() });

const calls = new Set();
for await (const line of createInterface({ input: process.stdin })) {
  const { id, tool, arguments: args } = JSON.parse(line);
  const call = client.callTool({ name: tool, arguments: args })
    .then((result) => say({ id, result }), (error) => say({ id, error: String(error) }))
    .finally(() => calls.delete(call));
  calls.add(call);
}
await Promise.all(calls);
client.onerror = undefined; // an open stream ends now, and the SDK calls that an error
await client.close();

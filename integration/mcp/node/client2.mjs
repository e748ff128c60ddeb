// An MCP client of the official TypeScript SDK, version 2, that reads its calls from its input, line by line:
//
//	node client2.mjs MODE stdio COMMAND ARGUMENT...
//	node client2.mjs MODE http URL [TOKEN]
//
// MODE is auto, to negotiate the protocol revision, or the one revision that it accepts. The rest is as for client.mjs;
// its first line has the revision in effect, too.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createInterface } from 'node:readline';

const [mode, kind, target, ...rest] = process.argv.slice(2);
const transport = kind === 'stdio'
  ? new StdioClientTransport({ command: target, args: rest, env: process.env, stderr: 'inherit' })
  : new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers: rest[0] ? { Authorization: `Bearer ${rest[0]}` } : {} } });

const say = (line) => process.stdout.write(JSON.stringify(line) + '\n');
const client = new Client({ name: 'typescript-2', version: '1' },
  { versionNegotiation: { mode: mode === 'auto' ? 'auto' : { pin: mode } } });
// Errors outside of a call: an answer without a request, a line that is not a message, a broken stream.
client.onerror = (error) => say({ fault: String(error) });

await client.connect(transport);
say({ id: 0, result: await client.listTools(), revision: client.getNegotiatedProtocolVersion() });

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

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CallToolResult } from '@modelcontextprotocol/client';
import { canary } from './canary.js';
import type { Session } from './session.js';

export const REVISION = '2026-07-28';
export const OLDER_REVISIONS = ['2025-11-25', '2025-06-18'] as const;

/** The official client, connected to POST /mcp with the credentials of the session. */
export async function connectMcp(
  { url, headers }: Session,
  revision: string = REVISION,
): Promise<Client> {
  const isModern = revision === REVISION;
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    {
      versionNegotiation: { mode: isModern ? { pin: REVISION } : 'legacy' },
      ...(!isModern && { supportedProtocolVersions: [revision] }),
    },
  );
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }),
  );
  return client;
}

/** Calls a tool over one message of JSON-RPC, as a client of revision 2025-06-18 does, and searches the answer for secrets. */
export async function callTool(
  session: Session,
  name: string,
  args: object = {},
): Promise<{ status: number; text: string; result: CallToolResult | undefined }> {
  const message = {
    jsonrpc: '2.0',
    id: 'message',
    method: 'tools/call',
    params: { name, arguments: args },
  };
  const { status, text } = await session.raw('POST', '/mcp', message, {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-06-18',
  });
  canary.check(`tool ${name}`, text);
  const data = /^data: (\{.*)$/m.exec(text)?.[1];
  const { result } = JSON.parse(data ?? text) as { result?: CallToolResult };
  return { status, text: data ?? text, result };
}

export function textOf({ content }: Pick<CallToolResult, 'content'>): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

import { beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { MANY_TOOLS, WANTED_TOOLS } from '../../../test/support/many-tools.js';
import type { ToolDefinition } from '../../provider/index.js';
import type { AgentTool, ToolContext } from './agent-tool.js';
import { FIND_TOOLS, ToolSearch } from './tool-search.js';

const TOOLS: AgentTool[] = Object.entries(MANY_TOOLS).flatMap(([serverName, tools]) =>
  Array.from(tools, ([name, description]) => ({
    name,
    description,
    serverName,
    input: z.unknown(),
    run: () => Promise.resolve({ content: '', summary: '' }),
  })),
);

const DEFINITIONS: ToolDefinition[] = [
  { name: 'calculate', description: '', inputSchema: {} },
  ...TOOLS.map(({ name, description }) => ({ name, description, inputSchema: {} })),
  { name: FIND_TOOLS, description: '', inputSchema: {} },
];

describe('a search in 200 tools', () => {
  let search: ToolSearch;

  beforeEach(() => {
    search = new ToolSearch(TOOLS);
  });

  async function found(query: string): Promise<string[]> {
    const { content } = await search.tool.run({ query }, {} as ToolContext);
    return Array.from(content.matchAll(/^- (\w+): /gm), ([, name = '']) => name);
  }

  const given = (): string[] => search.given(DEFINITIONS).map(({ name }) => name);

  it.each(WANTED_TOOLS)('by %j finds %s first', async (query, tool) => {
    const names = await found(query);
    expect(names[0]).toBe(tool);
    expect(names.length).toBeLessThanOrEqual(10);
    expect(await found(query)).toEqual(names);
  });

  it('gives the model built-in tools, the search and what it has found', async () => {
    expect(TOOLS).toHaveLength(200);
    expect(ToolSearch.isNeeded(DEFINITIONS)).toBe(true);
    expect(ToolSearch.isNeeded(DEFINITIONS.slice(0, 40))).toBe(false);
    expect(given()).toEqual(['calculate', FIND_TOOLS]);
    const names = await found('voucher');
    expect(names).toHaveLength(5);
    expect(given()).toEqual(['calculate', ...names, FIND_TOOLS]);
    for (const query of [
      'contact',
      'asset',
      'order',
      'printer',
      'deal',
      'survey',
      'lead',
      'ticket',
      'partner',
    ]) {
      await found(`${query} number`);
    }
    expect(given().length).toBeLessThanOrEqual(42);
    expect(given()).toContain('get_partner');
    expect(given()).not.toContain('get_voucher');
  });

  it('says which servers there are, and what to do when nothing fits', async () => {
    expect(search.tool.description).toContain('65 of crm, 65 of shop, 70 of helpdesk');
    const { content } = await search.tool.run({ query: 'Wetter "heute"' }, {} as ToolContext);
    expect(content).toMatch(/^No tool has a word of .*Try other words/);
    expect(given()).toEqual(['calculate', FIND_TOOLS]);
  });

  it('reads titles, and words of scripts without spaces', async () => {
    const [tool, ...others] = TOOLS;
    if (!tool) throw new Error('There are no tools.');
    search = new ToolSearch([{ ...tool, title: '创建发票' }, ...others]);
    expect(await found('发票')).toEqual([tool.name]);
  });

  it('finds again what a conversation has found and called', async () => {
    const call = (name: string, input: Record<string, unknown>) => ({
      id: name,
      name,
      arguments: JSON.stringify(input),
      input,
    });
    search.restore([
      { role: 'user', content: 'A voucher' },
      {
        role: 'assistant',
        content: '',
        toolCalls: [call(FIND_TOOLS, { query: 'create voucher' }), call(FIND_TOOLS, {})],
      },
      { role: 'assistant', content: '', toolCalls: [call('get_asset', {}), call('calculate', {})] },
    ]);
    expect(given()).toEqual(expect.arrayContaining(['create_voucher', 'get_asset']));
    expect(given()).not.toContain('update_asset');
  });
});

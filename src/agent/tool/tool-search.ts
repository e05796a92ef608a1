import { z } from 'zod';
import type { ChatMessage, ToolDefinition } from '../../provider/index.js';
import type { AgentTool } from './agent-tool.js';
import { shownName } from './bases.js';

/** Tools that a model is given; where there are more, it searches those of tool servers. */
const MAX_GIVEN_TOOLS = 40;
/** Tools that one search adds. */
const MAX_FOUND_COUNT = 10;
const MAX_DESCRIPTION_CHARS = 200;
/** A word matches others that begin with it from this length on, such as their plural. */
const MIN_PREFIX_CHARS = 4;
const NAME_WEIGHT = 3;
const EXACT_WEIGHT = 2;

export const FIND_TOOLS = 'find_tools';

const input = z.strictObject({
  query: z
    .string()
    .min(1)
    .max(500)
    .describe('What is to be done, in a few words of the language of the tools: create invoice.'),
});

/** The words of a tool. */
interface SearchedTool {
  readonly tool: AgentTool;
  /** Words of its name and title. */
  readonly names: ReadonlySet<string>;
  readonly words: ReadonlySet<string>;
}

/**
 * The tools of a turn that has too many for the model's context: it is given the built-in ones, `find_tools` and the tools that
 * this has found. The search compares words; the same query always finds the same tools.
 */
export class ToolSearch {
  readonly tool: AgentTool<z.infer<typeof input>>;
  private readonly searched: readonly SearchedTool[];
  /** Names of the given tools, the one found last at the end. */
  private readonly found = new Set<string>();

  constructor(tools: readonly AgentTool[]) {
    this.searched = tools.map((tool) => {
      const names = wordsOf(`${tool.name} ${tool.title ?? ''}`);
      return { tool, names, words: new Set([...names, ...wordsOf(tool.description)]) };
    });
    this.tool = {
      name: FIND_TOOLS,
      description: `Finds tools of tool servers by keywords. There are ${tools.length} besides those that you have: ${serversOf(tools)}. What is found can be called from the next step on. Search before you say that something cannot be done.`,
      input,
      schema: z.toJSONSchema(input),
      run: ({ query }) => Promise.resolve(this.run(query)),
    };
  }

  /** Whether the tools are too many to be given at once. */
  static isNeeded(definitions: readonly ToolDefinition[]): boolean {
    return definitions.length > MAX_GIVEN_TOOLS;
  }

  /** The definitions without those of tools that were not found. */
  given(definitions: readonly ToolDefinition[]): ToolDefinition[] {
    const hidden = new Set(this.searched.map(({ tool }) => tool.name));
    return definitions.filter(({ name }) => !hidden.has(name) || this.found.has(name));
  }

  /** Finds again what the conversation has found and called before. */
  restore(messages: readonly ChatMessage[]): void {
    for (const message of messages) {
      if (message.role !== 'assistant') continue;
      for (const call of message.toolCalls ?? []) {
        const query =
          call.name === FIND_TOOLS ? input.safeParse(call.input).data?.query : undefined;
        if (query !== undefined) this.run(query);
        else if (this.searched.some(({ tool }) => tool.name === call.name)) this.give(call.name);
      }
    }
  }

  private run(query: string): { readonly content: string; readonly summary: string } {
    const tools = this.find(query);
    // The best one is given last, so that it stays longest.
    for (const { name } of tools.toReversed()) this.give(name);
    if (tools.length === 0) {
      return {
        content: `No tool has a word of "${shownName(query)}". Try other words, or answer without a tool.`,
        summary: `no tool for "${shownName(query)}"`,
      };
    }
    const lines = tools.map(({ name, description }) => `- ${name}: ${shortened(description)}`);
    return {
      content: ['These tools can be called now, the best match first:', ...lines].join('\n'),
      summary: `found ${tools.map(({ name }) => name).join(', ')}`,
    };
  }

  private give(name: string): void {
    this.found.delete(name);
    this.found.add(name);
    const [oldest] = this.found;
    if (oldest !== undefined && this.found.size > MAX_GIVEN_TOOLS) this.found.delete(oldest);
  }

  /** Words count more the fewer tools have them, in names more than in descriptions, and whole more than as a beginning. */
  private find(query: string): AgentTool[] {
    const weights = [...wordsOf(query)].map((word) => {
      const matches = this.searched.map((one) => weightOf(word, one));
      const count = matches.filter((weight) => weight > 0).length;
      const rarity = Math.log(1 + this.searched.length / Math.max(1, count));
      return matches.map((weight) => weight * rarity);
    });
    return this.searched
      .map(({ tool }, place) => ({
        tool,
        weight: weights.reduce((sum, ofWord) => sum + (ofWord[place] ?? 0), 0),
      }))
      .filter(({ weight }) => weight > 0)
      .sort((one, other) => other.weight - one.weight)
      .slice(0, MAX_FOUND_COUNT)
      .map(({ tool }) => tool);
  }
}

function weightOf(word: string, { names, words }: SearchedTool): number {
  const inNames = matchIn(word, names) * NAME_WEIGHT;
  return inNames > 0 ? inNames : matchIn(word, words);
}

function matchIn(word: string, words: ReadonlySet<string>): number {
  if (words.has(word)) return EXACT_WEIGHT;
  const isBeginning = (short: string, long: string): boolean =>
    short.length >= MIN_PREFIX_CHARS && long.startsWith(short);
  const isMatch = [...words].some((one) => isBeginning(word, one) || isBeginning(one, word));
  return isMatch ? 1 : 0;
}

const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/** The words in lower case: names like createInvoice and create_invoice are two. */
function wordsOf(text: string): Set<string> {
  const spaced = text
    .normalize('NFKC')
    .replaceAll(/(\p{Ll}|\p{N})(\p{Lu})/gu, '$1 $2')
    .replaceAll(/[_.]/g, ' ')
    .toLowerCase();
  const words = Array.from(segmenter.segment(spaced)).filter(({ isWordLike }) => isWordLike);
  return new Set(words.map(({ segment }) => segment));
}

function serversOf(tools: readonly AgentTool[]): string {
  const counts = new Map<string, number>();
  for (const { serverName = '' } of tools) {
    counts.set(serverName, (counts.get(serverName) ?? 0) + 1);
  }
  return Array.from(counts, ([name, count]) => `${count} of ${shownName(name)}`).join(', ');
}

function shortened(description: string): string {
  const line = description.replaceAll(/\s+/g, ' ').trim();
  return line.length > MAX_DESCRIPTION_CHARS
    ? `${line.slice(0, MAX_DESCRIPTION_CHARS).toWellFormed()}…`
    : line;
}

import { describe, expect, it } from '@jest/globals';
import { inlineEnding, listedContent } from './chat.frames.js';
import type { ChatMessage, StoredSource } from './message.entity.js';
import { literal } from '../platform/message/index.js';

const ALL = { thinking: true, sources: true, failures: true };

const source = (number: number, fields: Partial<StoredSource> = {}): StoredSource => ({
  number,
  cited: false,
  knowledgeId: 1,
  docId: 'doc',
  fid: `fid-${number}`,
  document: `file-${number}.pdf`,
  page: null,
  headings: null,
  location: null,
  score: 0.5,
  ...fields,
});

const answer = {
  role: 'assistant',
  content: 'Two years.',
  reasoning: null,
  state: 'complete',
  finishReason: 'stop',
  error: null,
  sources: null,
} as ChatMessage;

describe('the end of an answer', () => {
  it('names the cited sources with their places', () => {
    const sources = [
      source(1, { cited: true, page: 3 }),
      source(2),
      source(3, { cited: true, location: 'lines 1-4', document: 'a\n  b.txt' }),
    ];
    expect(inlineEnding({ ...answer, sources }, ALL)).toBe(
      '\n\nSources:\n- [1] file-1.pdf, page 3\n- [3] a b.txt, lines 1-4',
    );
  });

  it('names all sources of an answer that cites none', () => {
    expect(inlineEnding({ ...answer, sources: [source(1), source(2)] }, ALL)).toBe(
      '\n\nSources:\n- [1] file-1.pdf\n- [2] file-2.pdf',
    );
  });

  it.each([
    ['an answer that was stopped', { state: 'stopped' as const }],
    ['one that failed', { state: 'failed' as const }],
    ['an empty one', { content: '' }],
  ])('has no sources for %s', (_, fields) => {
    expect(inlineEnding({ ...answer, sources: [source(1)], ...fields }, ALL)).toBe('');
  });

  it('has only what the client asks for', () => {
    const cut = { ...answer, sources: [source(1)], finishReason: 'length' };
    const nothing = { thinking: false, sources: false, failures: false };
    expect(inlineEnding(cut, nothing)).toBe('');
    expect(inlineEnding(cut, { ...nothing, sources: true })).toMatch(/^\n\nSources:/);
    expect(inlineEnding(cut, { ...nothing, failures: true })).toMatch(/^\n\nThe answer was cut/);
    expect(inlineEnding(cut, ALL)).toMatch(/cut at the length limit.*\n\nSources:/s);
  });
});

describe('the text in a list', () => {
  it('has thinking text that cannot end its block', () => {
    const reasoning = 'Is it </think> or <THINK>?';
    expect(listedContent({ ...answer, reasoning }, ALL)).toBe(
      '<think>Is it &lt;/think> or &lt;THINK>?</think>Two years.',
    );
  });

  it('leaves questions as they are', () => {
    const question = {
      ...answer,
      role: 'user',
      state: 'failed',
      error: literal('E'),
    } as ChatMessage;
    expect(listedContent(question, ALL)).toBe('Two years.');
  });
});

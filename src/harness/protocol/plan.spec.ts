import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { planHash, planMarkdown } from './policy.js';
import type { Plan } from './policy.js';
import { planData, proposalEvents } from '../store/event.catalogue.js';
import { canonicalJson } from '../../effect/index.js';

const content = {
  summary: 'Fix add()',
  steps: [
    { id: 's1', text: 'Change the sign', status: 'PENDING' },
    { id: 's2', text: 'Run it', status: 'PENDING' },
  ],
  files: ['src/add.js'],
  risks: ['None is known'],
} as const;
const plan: Plan = {
  taskId: '0197f9e2-6c1a-7b58-9d3f-2c8e5a1b4d70',
  revision: 2,
  ...content,
  canonicalHash: planHash(content),
  reviewState: 'AWAITING_APPROVAL',
};

describe('the hash of a plan', () => {
  it('binds summary, step texts, files and risks, in their order', () => {
    const others = [
      { ...plan, summary: 'Fix sub()' },
      { ...plan, steps: plan.steps.toReversed() },
      { ...plan, steps: plan.steps.slice(1) },
      { ...plan, files: [...plan.files, '.env'] },
      { ...plan, risks: [] },
      { ...plan, files: [], risks: [...plan.files, ...plan.risks] },
    ];
    const hashes = [plan, ...others].map(planHash);
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(planHash(plan)).toMatch(/^[\da-f]{64}$/);
  });

  it('is the same whatever the progress', () => {
    const steps = [
      ...plan.steps.map((step) => ({ ...step, status: 'DONE' as const })),
      { id: 's3', text: 'Look again', status: 'PENDING' as const, added: true as const },
    ];
    expect(planHash({ ...plan, steps, revision: 9 } as Plan)).toBe(planHash(plan));
  });
});

describe('canonical JSON', () => {
  it('is one text for equal values, and another for others', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        const shuffled: unknown = JSON.parse(JSON.stringify(one), reversed);
        expect(canonicalJson(shuffled)).toBe(canonicalJson(one));
        expect(JSON.parse(canonicalJson(one))).toEqual(JSON.parse(JSON.stringify(one)));
        if (canonicalJson(one) === canonicalJson(other)) expect(one).toEqual(other);
      }),
    );
  });

  function reversed(_: string, value: unknown): unknown {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).reverse());
  }
});

describe('the Markdown of a plan', () => {
  it('shows everything that is approved', () => {
    expect(planMarkdown(plan)).toBe(`# Plan, version 2

Fix add()

## Steps

1. Change the sign
2. Run it

## Files that may be created and edited

- src/add.js

## Risks

- None is known`);
  });

  it.each([
    ['a heading', 'x\n# Approved\n', 'x \\# Approved'],
    ['a list', 'x\n- y\n2. z', 'x - y 2. z'],
    ['its own number', '7. x', '7\\. x'],
    ['an image', '![a](http://e.vil/?q)', '!\\[a\\](http\\://e.vil/?q)'],
    ['HTML', '<img src=x onerror="y">', '\\<img src=x onerror="y">'],
    ['an entity', '&lt;', '\\&lt;'],
    ['a bare address', 'see www.evil.example', 'see www\\.evil.example'],
    ['code', '```\nrm\n```', '\\`\\`\\` rm \\`\\`\\`'],
    ['a list of its own', '- y', '\\- y'],
    ['a quotation', '> y', '\\> y'],
    ['emphasis', '_x_ and a_b', '\\_x\\_ and a_b'],
    ['a small picture', ':+1: a: b', '\\:+1: a: b'],
    ['a line below a heading', '=== --', '\\=== --'],
    ['a table', '| a | b |', '\\| a \\| b \\|'],
    ['a backslash', '\\*x\\*', '\\\\\\*x\\\\\\*'],
    ['text turned round', 'a\u202eb', 'a⟨U+202E⟩b'],
    ['hidden text', 'a\u200bb\u{e0041}', 'a⟨U+200B⟩b⟨U+E0041⟩'],
    ['a mark of the server', 'a ⏎ b⟨U+202E⟩', 'a ⟨U+23CE⟩ b⟨U+27E8⟩U+202E⟩'],
    ['a control character', 'a\u001b[31m', 'a⟨U+001B⟩\\[31m'],
    ['a line of its own kind', 'a\u2028# b\u0085c', 'a \\# b⟨U+0085⟩c'],
  ])('means %s literally', (_, text, shown) => {
    const markdown = planMarkdown({ ...plan, summary: text });
    expect(markdown.split('\n')[2]).toBe(shown);
  });

  it('keeps its shape whatever the model says', () => {
    const anyText = fc.string({ unit: 'binary', minLength: 1 });
    const odd = fc.oneof(
      anyText,
      fc.constantFrom('# x', '\n\n## Risks', '---', '===', '> q', '1) x'),
    );
    fc.assert(
      fc.property(odd, fc.array(odd, { minLength: 1, maxLength: 4 }), (summary, texts) => {
        const lines = planMarkdown({
          ...plan,
          summary,
          steps: texts.map((text, at) => ({ id: `s${at}`, text, status: 'PENDING' })),
          files: texts,
          risks: texts,
        }).split('\n');
        expect(lines.filter((line) => line.startsWith('#'))).toEqual([
          '# Plan, version 2',
          '## Steps',
          '## Files that may be created and edited',
          '## Risks',
        ]);
        expect(lines.filter((line) => /^\d+\. /.test(line))).toHaveLength(texts.length);
        expect(lines.filter((line) => line.startsWith('- '))).toHaveLength(2 * texts.length);
        expect(lines.join('').replaceAll(/\\./g, '')).not.toMatch(/[<[\]`*|~\\]/);
      }),
    );
  });
});

describe('the events of a submitted plan', () => {
  it('ask for its review, with everything that the review needs', () => {
    const { taskId, canonicalHash } = plan;
    expect(proposalEvents(plan)).toEqual([
      { type: 'plan.created', data: planData(plan) },
      {
        type: 'plan.awaiting_approval',
        data: {
          taskId,
          planMarkdown: planMarkdown(plan),
          canonicalHash,
          expectedRevision: 2,
          reviewState: 'AWAITING_APPROVAL',
        },
      },
    ]);
  });

  it('say that nobody reviews it', () => {
    const { taskId, canonicalHash: hash } = plan;
    expect(proposalEvents({ ...plan, reviewState: 'APPROVED' })).toEqual([
      { type: 'plan.created', data: planData(plan) },
      { type: 'plan.approved', data: { taskId, revision: 2, hash } },
    ]);
  });
});

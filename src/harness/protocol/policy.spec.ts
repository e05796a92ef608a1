import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { decidePolicy, planApprovalNeeded } from './policy.js';
import type { FileSubject, PolicyDecision, PolicyFacts, PolicySubject } from './policy.js';

const PLAIN: FileSubject = {
  path: 'src/a.ts',
  protection: 'NONE',
  secret: false,
  destructive: false,
  planned: false,
  granted: false,
};

function files(...over: Partial<FileSubject>[]): PolicySubject {
  return { kind: 'files', files: over.map((one) => ({ ...PLAIN, ...one })) };
}

const FACTS = {
  'READ_ONLY ON_REQUEST': { permissionMode: 'READ_ONLY', approvalPolicy: 'ON_REQUEST' },
  'READ_ONLY NEVER': { permissionMode: 'READ_ONLY', approvalPolicy: 'NEVER' },
  'WORKSPACE_WRITE ON_REQUEST': { permissionMode: 'WORKSPACE_WRITE', approvalPolicy: 'ON_REQUEST' },
  'WORKSPACE_WRITE NEVER': { permissionMode: 'WORKSPACE_WRITE', approvalPolicy: 'NEVER' },
  'FULL_ACCESS ON_REQUEST': { permissionMode: 'FULL_ACCESS', approvalPolicy: 'ON_REQUEST' },
  'FULL_ACCESS NEVER': { permissionMode: 'FULL_ACCESS', approvalPolicy: 'NEVER' },
} as const satisfies Record<string, PolicyFacts>;

const SUBJECTS = {
  read: { kind: 'read', secret: false },
  'read of a secret path': { kind: 'read', secret: true },
  'file of the plan': files({ planned: true }),
  'other file': files({}),
  'other file, granted': files({ granted: true }),
  'delete, move, overwrite unread': files({ destructive: true }),
  'the same, planned': files({ destructive: true, planned: true }),
  'the same, granted': files({ destructive: true, granted: true }),
  'protected path': files({ protection: 'PROTECTED' }),
  'protected path, planned and granted': files({
    protection: 'PROTECTED',
    planned: true,
    granted: true,
  }),
  'protected path, destructive': files({ protection: 'PROTECTED', destructive: true }),
  '.git': files({ protection: 'GIT', planned: true, granted: true }),
  'secret path': files({ secret: true }),
  'secret path, planned and granted': files({ secret: true, planned: true, granted: true }),
  shell: { kind: 'shell', granted: false },
  'shell, granted': { kind: 'shell', granted: true },
} as const satisfies Record<string, PolicySubject>;

/**
 * Every cell of "Who may do what", as it stands there. `+` allow, `ask` ask each time, `grant` ask with the choice to
 * grant it for the session, else why it is denied. Columns: see COLUMNS.
 */
const COLUMNS = Object.keys(FACTS) as (keyof typeof FACTS)[];
const MATRIX: Record<keyof typeof SUBJECTS, readonly string[]> = {
  read: ['+', '+', '+', '+', '+', '+'],
  'read of a secret path': [
    'SECRET_PATH',
    'SECRET_PATH',
    'ask',
    'SECRET_PATH',
    'ask',
    'SECRET_PATH',
  ],
  'file of the plan': ['TOOL_NOT_OFFERED', 'TOOL_NOT_OFFERED', '+', '+', '+', '+'],
  'other file': ['TOOL_NOT_OFFERED', 'TOOL_NOT_OFFERED', 'grant', '+', '+', '+'],
  'other file, granted': ['TOOL_NOT_OFFERED', 'TOOL_NOT_OFFERED', '+', '+', '+', '+'],
  'delete, move, overwrite unread': [
    'TOOL_NOT_OFFERED',
    'TOOL_NOT_OFFERED',
    'ask',
    'DENIED',
    'ask',
    '+',
  ],
  'the same, planned': ['TOOL_NOT_OFFERED', 'TOOL_NOT_OFFERED', 'ask', 'DENIED', 'ask', '+'],
  'the same, granted': ['TOOL_NOT_OFFERED', 'TOOL_NOT_OFFERED', 'ask', 'DENIED', 'ask', '+'],
  'protected path': [
    'TOOL_NOT_OFFERED',
    'TOOL_NOT_OFFERED',
    'ask',
    'PROTECTED_PATH',
    'ask',
    'PROTECTED_PATH',
  ],
  'protected path, planned and granted': [
    'TOOL_NOT_OFFERED',
    'TOOL_NOT_OFFERED',
    'ask',
    'PROTECTED_PATH',
    'ask',
    'PROTECTED_PATH',
  ],
  'protected path, destructive': [
    'TOOL_NOT_OFFERED',
    'TOOL_NOT_OFFERED',
    'ask',
    'PROTECTED_PATH',
    'ask',
    'PROTECTED_PATH',
  ],
  '.git': [
    'TOOL_NOT_OFFERED',
    'TOOL_NOT_OFFERED',
    'PROTECTED_PATH',
    'PROTECTED_PATH',
    'PROTECTED_PATH',
    'PROTECTED_PATH',
  ],
  'secret path': [
    'TOOL_NOT_OFFERED',
    'TOOL_NOT_OFFERED',
    'ask',
    'PROTECTED_PATH',
    'ask',
    'PROTECTED_PATH',
  ],
  'secret path, planned and granted': [
    'TOOL_NOT_OFFERED',
    'TOOL_NOT_OFFERED',
    'ask',
    'PROTECTED_PATH',
    'ask',
    'PROTECTED_PATH',
  ],
  shell: ['TOOL_NOT_OFFERED', 'TOOL_NOT_OFFERED', 'grant', 'DENIED', '+', '+'],
  'shell, granted': ['TOOL_NOT_OFFERED', 'TOOL_NOT_OFFERED', '+', 'DENIED', '+', '+'],
};
const CELLS = Object.entries(MATRIX).flatMap(([subject, row]) =>
  COLUMNS.map((facts, column) => ({
    subject: subject as keyof typeof SUBJECTS,
    facts,
    expected: row[column] ?? 'missing',
  })),
);

function said(decision: PolicyDecision): string {
  if (decision.verdict === 'allow') return '+';
  if (decision.verdict === 'deny') return decision.code;
  return decision.grantable ? 'grant' : 'ask';
}

describe('who may do what', () => {
  it.each(CELLS)('$facts: $subject is $expected', ({ subject, facts, expected }) => {
    expect(said(decidePolicy(FACTS[facts], SUBJECTS[subject]))).toBe(expected);
  });

  it.each([
    ['READ_ONLY ON_REQUEST', false],
    ['READ_ONLY NEVER', false],
    ['WORKSPACE_WRITE ON_REQUEST', true],
    ['WORKSPACE_WRITE NEVER', false],
    ['FULL_ACCESS ON_REQUEST', true],
    ['FULL_ACCESS NEVER', false],
  ] as const)('%s: a person reviews the plan: %s', (facts, reviewed) => {
    const policy = { planPolicy: 'ALWAYS', planFiles: 0, plan: null } as const;
    expect(planApprovalNeeded({ ...FACTS[facts], ...policy }, 0)).toBe(reviewed);
  });

  it.each([
    ['ALWAYS', 0, null, true],
    ['ABOVE_FILES', 2, null, false],
    ['ABOVE_FILES', 3, null, true],
    ['NEVER', 200, null, false],
    ['NEVER', 0, 'REVISION_REQUESTED', true],
    ['ABOVE_FILES', 0, 'REVISION_REQUESTED', true],
  ] as const)(
    '%s, a plan of %s files, before it %s: reviewed %s',
    (planPolicy, files, before, reviewed) => {
      const facts = {
        ...FACTS['WORKSPACE_WRITE ON_REQUEST'],
        ...{ planPolicy, planFiles: 2, plan: before && { reviewState: before } },
      };
      expect(planApprovalNeeded(facts, files)).toBe(reviewed);
      const silent = { ...facts, approvalPolicy: 'NEVER' } as const;
      expect(planApprovalNeeded(silent, files)).toBe(false);
    },
  );
});

const anyFacts = fc.constantFrom<PolicyFacts>(...Object.values(FACTS));
const anyFile: fc.Arbitrary<FileSubject> = fc.record({
  path: fc.constantFrom('src/a.ts', '.env', '.git/config', '.vscode/settings.json'),
  protection: fc.constantFrom('NONE', 'PROTECTED', 'GIT'),
  secret: fc.boolean(),
  destructive: fc.boolean(),
  planned: fc.boolean(),
  granted: fc.boolean(),
});
const anySubject: fc.Arbitrary<PolicySubject> = fc.oneof(
  fc.record({ kind: fc.constant('read' as const), secret: fc.boolean() }),
  fc.record({ kind: fc.constant('shell' as const), granted: fc.boolean() }),
  fc.record({ kind: fc.constant('files' as const), files: fc.array(anyFile, { maxLength: 5 }) }),
);
/** The laxest first. */
const ORDER = ['+', 'grant', 'ask'];

function strictness(decision: PolicyDecision): number {
  const at = ORDER.indexOf(said(decision));
  return at === -1 ? ORDER.length : at;
}

describe('the policy', () => {
  it('is in READ_ONLY never wider than in any other mode, and changes nothing there', () => {
    fc.assert(
      fc.property(anyFacts, anySubject, (facts, subject) => {
        const readOnly = decidePolicy({ ...facts, permissionMode: 'READ_ONLY' }, subject);
        expect(strictness(readOnly)).toBeGreaterThanOrEqual(
          strictness(decidePolicy(facts, subject)),
        );
        const changes = subject.kind === 'files' || subject.kind === 'shell';
        expect(readOnly.verdict).toBe(changes ? 'deny' : readOnly.verdict);
        expect(readOnly.verdict).not.toBe('ask');
      }),
    );
  });

  it('never asks anybody under NEVER', () => {
    fc.assert(
      fc.property(anyFacts, anySubject, (facts, subject) => {
        const decision = decidePolicy({ ...facts, approvalPolicy: 'NEVER' }, subject);
        expect(decision.verdict).not.toBe('ask');
      }),
    );
  });

  it('treats a call as its strictest file: one more never makes it laxer', () => {
    fc.assert(
      fc.property(anyFacts, fc.array(anyFile, { minLength: 1, maxLength: 5 }), (facts, all) => {
        const alone = all.map((file) => decidePolicy(facts, files(file)));
        const together = decidePolicy(facts, files(...all));
        expect(strictness(together)).toBe(Math.max(...alone.map(strictness)));
      }),
    );
  });

  it('never lets a grant or a plan reach what is destructive, protected or secret', () => {
    fc.assert(
      fc.property(anyFacts, anyFile, (facts, file) => {
        fc.pre(file.destructive || file.secret || file.protection !== 'NONE');
        const bare = decidePolicy(facts, files({ ...file, planned: false, granted: false }));
        expect(decidePolicy(facts, files(file))).toEqual(bare);
        expect(said(bare)).not.toBe('grant');
      }),
    );
  });

  it('says to the model which path is refused', () => {
    const decision = decidePolicy(
      FACTS['FULL_ACCESS NEVER'],
      files({}, { path: '.git/hooks/pre-commit', protection: 'GIT' }),
    );
    expect(decision).toMatchObject({ verdict: 'deny', code: 'PROTECTED_PATH' });
    expect(JSON.stringify(decision)).toContain('.git/hooks/pre-commit');
  });
});

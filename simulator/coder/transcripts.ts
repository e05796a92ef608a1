import type { JsonObject } from '../http/json.js';

export interface Call {
  readonly name: string;
  readonly arguments: JsonObject;
}

/** Answer of the coder: a sentence and its tool calls. */
export interface Move {
  readonly say: string;
  readonly calls: readonly Call[];
}

/** A recorded run in the demo's repository (src/demo/demo.workspace.ts). */
export interface Transcript {
  readonly requirement: string;
  /** Requirements that this run answers. */
  readonly pattern: RegExp;
  readonly moves: readonly Move[];
  readonly report: string;
  /** Sentence that the report quotes. */
  readonly quote?: { readonly path: string; readonly text: string };
}

/** Exact replacement, as edit_file takes it. */
export interface Edit extends JsonObject {
  readonly oldText: string;
  readonly newText: string;
  readonly replaceAll?: boolean;
}

const SOURCE = 'src/basket.js';
const TEST = 'test/basket.test.js';
export const CHECK_STEP = 'Run the tests, where a shell is offered';

const INVESTIGATION: readonly Move[] = [
  {
    say: 'First I look up how to go about this.',
    calls: [
      { name: 'activate_skill', arguments: { name: 'repository-investigation' } },
      { name: 'activate_skill', arguments: { name: 'project-conventions' } },
    ],
  },
  { say: 'I list the files.', calls: [{ name: 'list_files', arguments: { path: '.' } }] },
  reading('README.md', SOURCE, TEST),
];
const CHECK: Move = {
  say: 'I run the tests.',
  calls: [{ name: 'shell', arguments: { command: 'node --test' } }],
};
/** The player adds the steps of the plan with their states. */
const PROGRESS: Move = {
  say: 'The plan is carried out.',
  calls: [{ name: 'plan_step', arguments: {} }],
};

const FIX: Transcript = {
  requirement: 'Fix the failing test.',
  pattern: /\b(?:fix|repair|correct)\b[^]*\b(?:tests?|bug|mistake)\b|修复|修正/i,
  moves: [
    ...INVESTIGATION,
    planning('Give the discount from ten pieces on, as README.md says.', {
      [SOURCE]: 'compare with >=, because “Ten pieces or more of one kind cost 5 percent less.”',
    }),
    editing(SOURCE, {
      oldText: 'quantity > MANY_PIECES',
      newText: 'quantity >= MANY_PIECES',
    }),
    CHECK,
    PROGRESS,
  ],
  report:
    '`lineTotal` in src/basket.js left out the boundary: README.md promises the discount from ten pieces on, and the code gave it from eleven.\n\n```diff\n- quantity > MANY_PIECES\n+ quantity >= MANY_PIECES\n```',
};

const ADD: Transcript = {
  requirement: 'Add a function `countPieces` that counts the pieces of a basket.',
  pattern: /\badd\b[^]*\bcountPieces\b/i,
  moves: [
    ...INVESTIGATION,
    planning('Add `countPieces` with a test.', {
      [SOURCE]: 'add the function',
      [TEST]: 'add a test of the function',
    }),
    editing(SOURCE, {
      oldText: '  return sum === 0 || sum >= FREE_SHIPPING_FROM ? 0 : SHIPPING;\n}',
      newText: `  return sum === 0 || sum >= FREE_SHIPPING_FROM ? 0 : SHIPPING;
}

/** Number of pieces in all lines. */
export function countPieces(lines) {
  return lines.reduce((count, { quantity }) => count + quantity, 0);
}`,
    }),
    editing(
      TEST,
      {
        oldText: 'import { lineTotal, shipping, total }',
        newText: 'import { countPieces, lineTotal, shipping, total }',
      },
      {
        oldText: '  assert.equal(shipping([{ price: 5000, quantity: 1 }]), 0);\n});',
        newText: `  assert.equal(shipping([{ price: 5000, quantity: 1 }]), 0);
});

test('countPieces', () => {
  const lines = [
    { price: 250, quantity: 2 },
    { price: 100, quantity: 3 },
  ];
  assert.equal(countPieces(lines), 5);
});`,
      },
    ),
    CHECK,
    PROGRESS,
  ],
  report:
    '`countPieces` in src/basket.js adds up the quantities of all lines; test/basket.test.js tests it.',
};

const RENAME: Transcript = {
  requirement: 'Rename countPieces to pieceCount.',
  pattern: /\brename\b[^]*\bcountPieces\b[^]*\bpieceCount\b/i,
  moves: [
    ...INVESTIGATION,
    planning('Rename `countPieces` to `pieceCount`.', {
      [SOURCE]: 'rename the function',
      [TEST]: 'use the new name',
    }),
    ...[SOURCE, TEST].map((path) =>
      editing(path, { oldText: 'countPieces', newText: 'pieceCount', replaceAll: true }),
    ),
    CHECK,
    PROGRESS,
  ],
  report: '`countPieces` is now called `pieceCount`, in src/basket.js and in its test.',
};

const RUN_TESTS: Transcript = {
  requirement: 'Run the tests.',
  pattern: /^\W*(?:please\s+)?(?:run|execute)\b.*\btests?\b/i,
  moves: [...INVESTIGATION, planning('Run the tests; no file is changed.', {}), CHECK, PROGRESS],
  report: 'I have changed nothing.',
};

const EXPLAIN: Transcript = {
  requirement: 'What does shipping cost, and when is it free?',
  pattern: /\bshipping\b/i,
  moves: INVESTIGATION,
  report:
    'README.md says:\n\n> Shipping is 490 cents, and free for baskets of at least 5000 cents.\n\n`shipping` in src/basket.js does that: it takes the total after discounts, and answers 0 for an empty basket, too.',
  quote: {
    path: 'README.md',
    text: 'Shipping is 490 cents, and free for baskets of at least 5000 cents.',
  },
};

/** The first whose pattern matches is played. */
export const TRANSCRIPTS: readonly Transcript[] = [RENAME, ADD, FIX, RUN_TESTS, EXPLAIN];

function reading(...paths: string[]): Move {
  const calls = paths.map((path) => ({ name: 'read_file', arguments: { path } }));
  return { say: `I read ${paths.join(', ')}.`, calls };
}

function planning(summary: string, changes: Readonly<Record<string, string>>): Move {
  const texts = Object.entries(changes).map(([path, change]) => `Change ${path}: ${change}`);
  const steps = [...texts, CHECK_STEP].map((text) => ({ text }));
  const plan = { summary, steps, files: Object.keys(changes), risks: [] };
  return { say: 'I submit a plan.', calls: [{ name: 'plan_create', arguments: plan }] };
}

function editing(path: string, ...edits: Edit[]): Move {
  return { say: `I change ${path}.`, calls: [{ name: 'edit_file', arguments: { path, edits } }] };
}

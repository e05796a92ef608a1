import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Config } from '../platform/config/index.js';

/** The folder of the demo’s repository below the tenant’s workspaces. */
const DEMO_WORKSPACE = 'example';

/** The folder for the workspaces of the tenant; undefined where the operator has set up none for it. */
export function demoRoot(config: Config, tenantId: string): string | undefined {
  const { embedded, HARNESS_ROOTS: roots } = config;
  if (embedded && roots.length === 0) return defaultRoot(config, tenantId);
  return roots.find((root) => root.tenantId === tenantId)?.path;
}

/** Workspace folder of the tenant in the embedded set-up. */
export function defaultRoot({ DATA_DIR }: Config, tenantId: string): string {
  return join(DATA_DIR, 'workspaces', tenantId);
}

/**
 * Creates the demo repository in the folder, which must exist. An existing repository is not changed. Atomic: the repository
 * appears completely or not at all.
 */
export async function writeDemoWorkspace(root: string): Promise<void> {
  const unfinished = await mkdtemp(join(root, '.demo-'));
  try {
    for (const { path, text } of demoWorkspaceFiles) {
      const file = join(unfinished, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
    await rename(unfinished, join(root, DEMO_WORKSPACE));
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    if (!isTaken(error)) throw error;
  }
}

/** A rename does not replace a folder that is not empty. */
function isTaken(error: unknown): boolean {
  const { code = '' } = error as NodeJS.ErrnoException;
  return ['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(code);
}

/** The repository in which the demo’s coder works: small enough to read, with one mistake that a test finds. */
const demoWorkspaceFiles: readonly { readonly path: string; readonly text: string }[] = [
  {
    path: 'README.md',
    text: `# Basket

A price calculator in two files, without dependencies. Prices are whole cents.

- Ten pieces or more of one kind cost 5 percent less.
- Shipping is 490 cents, and free for baskets of at least 5000 cents.

Run the tests with: node --test
`,
  },
  {
    path: 'AGENTS.md',
    text: `# For agents

- Plain JavaScript modules, no dependencies, two spaces.
- A function has one line of comment above it that says what it answers.
- Whatever is changed in src has a test in test.
- The check is: node --test
`,
  },
  {
    path: 'package.json',
    text: `{
  "name": "basket",
  "private": true,
  "type": "module",
  "scripts": { "test": "node --test" }
}
`,
  },
  {
    path: 'src/basket.js',
    text: `const MANY_PIECES = 10;
const FREE_SHIPPING_FROM = 5000;
const SHIPPING = 490;

/** Price of one line in cents; many pieces of one kind are cheaper. */
export function lineTotal({ price, quantity }) {
  const full = price * quantity;
  return quantity > MANY_PIECES ? Math.round(full * 0.95) : full;
}

/** Sum of all lines in cents, without shipping. */
export function total(lines) {
  return lines.reduce((sum, line) => sum + lineTotal(line), 0);
}

/** Cost of sending the basket in cents; 0 for an empty one. */
export function shipping(lines) {
  const sum = total(lines);
  return sum === 0 || sum >= FREE_SHIPPING_FROM ? 0 : SHIPPING;
}
`,
  },
  {
    path: 'src/format.js',
    text: `/** Cents as a text such as 12.34. */
export function formatCents(cents) {
  return (cents / 100).toFixed(2);
}
`,
  },
  {
    path: 'test/basket.test.js',
    text: `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineTotal, shipping, total } from '../src/basket.js';

test('nine pieces have the full price', () => {
  assert.equal(lineTotal({ price: 100, quantity: 9 }), 900);
});

test('ten pieces are 5 percent cheaper', () => {
  assert.equal(lineTotal({ price: 100, quantity: 10 }), 950);
});

test('a basket costs the sum of its lines', () => {
  const lines = [
    { price: 250, quantity: 2 },
    { price: 100, quantity: 20 },
  ];
  assert.equal(total(lines), 2400);
});

test('shipping is free for large baskets', () => {
  assert.equal(shipping([{ price: 4999, quantity: 1 }]), 490);
  assert.equal(shipping([{ price: 5000, quantity: 1 }]), 0);
});
`,
  },
  {
    path: 'test/format.test.js',
    text: `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatCents } from '../src/format.js';

test('cents are shown with two digits', () => {
  assert.equal(formatCents(1234), '12.34');
  assert.equal(formatCents(5), '0.05');
});
`,
  },
  {
    path: '.agents/skills/project-conventions/SKILL.md',
    text: `---
name: project-conventions
description: How code is written and checked in this repository. Use before changing anything here.
---

# Conventions of this repository

1. Read README.md first: its rules are what the code has to do.
2. Money is counted in whole cents; round only where a percentage is taken.
3. Change as little as the task needs, and keep the comment above a function true.
4. A mistake gets a test that fails without the correction.
5. Run node --test before you say that something is done.
`,
  },
];

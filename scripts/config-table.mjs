// Writes the tables of the configuration into docs/CONFIGURATION.md from dist/src/platform/config; with --check it only compares.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, root } from './prepare.mjs';

const START = '<!-- config:start -->';
const END = '<!-- config:end -->';

const page = join(root, 'docs', 'CONFIGURATION.md');
const compiled = join(root, 'dist', 'src', 'platform', 'config', 'index.js');
await build();
const { variableGroups, variables } = await import(compiled);

const before = readFileSync(page, 'utf8');
const start = before.indexOf(START);
const end = before.indexOf(END);
if (start < 0 || end < start) fail(`docs/CONFIGURATION.md needs the lines ${START} and ${END}.`);

const after = `${before.slice(0, start + START.length)}\n\n${tables()}\n\n${before.slice(end)}`;
if (process.argv.includes('--check')) {
  if (after !== before) fail('The table of the configuration is old. Run: npm run config-table');
} else if (after !== before) {
  writeFileSync(page, after);
}

function tables() {
  const listed = Object.values(variableGroups).flat();
  const rarely = Object.keys(variables).filter((name) => !listed.includes(name));
  return Object.entries({ ...variableGroups, Rarely: rarely })
    .map(([group, names]) => `## ${group}\n\n${table(names)}`)
    .join('\n\n');
}

/** In the form that the formatter gives a Markdown table, so that formatting never changes it. */
function table(names) {
  const rows = [
    ['Variable', 'Default', 'Meaning', 'Example'],
    ...names
      .map((name) => [name, variables[name]])
      .map(([name, { default: value, description, example }]) => [
        `\`${name}\``,
        value ? `\`${value}\`` : '',
        description,
        example.includes(' ') ? example : `\`${example}\``,
      ]),
  ].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  const rule = widths.map((width) => '-'.repeat(width));
  return [line(rows[0]), line(rule), ...rows.slice(1).map(line)].join('\n');
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

// How much script the chat page of the console loads before it can be used. `npm run check` fails above the limit.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import filePlugin from '@size-limit/file';
import sizeLimit from 'size-limit';

const LIMIT = 250_000;

const folder = fileURLToPath(new URL('../dist/web', import.meta.url));
/** What the address /chat loads: the page itself, the frame around it, and the texts of one language. */
const ENTRIES = [
  'index.html',
  'src/app/shell.tsx',
  'src/chat/chat.page.tsx',
  'src/app/texts.en.json',
  'src/ui/texts.en.json',
  'src/chat/texts.en.json',
];

const manifest = JSON.parse(readFileSync(join(folder, '.vite', 'manifest.json'), 'utf8'));
const files = new Set();
for (const entry of ENTRIES) add(entry);
const [{ size }] = await sizeLimit(
  [filePlugin],
  [...files].map((file) => join(folder, file)),
);
const text = `The chat page loads ${size.toLocaleString('en')} bytes of script (brotli, ${files.size} files).`;
if (size > LIMIT) {
  console.error(
    `${text} At most ${LIMIT.toLocaleString('en')} are allowed: load what is not needed at once with import().`,
  );
  process.exitCode = 1;
} else console.log(text);

/** A file and what it imports at once. */
function add(name) {
  const chunk = manifest[name];
  if (!chunk)
    throw new Error(`${name} is not in the manifest of the console. Build it first: npm run build`);
  if (files.has(chunk.file)) return;
  files.add(chunk.file);
  for (const imported of chunk.imports ?? []) add(imported);
}

import { join } from 'node:path';
import { build, install, node, root, run } from './prepare.mjs';

install();
await build();
process.exitCode = await run(node, [
  join(root, 'dist', 'src', 'knowledge-import.js'),
  ...process.argv.slice(2),
]);

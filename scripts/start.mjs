import { join } from 'node:path';
import { build, install, node, root, run } from './prepare.mjs';

// Whoever types this reads the output, also where it goes through a pipe; a container runs dist/ and logs JSON.
process.env.LOG_FORMAT ??= 'text';

install();
build();
process.exitCode = await run(node, [
  join(root, 'dist', 'src', 'main.js'),
  ...process.argv.slice(2),
]);

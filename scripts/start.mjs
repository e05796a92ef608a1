import { join } from 'node:path';
import { build, install, node, root, run } from './prepare.mjs';

// A person reads the output of npm start, also through a pipe; a container runs dist/ and logs JSON.
process.env.LOG_FORMAT ??= 'text';

install();
build();
process.exitCode = await run(node, [
  join(root, 'dist', 'src', 'main.js'),
  ...process.argv.slice(2),
]);

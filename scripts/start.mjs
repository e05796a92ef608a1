import { join } from 'node:path';
import { build, install, node, root, run } from './prepare.mjs';

// A person reads the output of npm start, also through a pipe; a container runs dist/ and logs JSON.
process.env.LOG_FORMAT ??= 'text';
// glibc keeps what compiling the embedded database has needed, some 150 MB, unless it is told to give memory back.
process.env.MALLOC_ARENA_MAX ??= '2';
process.env.MALLOC_TRIM_THRESHOLD_ ??= '131072';

install();
build();
process.exitCode = await run(node, [
  join(root, 'dist', 'src', 'main.js'),
  ...process.argv.slice(2),
]);

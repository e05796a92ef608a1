import { join } from 'node:path';
import { build, compileCache, install, node, root, run } from './prepare.mjs';

// A person reads the output of npm start, also through a pipe; a container runs dist/ and logs JSON.
process.env.LOG_FORMAT ??= 'text';
// glibc keeps what compiling the embedded database has needed, some 150 MB, unless it is told to give memory back.
process.env.MALLOC_ARENA_MAX ??= '2';
process.env.MALLOC_TRIM_THRESHOLD_ ??= '131072';

install();
build();
// What the build has compiled is used again. A container does without: it starts seldom, and this takes 25 MB of memory.
process.env.NODE_COMPILE_CACHE ??= compileCache;
process.exitCode = await run(node, [
  join(root, 'dist', 'src', 'main.js'),
  ...process.argv.slice(2),
]);

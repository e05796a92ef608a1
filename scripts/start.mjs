import { join } from 'node:path';
import {
  allocator,
  build,
  bundle,
  compileCache,
  install,
  node,
  run,
  serviceFlags,
} from './prepare.mjs';

// A person reads the output of npm start, also through a pipe; a container runs dist/ and logs JSON.
process.env.LOG_FORMAT ??= 'text';

install();
await build();
// What the build has compiled is used again. A container does without: it starts seldom, and this takes 25 MB of memory.
process.env.NODE_COMPILE_CACHE ??= compileCache;
for (const [name, value] of Object.entries(allocator())) process.env[name] ??= value;
process.exitCode = await run(node, [
  ...serviceFlags,
  join(bundle, 'src', 'main.js'),
  ...process.argv.slice(2),
]);

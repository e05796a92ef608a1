// Runs a program of the build that is none of the service: `node scripts/command.mjs knowledge-import …`.
import { join } from 'node:path';
import { build, install, node, root, run } from './prepare.mjs';

const [program, ...args] = process.argv.slice(2);
install();
await build();
process.exitCode = await run(node, [join(root, 'dist', 'src', `${program}.js`), ...args]);

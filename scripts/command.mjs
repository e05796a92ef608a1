// Runs a program of the build that is none of the service: `node scripts/command.mjs knowledge-import …`.
import { join } from 'node:path';
import { build, bundle, install, node, run } from './prepare.mjs';

const [program, ...args] = process.argv.slice(2);
install();
await build();
process.exitCode = await run(node, [join(bundle, 'src', `${program}.js`), ...args]);

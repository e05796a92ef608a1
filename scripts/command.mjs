// Runs a program of the build that is none of the service: `node scripts/command.mjs knowledge-import …`.
import { launch } from './launch.mjs';
import { build, bundle, install, node } from './prepare.mjs';

install();
await build();
process.exitCode = await launch(bundle, process.argv.slice(2), node);

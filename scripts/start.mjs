import { launch } from './launch.mjs';
import { build, bundle, install, node } from './prepare.mjs';

install();
await build();
process.exitCode = await launch(bundle, ['main', ...process.argv.slice(2)], node);

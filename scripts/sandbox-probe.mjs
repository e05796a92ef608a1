// Says whether commands of the coding harness can be run here, and if not why, by the very check that the built service
// makes: `node scripts/sandbox-probe.mjs [folder of the built harness]`. Ends with exit code 1 where they cannot.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const harness = resolve(process.argv[2] ?? 'dist/src/harness');
const program = pathToFileURL(resolve(harness, 'sandbox', 'sandbox.probe.js'));
const { probeSandbox } = await import(program.href);

const began = performance.now();
const place = { hidden: [], unseen: ['/root', '/home', '/var', harness] };
const { reason, limitsBy } = await probeSandbox(place, new AbortController().signal);
const took = Math.round(performance.now() - began);
console.log(reason ?? `User ${process.getuid()}: a sandbox holds what it must (${took} ms)`);
if (limitsBy)
  console.log(`Limits: processes by ${limitsBy.processes}, memory by ${limitsBy.memory}`);
process.exitCode = reason === null ? 0 : 1;

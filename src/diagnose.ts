import { writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { runCommand, UsageError } from './command.js';
import { diagnosisOf } from './platform/observability/index.js';

const USAGE = `Writes versions, settings without secrets, states, sizes, slow statements and the last errors to a file for support.

  npm run diagnose -- [--to plinth-diagnosis.json]

See docs/OPERATIONS.md.`;

function readArguments(): string {
  try {
    const { values } = parseArgs({
      options: { to: { type: 'string', default: 'plinth-diagnosis.json' } },
    });
    return resolve(values.to);
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

async function diagnose(app: NestExpressApplication, file: string): Promise<number> {
  await writeFile(file, `${JSON.stringify(await diagnosisOf(app), null, 2)}\n`, { mode: 0o600 });
  process.stdout.write(
    `${file}\nRead it before you send it, and add the log lines of level error.\n`,
  );
  return 0;
}

process.exit(
  await runCommand({
    verb: 'run the diagnosis',
    read: readArguments,
    onServer: { ROLE: 'api' },
    always: { DEMO: 'off' },
    run: diagnose,
  }),
);

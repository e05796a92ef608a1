import { parseArgs } from 'node:util';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { runCommand, UsageError } from './command.js';
import { SecondFactorService, UserService } from './identity/index.js';
import { systemCaller, TenantRevision } from './platform/access/index.js';
import { inTenant } from './platform/database/index.js';

const USAGE = `Gives a user a new random password, prints it, and ends the sign-ins of the user.

  npm run password:reset -- [--user admin] [--tenant 000000] [--remove-second-factor]

See docs/OPERATIONS.md.`;

interface Arguments {
  readonly tenantId: string;
  readonly userName: string;
  readonly removesSecondFactor: boolean;
}

function readArguments(): Arguments {
  try {
    const { values } = parseArgs({
      options: {
        tenant: { type: 'string', default: '000000' },
        user: { type: 'string', default: 'admin' },
        'remove-second-factor': { type: 'boolean', default: false },
      },
    });
    return {
      tenantId: values.tenant,
      userName: values.user,
      removesSecondFactor: values['remove-second-factor'],
    };
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

async function reset(
  app: NestExpressApplication,
  { tenantId, userName, removesSecondFactor }: Arguments,
): Promise<number> {
  const password = await inTenant(tenantId, async () => {
    const caller = systemCaller(tenantId, await app.get(TenantRevision).current(tenantId));
    if (removesSecondFactor) await app.get(SecondFactorService).removeAllOf(caller, userName);
    return app.get(UserService).renewPassword(caller, userName);
  });
  if (password === undefined) {
    throw new UsageError(`Tenant ${tenantId} has no user ${userName}. Set --tenant and --user.`);
  }
  process.stdout.write(`The new password of ${userName}: ${password}\n`);
  return 0;
}

process.exit(
  await runCommand({
    verb: 'reset the password',
    read: readArguments,
    // The API role runs neither jobs nor the demo, whose simulator would be a second one beside the service.
    onServer: { ROLE: 'api' },
    always: { DEMO: 'off' },
    run: reset,
  }),
);

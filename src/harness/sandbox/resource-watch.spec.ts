import { expect, it } from '@jest/globals';
import { watchResources } from './resource-limits.js';

it('counts nothing of the machine while a sandbox has no root of its own yet', async () => {
  const over = new AbortController();
  const looked = Promise.withResolvers<'looked'>();
  let looks = 0;
  const watching = watchResources(
    {
      // This process has the root of the machine, as the first process of a sandbox has in its first moments.
      get first(): number {
        looks += 1;
        if (looks > 10) looked.resolve('looked');
        return process.pid;
      },
      workspace: process.cwd(),
      limits: { memoryBytes: 1, diskBytes: 0, freeBytes: 0, addedFiles: 0 },
      before: { bytes: Infinity, files: Infinity },
      enforced: { processes: true, memory: false },
    },
    over.signal,
  );
  await expect(Promise.race([watching, looked.promise])).resolves.toBe('looked');
  over.abort();
  await expect(watching).resolves.toBe('ended');
});

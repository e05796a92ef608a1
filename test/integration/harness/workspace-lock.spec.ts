import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '../../../src/platform/database/index.js';
import { processId } from '../../../src/platform/lease/index.js';
import { RunWorker } from '../../../src/harness/engine/run.js';
import { newId, sha256 } from '../../../src/harness/protocol/values.js';
import { EffectRepository } from '../../../src/effect/index.js';
import { RunRepository } from '../../../src/harness/store/run.repository.js';
import { WorkspaceLockRepository } from '../../../src/harness/store/workspace-lock.repository.js';
import { complete, ownRun } from '../../support/harness-run.js';
import type { OwnRun } from '../../support/harness-run.js';
import { done } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

let plinth: Plinth;
let admin: Session;
let locks: WorkspaceLockRepository;
let folders = 0;

beforeAll(async () => {
  plinth = await Plinth.start();
  // What the sweeps do, the tests do themselves.
  await plinth.app.get(RunWorker, { strict: false }).beforeApplicationShutdown();
  admin = await plinth.signIn();
  locks = plinth.app.get(WorkspaceLockRepository, { strict: false });
});

afterAll(() => plinth.stop());

function freshFolder(): string {
  folders += 1;
  return `/srv/folder-${folders}`;
}

function take({ lease }: OwnRun, workspace: string): Promise<boolean> {
  const { tenantId, runId, fence } = lease;
  return plinth.app
    .get(Database)
    .transaction(() => locks.take({ tenantId, workspace, runId, fence }));
}

function addressOf({ sessionId, runId }: OwnRun): string {
  return `/coding/harness/sessions/${sessionId}/runs/${runId}`;
}

function run(): Promise<OwnRun> {
  return ownRun(plinth, admin);
}

async function set({ lease }: OwnRun, change: string, value?: string): Promise<void> {
  const values = [lease.tenantId, lease.runId, ...(value === undefined ? [] : [value])];
  await plinth.app
    .get(Database)
    .query(`UPDATE harness_run SET ${change} WHERE tenant_id = $1 AND id = $2`, values);
}

describe('the lock of a workspace', () => {
  it('is one run’s, until that is over', async () => {
    const [one, other] = [await run(), await run()];
    const folder = freshFolder();

    expect(await take(one, folder)).toBe(true);
    expect(await take(one, folder)).toBe(true);
    expect(await take(other, folder)).toBe(false);
    await complete(one);
    expect(await take(other, folder)).toBe(true);
  });

  it('holds for the folders above and below, and for no other', async () => {
    const [one, other] = [await run(), await run()];
    const folder = freshFolder();

    expect(await take(one, `${folder}/sub`)).toBe(true);
    for (const taken of [folder, '/srv', `${folder}/sub/deep`, `${folder}/sub`]) {
      expect([taken, await take(other, taken)]).toEqual([taken, false]);
    }
    for (const free of [`${folder}/su`, `${folder}/sub-2`, `${folder}/su_`, `${folder}/su%`]) {
      expect([free, await take(other, free)]).toEqual([free, true]);
    }
  });

  it('is taken by one of many that ask at once, with overlapping folders', async () => {
    const folder = freshFolder();
    const runs = await Promise.all(Array.from({ length: 6 }, run));
    const paths = [folder, `${folder}/a`, `${folder}/a/b`];
    const answers = await Promise.all(
      runs.map((each, index) => take(each, paths[index % paths.length] ?? folder)),
    );

    expect(answers.filter(Boolean)).toHaveLength(1);
  });

  it('stays while its run goes on that a worker has left', async () => {
    const [one, other] = [await run(), await run()];
    const folder = freshFolder();
    await take(one, folder);
    await locks.releaseUnused({ tenantId: one.lease.tenantId, id: one.runId });
    expect(await take(other, folder)).toBe(false);
    await one.ledger.asOwner(one.lease, (writer) => writer.park('TOOL'));
    await locks.releaseUnused({ tenantId: one.lease.tenantId, id: one.runId });

    expect(await take(other, folder)).toBe(true);
  });
});

/** This process is at none of the runs. */
const NOT_RUNNING = (): boolean => false;
const { signal } = new AbortController();

function worker(): RunWorker {
  return plinth.app.get(RunWorker, { strict: false });
}

describe('the workspace of a run that is ended under its owner', () => {
  /** Ended by force, with its workspace. */
  async function revoked(boot: string): Promise<{ other: OwnRun; folder: string; one: OwnRun }> {
    const [one, other] = [await run(), await run()];
    const folder = freshFolder();
    await take(one, folder);
    await set(one, 'lease_boot = $3', boot);
    done(await admin.post(`${addressOf(one)}/cancel`));
    await set(one, `cancel_requested_at = now() - interval '1 minute'`);
    await worker().forceCancels();
    const { data } = done(await admin.get<{ status: string }>(addressOf(one)));
    expect(data.status).toBe('CANCELLED');
    return { one, other, folder };
  }

  it('is kept from others while that owner cannot be asked and may not know', async () => {
    const { one, other, folder } = await revoked('another-host:process');
    await worker().freeLeft(signal, NOT_RUNNING);
    expect(await take(other, folder)).toBe(false);
    // An undo of the same run waits, too.
    expect(await take(one, folder)).toBe(false);
    await set(one, `lease_until = now() - interval '30 seconds'`);
    expect(await take(other, folder)).toBe(false);
    await set(one, `lease_until = now() - interval '61 seconds'`);
    await worker().freeLeft(signal, NOT_RUNNING);

    expect(await take(other, folder)).toBe(true);
  });

  it('is free as soon as that owner is known to have left the run', async () => {
    const { one, other, folder } = await revoked(processId);
    await worker().freeLeft(signal, (id) => id === one.runId);
    expect(await take(other, folder)).toBe(false);
    await worker().freeLeft(signal, NOT_RUNNING);

    expect(await take(other, folder)).toBe(true);
  });

  it('is free as soon as that owner has ended', async () => {
    const [host = '', number = ''] = processId.split(':');
    const { other, folder } = await revoked(`${host}:${number}:0`);
    expect(await take(other, folder)).toBe(false);
    await worker().freeLeft(signal, NOT_RUNNING);

    expect(await take(other, folder)).toBe(true);
  });

  it('is kept also when the lease was over already, as nobody knows whether the owner lives', async () => {
    const [one, other] = [await run(), await run()];
    const folder = freshFolder();
    await take(one, folder);
    await set(one, `lease_until = now() - interval '1 second'`);
    const { tenantId } = one.lease;
    done(await admin.post(`${addressOf(one)}/cancel`));

    expect(await take(other, folder)).toBe(false);
    await locks.releaseUnused({ tenantId, id: one.runId });
    expect(await take(other, folder)).toBe(true);
  });
});

describe('the workspace of a run that was cancelled after its process was lost in a command', () => {
  it('is kept from others, however long that is, until what the command has left is removed', async () => {
    const [one, other] = [await run(), await run()];
    const folder = freshFolder();
    await take(one, folder);
    await beginCommand(one);
    await set(one, `lease_boot = $3, lease_until = now() - interval '1 hour'`, ended());
    // As a process without the workspace does it: at once, and without a look at the workspace.
    done(await admin.post(`${addressOf(one)}/cancel`));
    expect(done(await admin.get(addressOf(one))).data).toMatchObject({ status: 'CANCELLED' });
    await locks.releaseUnused({ tenantId: one.lease.tenantId, id: one.runId });
    expect(await take(other, folder)).toBe(false);
    expect(await take(one, folder)).toBe(false);
    await worker().freeLeft(signal, NOT_RUNNING);
    expect(await take(other, folder)).toBe(true);
  });

  /** Of a process of this host that has ended. */
  function ended(): string {
    const [host = '', number = ''] = processId.split(':');
    return `${host}:${number}:0`;
  }

  async function beginCommand({ ledger, lease }: OwnRun): Promise<void> {
    const effects = plinth.app.get(EffectRepository, { strict: false });
    const toolCallId = newId();
    const call = { iteration: 1, ordinal: 0, providerCallId: 'call', toolName: 'shell' };
    const given = { argumentsJson: '{}', argumentsSha256: sha256('{}'), input: {} };
    await ledger.asOwner(lease, async (writer) => {
      await effects.prepare(writer.run, [{ toolCallId, ...call, ...given, effectClass: 'SHELL' }]);
      const start = { fence: 1, boot: ended(), operations: [], snapshotSha256: sha256('lost') };
      await effects.start(writer.run, toolCallId, start);
    });
  }
});

it('a lease that is not renewed is found, however many others there are', async () => {
  const older = await run();
  const lost = await run();
  await set(lost, `lease_until = now() + interval '10 seconds'`);
  const rows = plinth.app.get(RunRepository, { strict: false });
  expect(await rows.leasedRuns(1)).toMatchObject([{ id: lost.runId }]);
  await complete(lost);
  expect((await rows.leasedRuns(200)).map(({ id }) => id)).toContain(older.runId);
});

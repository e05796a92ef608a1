import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { addressOf, adminAt, boot, isBuilt, killAll, START_MS } from '../support/built-process.js';
import type { BuiltProcess } from '../support/built-process.js';
import { createModel, createProvider } from '../support/models.js';
import { ownStore } from '../support/own-store.js';
import type { OwnStore } from '../support/own-store.js';
import { done } from '../support/people.js';
import type { Session } from '../support/session.js';
import { ADMIN_PASSWORD } from '../support/template.js';
import { TurnReader } from '../support/turn-reader.js';
import { eventually } from '../support/wait.js';

// The embedded store has one process.
const isPossible = isBuilt && process.env['DATABASE_URL'] !== undefined;

const SLOW = 'sim--chunks-5000--delay-50';

interface Message {
  readonly role: string;
  readonly content: string;
  readonly state: string;
  readonly error: string | null;
}

(isPossible ? describe : describe.skip)('detached turns of several processes', () => {
  let dataDir: string;
  let simulator: Simulator;
  let store: OwnStore;
  let answering: BuiltProcess;
  let reading: BuiltProcess;
  let admin: Session;
  let elsewhere: Session;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'plinth-detached-'));
    simulator = await startSimulator();
    store = await ownStore();
    const environment = { ...store.environment, ADMIN_PASSWORD, ALLOW_PRIVATE_MODEL_HOSTS: '*' };
    answering = boot(dataDir, environment);
    const address = await addressOf(answering);
    reading = boot(dataDir, environment);
    elsewhere = await adminAt(await addressOf(reading), ADMIN_PASSWORD);
    admin = await adminAt(address, ADMIN_PASSWORD);
    await createProvider(admin, 'custom_api');
    const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key' };
    await createModel(admin, { ...service, modelName: SLOW });
  }, START_MS);

  afterAll(async () => {
    killAll();
    await Promise.all([answering, reading].map(({ exit }) => exit));
    await simulator.close();
    await store.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('end for their readers when the process that answers is killed', async () => {
    const sessionId = done(await admin.post<string>('/system/session', {})).data;
    const body = { model: SLOW, content: 'Count.', sessionId };
    const first = await TurnReader.send(admin, body, { bytes: 800 });
    const reader = new TurnReader(elsewhere, first.turnId);
    await reader.readOn(1_500);
    const rest = Promise.all([reader.readOn(), first.readOn(Infinity, elsewhere)]);
    answering.child.kill('SIGKILL');
    await answering.exit;
    await rest;
    const late = await new TurnReader(elsewhere, first.turnId).readOn();
    const { rows } = await eventually(
      () => elsewhere.get<Message[]>(`/system/message/list?sessionId=${sessionId}&inline=false`),
      (answer) => answer.rows.at(-1)?.role === 'assistant',
    );
    const answer = rows.at(-1);
    expect(answer?.state).toBe('failed');
    for (const { reply, numbers } of [reader, first, late]) {
      // The stored text is saved more rarely than frames are.
      expect(reply.text.startsWith(answer?.content ?? '')).toBe(true);
      expect(reply.text).toContain('tok5');
      expect(reply.error).toBe(
        'The service stopped while this answer was being written. Send the message again.',
      );
      expect(numbers).toEqual(numbers.map((_, index) => index));
    }
    const { data } = await elsewhere.get<{ answering: boolean }>(`/system/session/${sessionId}`);
    expect(data.answering).toBe(false);
  }, 120_000);
});

import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PARSE_JOB } from '../../../src/attach/parsing/parsing.queue.js';
import { ParsingRepository } from '../../../src/attach/parsing/parsing.repository.js';
import { TurnRepository } from '../../../src/chat/turn.repository.js';
import { MessageRepository } from '../../../src/harness/store/message.repository.js';
import { Database, inTenant } from '../../../src/platform/database/index.js';
import { JobQueue } from '../../../src/platform/queue/index.js';
import { ProviderRepository } from '../../../src/provider/provider.repository.js';
import { sendChat } from '../../support/chat.js';
import { CODER, Harness } from '../../support/harness.js';
import { eventually } from '../../support/wait.js';

const OWN = '000000';
const OTHER = '300009';

let harness: Harness;

beforeAll(async () => {
  harness = await Harness.start();
  await harness.plinth.app
    .get(Database)
    .query('INSERT INTO tenant (tenant_id, company_name) VALUES ($1, $2)', [OTHER, 'Other']);
});

afterAll(() => harness.stop());

afterEach(() => {
  jest.restoreAllMocks();
});

type Method = (this: object, first: unknown, ...rest: unknown[]) => Promise<unknown>;

/** From here on the method asks for another tenant than it is told to, as with a wrong argument somewhere above it. */
function misdirect<Repository extends object>(
  repository: abstract new (...given: never[]) => Repository,
  method: keyof Repository & string,
): void {
  const original = (repository.prototype as Record<string, Method>)[method];
  if (!original) throw new Error(`There is no method ${method}.`);
  const service = harness.plinth.app.get<Record<string, Method>>(repository);
  jest.spyOn(service, method).mockImplementation(function (this: object, first, ...rest) {
    const wrong = typeof first === 'string' ? OTHER : { ...(first as object), tenantId: OTHER };
    return original.call(this, wrong, ...rest);
  });
}

/** The log line of the refusal, once it is there. */
function refusal(table: string): Promise<string> {
  const text = `Refused a statement on ${table} for tenant ${OTHER}: the work is bound to tenant ${OWN}.`;
  return eventually(
    async () => harness.plinth.log.find((line) => line.includes(text)) ?? '',
    (line) => line !== '',
  );
}

describe('a statement for another tenant than that of the caller', () => {
  it('is refused in a request, which learns nothing of it', async () => {
    misdirect(ProviderRepository, 'page');
    const answer = await harness.session.get('/system/provider/list');

    expect(answer).toMatchObject({ code: 500, data: null });
    expect(answer.msg).toMatch(/^Something went wrong on our side\./);
    expect(JSON.parse(await refusal('provider'))).toMatchObject({ path: '/system/provider/list' });
  });

  it('is refused behind an event stream', async () => {
    misdirect(TurnRepository, 'begin');
    const reply = await sendChat(harness.session, { model: CODER, content: 'Hello' });

    expect(reply.done).toBe(false);
    expect(reply.error).toMatch(/^Something went wrong on our side\./);
    await refusal('chat_message');
  });

  it('is refused in a job, whoever has added it', async () => {
    misdirect(ParsingRepository, 'claim');
    const job = { id: '1', data: { tenantId: OWN, attachmentId: 1 } };
    await inTenant(OTHER, () => harness.plinth.app.get(JobQueue).add(PARSE_JOB, job));

    expect(JSON.parse(await refusal('attachment'))).toMatchObject({ kind: PARSE_JOB, job: '1' });
  });

  it('is refused in a run of the harness, which fails', async () => {
    misdirect(MessageRepository, 'ofRun');
    const { sessionId } = await harness.createSession();
    const run = await harness.ended(await harness.createRun(sessionId));

    expect(run).toMatchObject({ status: 'FAILED', error: { code: 'INTERNAL' } });
    expect(JSON.parse(await refusal('harness_message'))).toMatchObject({ runId: run.runId });
  });
});

describe('a statement on rows of a tenant', () => {
  it('is refused where nothing says for which tenant the work is', async () => {
    const database = new Database(harness.plinth.app.get(Database).dataSource);
    await expect(
      database.prepared('SELECT id FROM provider WHERE tenant_id = $1', [OWN]),
    ).rejects.toThrow(
      `Refused a statement on provider for tenant ${OWN}: the work is bound to no tenant.`,
    );
  });
});

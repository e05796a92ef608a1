import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { createMediaModels, scriptPrediction } from '../../support/media/media-models.js';
import { done, makeRole, makeUser } from '../../support/people.js';
import type { Person } from '../../support/people.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';

interface Task {
  readonly id: number;
  readonly model: string;
  readonly kind: string;
  readonly taskId: string;
  readonly status: string | null;
  readonly excerpt: string;
  readonly createTime: string;
  readonly updateTime: string;
}

let simulator: Simulator;
let plinth: Plinth;
let admin: Session;
let user: Person;

beforeAll(async () => {
  simulator = await startSimulator();
  plinth = await Plinth.start();
  admin = await plinth.signIn();
  await createMediaModels(admin, simulator);
  user = await makeUser(plinth, admin, 'film-maker', [await makeRole(admin, 'powerless', [])]);
});

afterAll(async () => {
  await plinth.stop();
  await simulator.close();
});

beforeEach(async () => {
  simulator.reset();
  const ids = (await tasksOf(user.session)).map(({ id }) => id);
  if (ids.length > 0) done(await user.session.delete(`/media/task/${ids.join()}`));
});

async function tasksOf(session: Session, query = ''): Promise<Task[]> {
  return done(await session.get<Task[]>(`/media/task/list${query}`)).rows;
}

async function begin(kind: string, model: string, text: string): Promise<string> {
  const body = { model, prompt: text, input: text };
  return done(await user.session.post<{ id: string }>(`/media/${kind}`, body)).data.id;
}

describe('a task', () => {
  it('is recorded with what is needed to find it again, whatever it makes', async () => {
    const ids = [
      await begin('image', 'async-image', 'A lake'),
      await begin('speech', 'async-speech', 'Welcome'),
      await begin('video', 'async-video', 'Waves'),
      await begin('video', 'sync-video', 'More waves'),
    ];
    const rows = await tasksOf(user.session);
    expect(rows.map(({ taskId }) => taskId)).toEqual(ids.toReversed());
    expect(rows.map(({ kind, model, excerpt, status }) => [kind, model, excerpt, status])).toEqual([
      ['video', 'sync-video', 'More waves', 'queued'],
      ['video', 'async-video', 'Waves', 'processing'],
      ['audio', 'async-speech', 'Welcome', 'processing'],
      ['image', 'async-image', 'A lake', 'processing'],
    ]);
    expect(Object.keys(rows[0] ?? {}).sort()).toEqual(
      ['id', 'model', 'kind', 'taskId', 'status', 'excerpt', 'createTime', 'updateTime'].sort(),
    );
  });

  it('is none when the result is there at once', async () => {
    done(await user.session.post('/media/image', { model: 'sync-image', prompt: 'A lake' }));
    done(await user.session.post('/media/speech', { model: 'sync-speech', input: 'Welcome' }));
    expect(await tasksOf(user.session)).toEqual([]);
  });

  it('has the state of the last lookup, by whichever route', async () => {
    const film = await begin('video', 'sync-video', 'Waves');
    const picture = await begin('image', 'async-image', 'A lake');
    const states = async (): Promise<unknown[]> =>
      (await tasksOf(user.session)).map(({ status }) => status);
    done(await user.session.get(`/media/video?model=sync-video&videoId=${film}`));
    expect(await states()).toEqual(['processing', 'in_progress']);
    done(await user.session.get(`/media/video?model=sync-video&videoId=${film}`));
    const lookup = `/media/prediction?model=async-image&predictionId=${picture}`;
    done(await user.session.get(lookup));
    done(await user.session.get(lookup));
    expect(await states()).toEqual(['completed', 'completed']);
    simulator.reset();
    expect((await user.session.get(lookup)).data).toMatchObject({ status: 'failed' });
    expect(await states()).toEqual(['failed', 'completed']);
  });

  it('keeps its state when a lookup fails, and keeps odd states short', async () => {
    const id = await begin('image', 'async-image', 'A lake');
    const lookup = `/media/prediction?model=async-image&predictionId=${id}`;
    simulator.script({ match: { path: `/prediction/${id}` }, status: 500 });
    expect(await user.session.get(lookup)).toMatchObject({ code: 500 });
    expect(await tasksOf(user.session)).toMatchObject([{ status: 'processing' }]);
    const status = `\u0000${'odd'.repeat(100)}`;
    scriptPrediction(simulator, id, { status });
    expect((await user.session.get(lookup)).data).toMatchObject({ status });
    expect((await tasksOf(user.session))[0]?.status).toBe('odd'.repeat(100).slice(0, 50));
  });

  it('keeps the beginning of a long text, and no half of a character', async () => {
    await begin('image', 'async-image', ` ${'a'.repeat(199)}💥 and more`);
    expect((await tasksOf(user.session))[0]?.excerpt).toBe('a'.repeat(199));
  });

  it('is changed by its own user alone, though anybody may look it up', async () => {
    const id = await begin('image', 'async-image', 'A lake');
    scriptPrediction(simulator, id, { status: 'seen-by-admin' });
    const lookup = `/media/prediction?model=async-image&predictionId=${id}`;
    expect((await admin.get(lookup)).data).toMatchObject({ status: 'seen-by-admin' });
    expect(await tasksOf(user.session)).toMatchObject([{ status: 'processing' }]);
    expect(await tasksOf(admin)).toEqual([]);
  });

  it('is one, however often its service answers the same id', async () => {
    const data = { id: 'pred_same', status: 'processing', outputs: null };
    for (const status of ['processing', 'queued']) {
      simulator.script({
        match: { path: '/model/generateImage' },
        body: { code: 200, data: { ...data, status } },
      });
      await begin('image', 'async-image', 'A lake');
    }
    expect(await tasksOf(user.session)).toMatchObject([{ taskId: 'pred_same', status: 'queued' }]);
  });

  it('is answered though its id is too long to be recorded, and the log says so', async () => {
    const id = 'p'.repeat(300);
    const body = { code: 200, data: { id, status: 'processing', outputs: null } };
    simulator.script({ match: { path: '/model/generateImage' }, body });
    expect(await begin('image', 'async-image', 'A lake')).toBe(id);
    expect(await tasksOf(user.session)).toEqual([]);
    expect(plinth.log.some((line) => line.includes('Failed to record media task'))).toBe(true);
  });
});

describe('GET /media/task/list', () => {
  it('comes in pages, newest first, and by kind', async () => {
    for (const text of ['one', 'two', 'three']) await begin('image', 'async-image', text);
    await begin('video', 'async-video', 'film');
    const texts = async (query: string): Promise<string[]> =>
      (await tasksOf(user.session, query)).map(({ excerpt }) => excerpt);
    expect(await texts('?pageNum=1&pageSize=3')).toEqual(['film', 'three', 'two']);
    expect(await texts('?pageNum=2&pageSize=3')).toEqual(['one']);
    expect(await texts('?kind=video')).toEqual(['film']);
    expect(await user.session.get('/media/task/list?kind=music')).toMatchObject({
      code: 400,
      msg: 'kind must be one of image, audio, video',
    });
    expect(await plinth.anonymous().get('/media/task/list')).toMatchObject({ code: 401 });
  });
});

describe('DELETE /media/task/{ids}', () => {
  it('forgets own tasks, all of them or none', async () => {
    for (const text of ['one', 'two']) await begin('image', 'async-image', text);
    const [two, one] = (await tasksOf(user.session)).map(({ id }) => id);
    expect(await user.session.delete(`/media/task/${one},987654321`)).toMatchObject({ code: 404 });
    expect(await admin.delete(`/media/task/${one}`)).toMatchObject({ code: 404 });
    expect(await tasksOf(user.session)).toHaveLength(2);
    expect(await user.session.delete(`/media/task/${one},${two}`)).toMatchObject({ code: 200 });
    expect(await tasksOf(user.session)).toEqual([]);
  });
});

describe('what goes with a task', () => {
  it('its model may be deleted: the record stays', async () => {
    const { rows } = await admin.get<{ id: number }[]>('/system/model/list?modelName=async-speech');
    await begin('speech', 'async-speech', 'Welcome');
    done(await admin.delete(`/system/model/${rows[0]?.id}`));
    expect(await tasksOf(user.session)).toMatchObject([{ model: 'async-speech', kind: 'audio' }]);
  });
});

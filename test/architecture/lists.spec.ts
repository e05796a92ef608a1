import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { done } from '../support/people.js';
import { Plinth } from '../support/plinth.js';
import type { Session } from '../support/session.js';

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly description?: string }[];
  readonly responses: Record<string, { content?: Record<string, { schema: Schema }> }>;
}
interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Record<string, Schema>;
}
interface ApiDocument {
  readonly paths: Record<string, { get?: Operation }>;
  readonly components: { readonly schemas: Record<string, Schema> };
}

/** Columns that no list shows. */
const HIDDEN = [
  'passwordHash',
  'credential',
  'clientSecret',
  'storageKey',
  'leaseToken',
  'turnId',
  'secretDigest',
];

const MODEL = { providerCode: 'custom_api', category: 'chat', apiHost: 'http://127.0.0.1:9' };

const PREFIX = 'Comma list of fields to order by: ';

describe('the order of lists', () => {
  let plinth: Plinth;
  let root: Session;
  let api: ApiDocument;
  let lists: { path: string; address: string; fields: string[]; shown: Set<string> }[];

  beforeAll(async () => {
    plinth = await Plinth.start();
    root = await plinth.signIn();
    done(await root.post('/system/info', { name: 'Lists' }));
    const { rows } = done(await root.get<{ id: number }[]>('/system/info/list'));
    const { text } = await root.raw('GET', '/docs/json');
    api = JSON.parse(text) as ApiDocument;
    lists = Object.entries(api.paths).flatMap(([path, { get }]) => {
      const about = get?.parameters?.find(({ name }) => name === 'orderByColumn');
      if (!get || !about) return [];
      const description = about.description ?? '';
      expect([path, description]).toEqual([path, expect.stringContaining(PREFIX)]);
      const fields = description.slice(PREFIX.length).split(', ');
      const roleId = get.parameters?.some(({ name }) => name === 'roleId') ? 'roleId=1&' : '';
      const address = `${path.replace(/\{\w+\}/g, String(rows[0]?.id))}?${roleId}`;
      return [{ path, address, fields, shown: shownBy(get) }];
    });
  });
  afterAll(() => plinth.stop());

  const tenantNamed = (companyName: string) => ({
    companyName,
    username: 'boss',
    password: 'pass-word-1',
  });

  function resolved(schema: Schema | undefined): Schema {
    const name = schema?.$ref?.split('/').at(-1);
    return name === undefined ? (schema ?? {}) : (api.components.schemas[name] ?? {});
  }

  /** The fields of the rows, wherever the envelope has them. */
  function shownBy({ responses }: Operation): Set<string> {
    // The other one is that of a failure.
    const [answer = {}] = responses['200']?.content?.['application/json']?.schema.oneOf ?? [];
    const parts = [answer, ...(answer.allOf ?? []).map(resolved)];
    const rows = parts.flatMap(({ properties = {} }) => [properties['rows'], properties['data']]);
    return new Set(
      rows.flatMap((one) => Object.keys(resolved(resolved(one).items).properties ?? {})),
    );
  }

  it('names only fields that the list shows, and has a list for each route', () => {
    expect(lists.length).toBeGreaterThan(18);
    for (const { path, fields, shown } of lists) {
      expect([path, fields.length > 0, fields.filter((field) => !shown.has(field))]).toEqual([
        path,
        true,
        [],
      ]);
    }
  });

  it('accepts every field that it names', async () => {
    for (const { address, fields } of lists) {
      for (const field of [...fields, fields.join(',')]) {
        const asked = `${address}orderByColumn=${field}&isAsc=desc`;
        expect([asked, await root.get(asked)]).toEqual([
          asked,
          expect.objectContaining({ code: 200 }),
        ]);
      }
    }
  });

  it.each([
    ['/system/role/list', 'roleId'],
    ['/system/client/list', 'clientKey'],
    ['/system/tenant/list', 'companyName'],
    ['/system/dict/data/list', 'dictCode'],
    ['/monitor/online/list', 'loginTime'],
  ])('%s is ordered by %s in both directions', async (path, field) => {
    await plinth.signIn();
    done(await root.post('/system/tenant', tenantNamed(`Zz ${path}`)));
    const ordered = async (direction: string): Promise<unknown[]> => {
      const answer = await root.get(`${path}?orderByColumn=${field}&isAsc=${direction}`);
      return done(answer).rows.map((row) => row[field]);
    };
    const rising = await ordered('asc');
    expect(rising.length).toBeGreaterThan(1);
    expect(await ordered('desc')).toEqual([...rising].reverse());
    const sorted = [...rising].sort((a, b) => {
      return typeof a === 'number' ? a - Number(b) : String(a) < String(b) ? -1 : 1;
    });
    expect(rising).toEqual(sorted);
  });

  it.each([
    ['/system/model/list', 'id'],
    ['/system/user/list', 'userId'],
    ['/system/client/list', 'id'],
    ['/system/tenant/list', 'id'],
    ['/system/dict/type/list', 'dictId'],
    ['/system/info/list', 'id'],
    ['/system/session/list', 'id'],
    ['/system/message/list', 'id'],
    ['/resource/oss/list', 'ossId'],
    ['/monitor/audit/list', 'id'],
    ['/monitor/operlog/list', 'operId'],
    ['/monitor/logininfor/list', 'infoId'],
  ])('%s has the newest first, by %s', async (path, field) => {
    await fillLists(path);
    const ids = done(await root.get<Record<string, unknown>[]>(path)).rows.map((row) =>
      Number(row[field]),
    );
    expect(ids.length).toBeGreaterThan(1);
    expect(ids).toEqual([...ids].sort((a, b) => b - a));
  });

  /** Two rows of the list, where it has fewer. */
  async function fillLists(path: string): Promise<void> {
    for (const name of ['one', 'two']) {
      const unique = `${name}${path.replaceAll('/', '_')}`;
      switch (path) {
        case '/system/model/list':
          await root.post('/system/provider', { providerName: 'P', providerCode: 'custom_api' });
          done(await root.post('/system/model', { ...MODEL, modelName: unique }));
          break;
        case '/system/user/list':
          done(await root.post('/system/user', { userName: unique, password: 'pass-word-1' }));
          break;
        case '/system/tenant/list':
          done(await root.post('/system/tenant', tenantNamed(unique)));
          break;
        case '/system/info/list':
          done(await root.post('/system/info', { name: unique }));
          break;
        case '/system/session/list':
        case '/system/message/list': {
          const { data: sessionId } = done(await root.post<string>('/system/session', {}));
          done(await root.post('/system/message', { sessionId, role: 'user', content: unique }));
          break;
        }
        case '/resource/oss/list': {
          const form = new FormData();
          form.append('file', new Blob([unique]), `${name}.txt`);
          done(await root.upload('/resource/oss/upload', form));
          break;
        }
        default:
          await plinth.signIn();
      }
    }
  }

  it('refuses hidden columns and says which fields there are', async () => {
    for (const { address, fields } of lists) {
      for (const hidden of [...HIDDEN, 'tenant_id', '__proto__', 'constructor']) {
        expect([address, hidden, await root.get(`${address}orderByColumn=${hidden}`)]).toEqual([
          address,
          hidden,
          {
            code: 400,
            msg: `orderByColumn must be a comma list of these fields: ${fields.join(', ')}`,
            data: null,
          },
        ]);
      }
    }
  });
});

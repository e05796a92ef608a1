import type { Session } from './session.js';

/** What SCIM answers: a resource, a list or an error. */
export interface ScimAnswer {
  readonly status: number;
  readonly type: unknown;
  readonly location: unknown;
  readonly body: Record<string, unknown>;
}

export const CORE_USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const CORE_GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group';
export const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

/** A directory that provisions users and groups, with the media type of SCIM. */
export class Directory {
  constructor(private readonly session: Session) {}

  async call(method: string, path: string, body?: unknown): Promise<ScimAnswer> {
    const { status, text, headers } = await this.session.raw(method, `/scim/v2${path}`, body, {
      ...(body !== undefined && { 'content-type': 'application/scim+json; charset=utf-8' }),
      accept: 'application/scim+json',
    });
    return {
      status,
      type: headers['content-type'],
      location: headers['location'],
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
  }

  find(kind: 'Users' | 'Groups', filter: string, more = ''): Promise<ScimAnswer> {
    return this.call('GET', `/${kind}?filter=${encodeURIComponent(filter)}${more}`);
  }

  patch(path: string, ...operations: readonly object[]): Promise<ScimAnswer> {
    return this.call('PATCH', path, { schemas: [PATCH], Operations: operations });
  }

  /** Creates a resource and answers its id. */
  async make(kind: 'Users' | 'Groups', body: object): Promise<string> {
    const { status, body: made } = await this.call('POST', `/${kind}`, body);
    if (status !== 201) throw new Error(`HTTP ${status} ${JSON.stringify(made)}`);
    return String(made['id']);
  }
}

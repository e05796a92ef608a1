import { StoredResponseRepository } from '../../src/compatible-api/openai/responses/stored-response.repository.js';
import { newId } from '../../src/compatible-api/answer/encoded-state.js';
import type { Caller } from '../../src/platform/access/index.js';
import { inTenant } from '../../src/platform/database/index.js';
import { done } from './people.js';
import type { Plinth } from './plinth.js';
import type { Session } from './session.js';

/** Records a response of the session's user, as POST /v1/responses leaves it, and answers its id. */
export async function recordResponse(
  plinth: Plinth,
  session: Session,
  text: string,
): Promise<string> {
  interface Own {
    readonly user: { readonly userId: number; readonly tenantId: string };
  }
  const { userId, tenantId } = done(await session.get<Own>('/system/user/getInfo')).data.user;
  const caller = { userId, tenantId } as Caller;
  const id = newId('resp');
  const content = [{ type: 'input_text', text }];
  const response = {
    ...{ id, object: 'response', created_at: 0, status: 'completed', model: text, output: [] },
  };
  await inTenant(tenantId, () =>
    plinth.app.get(StoredResponseRepository, { strict: false }).insert(caller, {
      ...{ id, modelName: text, previous: undefined, response },
      input: [{ type: 'message', role: 'user', id: newId('msg'), content }],
    }),
  );
  return id;
}

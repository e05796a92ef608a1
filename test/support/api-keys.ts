import { canary } from './canary.js';
import { done } from './people.js';
import { Session } from './session.js';

export interface MadeKey {
  readonly id: number;
  readonly prefix: string;
  readonly key: string;
}

/** Makes an API key. No later answer and no log line may have it. */
export async function makeKey(by: Session, fields: object = {}): Promise<MadeKey> {
  return secret(done(await by.post<MadeKey>('/system/apikey', { name: 'Key', ...fields })).data);
}

export async function rotateKey(by: Session, id: number, overlapSeconds = 0): Promise<MadeKey> {
  return secret(
    done(await by.post<MadeKey>(`/system/apikey/${id}/rotate`, { overlapSeconds })).data,
  );
}

function secret(made: MadeKey): MadeKey {
  canary.protect('API key', made.key);
  canary.protect('API key', made.key.slice(made.prefix.length + 1));
  return made;
}

/** A client that sends the key, and no clientid. */
export function withKey({ url }: Session, { key }: Pick<MadeKey, 'key'>): Session {
  return new Session(url, { authorization: `Bearer ${key}` });
}

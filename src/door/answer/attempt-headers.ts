import type { Response } from 'express';
import { CallTrail } from '../../model/index.js';

/** Says which model answers, where its service was called several times or it is another one than was asked for. */
export function nameAttempts(response: Response, { isEventful, modelName, size }: CallTrail): void {
  if (!isEventful || modelName === undefined) return;
  response.setHeader('x-plinth-model', encodeURIComponent(modelName));
  response.setHeader('x-plinth-attempts', size);
}

/** The answer of a call, whose attempts the headers of the response name. */
export async function withAttempts<T>(
  response: Response,
  call: (trail: CallTrail) => Promise<T>,
): Promise<T> {
  const trail = new CallTrail();
  const answer = await call(trail);
  nameAttempts(response, trail);
  return answer;
}

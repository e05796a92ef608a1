import { contentsOf, isEnvelope } from './envelope.js';

/** The result of a function, and what the server says about it in the language of the request. */
export interface WithMessage<Result> {
  readonly result: Result;
  readonly message: string;
}

/** Calls a function that answers an envelope. `message` is empty for an answer without one. */
export async function withMessage<Options extends object, Result>(
  call: (options: Options) => Promise<Result>,
  options: Options,
): Promise<WithMessage<Result>> {
  let message = '';
  const responseTransformer = async (body: unknown): Promise<unknown> => {
    if (isEnvelope(body)) message = body.msg;
    return contentsOf(body);
  };
  const result = await call({ ...options, responseTransformer });
  return { result, message };
}

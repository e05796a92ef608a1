import { contentsOf, isEnvelope } from './envelope.js';

/** The result of a function and the server's message about it in the language of the request. */
export interface WithMessage<Result> {
  readonly result: Result;
  readonly message: string;
}

/** Calls a function and also returns the envelope's message; empty if there is none. */
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

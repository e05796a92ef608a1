import { InvalidInputError, TooManyRequestsError } from '../../../platform/error/index.js';

export class TooManyReadersError extends TooManyRequestsError {
  constructor(of: 'run' | 'user', limit: number) {
    const what = of === 'run' ? 'this run' : 'runs';
    super(
      `You have ${limit} event streams of ${what} open, which is the limit. Close one and try again.`,
      { data: { errorCode: 'TOO_MANY_STREAMS' } },
    );
  }
}

export class BadLastEventIdError extends InvalidInputError {
  constructor() {
    super(
      'Last-Event-ID is not the number of an event. Send the id of the last event that you have, or leave it out.',
    );
  }
}

import { Logger } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { Attempts } from './run.js';

describe('attempts', () => {
  it('go on after a failure, and log it once until it is another or has gone', async () => {
    const logger = new Logger('Test');
    const log = jest.spyOn(logger, 'error').mockImplementation(() => undefined);
    const attempts = new Attempts(logger);
    let cause: string | undefined = 'The row is broken.';
    const work = async (): Promise<void> => {
      if (cause !== undefined) throw new Error(cause);
    };
    await attempts.try('A run could not be ended', work, 'run-1');
    await attempts.try('A run could not be ended', work, 'run-1');
    expect(log).toHaveBeenCalledTimes(1);
    expect(log).toHaveBeenCalledWith({
      ...{ msg: 'A run could not be ended', runId: 'run-1' },
      err: expect.objectContaining({ message: 'The row is broken.' }),
    });
    await attempts.try('A run could not be ended', work, 'run-2');
    expect(log).toHaveBeenCalledTimes(2);
    cause = undefined;
    await attempts.try('A run could not be ended', work, 'run-1');
    cause = 'The row is broken.';
    await attempts.try('A run could not be ended', work, 'run-1');

    expect(log).toHaveBeenCalledTimes(3);
  });
});

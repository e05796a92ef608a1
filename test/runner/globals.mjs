import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

export { jestExpect as expect } from '@jest/expect';
export { afterAll, afterEach, beforeAll, beforeEach, describe, it, test } from 'jest-circus';

/** What test files import as `@jest/globals`: the real things of Jest on the globals of this process. */
const mocker = new ModuleMocker(globalThis);
const timers = new ModernFakeTimers({ config: { fakeTimers: {} }, global: globalThis });

export const jest = {
  ...bound(mocker, ['fn', 'spyOn', 'clearAllMocks', 'resetAllMocks', 'restoreAllMocks']),
  ...bound(timers, [
    'advanceTimersByTime',
    'advanceTimersByTimeAsync',
    'clearAllTimers',
    'getTimerCount',
    'runAllTimers',
    'runAllTimersAsync',
    'runOnlyPendingTimers',
    'runOnlyPendingTimersAsync',
    'setSystemTime',
    'useFakeTimers',
    'useRealTimers',
  ]),
};

function bound(object, names) {
  return Object.fromEntries(names.map((name) => [name, object[name].bind(object)]));
}

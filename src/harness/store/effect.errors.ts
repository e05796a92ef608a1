import { ConflictError } from '../../platform/error/index.js';
import type { HarnessEffect } from './effect.entity.js';

/** There is nothing to find out: the call is still to run, has a known outcome, or was resolved otherwise. */
export class EffectNotUncertainError extends ConflictError {
  constructor({ toolCallId, state, resolution }: HarnessEffect) {
    super(
      `This tool call is ${state}, not UNCERTAIN, so nothing was changed. Load the effects of the run anew.`,
      { data: { errorCode: 'EFFECT_NOT_UNCERTAIN', toolCallId, state, resolution } },
    );
  }
}

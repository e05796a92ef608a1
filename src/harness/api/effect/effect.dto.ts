import { OneOf, Text } from '../../../platform/http/index.js';
import { RESOLUTIONS } from '../../protocol/effect.state.js';
import type { Resolution } from '../../protocol/effect.state.js';

export class ResolveEffectBody {
  @OneOf(RESOLUTIONS, { description: 'What you have found out about the call' })
  resolution: Resolution;

  @Text({ optional: true, max: 4_000, description: 'For the model, and for the record' })
  note?: string;
}

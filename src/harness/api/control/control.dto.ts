import { Flag } from '../../../platform/http/index.js';

export class SwitchWritesBody {
  @Flag({ description: 'False stops everything that changes files, in every tenant' })
  enabled: boolean;
}

import { OneOf } from '../../../platform/http/index.js';

export class ReportQuery {
  @OneOf(['json', 'markdown'], { optional: true, description: 'json when not given' })
  format?: string;
}

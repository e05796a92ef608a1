import { OneOf, PageQuery } from '../../platform/http/index.js';

export class TaskListQuery extends PageQuery {
  @OneOf(['image', 'audio', 'video'], { optional: true, description: 'What is made' })
  kind?: string;
}

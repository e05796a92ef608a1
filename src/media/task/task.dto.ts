import {
  Input,
  integer,
  nullable,
  OneOf,
  oneOf,
  pageFields,
  text,
  time,
  View,
} from '../../platform/http/index.js';

export class TaskListQuery extends Input({
  ...pageFields('id', 'kind', 'status', 'excerpt', 'createTime', 'updateTime', {
    model: 'modelName',
    taskId: 'providerTaskId',
  }),
  kind: OneOf(['image', 'audio', 'video'], { optional: true, description: 'What is made' }),
}) {}

/** A task with what is needed to look it up: the model's name and the task's id. */
export class TaskView extends View({
  id: integer({ example: 1, description: 'Of this record' }),
  model: text({ example: 'filmer', description: 'modelName' }),
  kind: oneOf(['image', 'audio', 'video']),
  taskId: text({ description: 'videoId or predictionId of the lookup' }),
  status: nullable(
    text({ example: 'processing', description: 'As the provider said at the last lookup' }),
  ),
  excerpt: text({ example: 'Waves roll', description: 'The beginning of the prompt or the text' }),
  createTime: time(),
  updateTime: time({ example: '2026-01-31 18:31:00', description: 'Of the last lookup' }),
}) {}

import { ApiProperty } from '@nestjs/swagger';
import { wireTime } from '../../platform/http/index.js';
import type { MediaTask } from './task.entity.js';

/** A task with what is needed to look it up: the model's name and the task's id. */
export class TaskView {
  @ApiProperty({ type: 'integer', example: 1, description: 'Of this record' })
  id: number;

  @ApiProperty({ example: 'filmer', description: 'modelName' })
  model: string;

  @ApiProperty({ enum: ['image', 'audio', 'video'] })
  kind: string;

  @ApiProperty({ description: 'videoId or predictionId of the lookup' })
  taskId: string;

  @ApiProperty({
    type: String,
    nullable: true,
    example: 'processing',
    description: 'As the provider said at the last lookup',
  })
  status: string | null;

  @ApiProperty({ example: 'Waves roll', description: 'The beginning of the prompt or the text' })
  excerpt: string;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  createTime: string;

  @ApiProperty({ example: '2026-01-31 18:31:00', description: 'Of the last lookup' })
  updateTime: string;
}

export function toTaskView(task: MediaTask): TaskView {
  const { id, modelName, kind, providerTaskId, status, excerpt, createTime, updateTime } = task;
  return {
    id,
    model: modelName,
    kind,
    taskId: providerTaskId,
    status,
    excerpt,
    createTime: wireTime(createTime),
    updateTime: wireTime(updateTime),
  };
}

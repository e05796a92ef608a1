import { ApiProperty } from '@nestjs/swagger';
import { wireTime } from '../platform/http/index.js';
import type { Model } from './model.entity.js';

const unknown = { nullable: true, description: 'null: unknown' };

/** A model without its key. Empty texts are ''. */
export class ModelView {
  @ApiProperty({ type: 'integer', example: 1 })
  id: number;

  @ApiProperty({ example: 'custom_api' })
  providerCode: string;

  @ApiProperty({ example: 'chat' })
  category: string;

  @ApiProperty({ example: 'gpt-4o-mini' })
  modelName: string;

  @ApiProperty({ example: 'Small model' })
  modelDescribe: string;

  @ApiProperty({ enum: ['Y', 'N'] })
  modelShow: string;

  @ApiProperty({ type: 'integer', nullable: true, example: null })
  modelDimension: number | null;

  @ApiProperty({ example: 'https://api.example.com/v1' })
  apiHost: string;

  @ApiProperty({ description: 'Whether a key is stored; the key itself is never returned' })
  hasApiKey: boolean;

  @ApiProperty({ example: '' })
  remark: string;

  @ApiProperty({ type: 'integer', ...unknown })
  contextWindow: number | null;

  @ApiProperty({ type: 'integer', ...unknown })
  maxOutput: number | null;

  @ApiProperty({ type: Boolean, ...unknown })
  supportsTools: boolean | null;

  @ApiProperty({ type: Boolean, ...unknown })
  supportsVision: boolean | null;

  @ApiProperty({ type: Number, ...unknown })
  inputPrice: number | null;

  @ApiProperty({ type: Number, ...unknown })
  outputPrice: number | null;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  createTime: string;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  updateTime: string;
}

export function toModelView(model: Model): ModelView {
  const { id, providerCode, category, modelName, modelShow, modelDimension } = model;
  const { contextWindow, maxOutput, supportsTools, supportsVision } = model;
  return {
    id,
    providerCode,
    category,
    modelName,
    modelDescribe: model.modelDescribe ?? '',
    modelShow,
    modelDimension,
    apiHost: model.apiHost ?? '',
    hasApiKey: model.credential !== null,
    remark: model.remark ?? '',
    contextWindow,
    maxOutput,
    supportsTools,
    supportsVision,
    inputPrice: model.inputPrice,
    outputPrice: model.outputPrice,
    createTime: wireTime(model.createTime),
    updateTime: wireTime(model.updateTime),
  };
}

/** What an end user learns of a model: neither address nor remark. */
export class ModelEntryView {
  @ApiProperty({ type: 'integer', example: 1 })
  id: number;

  @ApiProperty({ example: 'gpt-4o-mini' })
  modelName: string;

  @ApiProperty({ description: 'Display name; the model name where none is given' })
  modelDescribe: string;

  @ApiProperty({ example: 'custom_api' })
  providerCode: string;
}

export function toModelEntryView(model: Model): ModelEntryView {
  const { id, modelName, providerCode } = model;
  return { id, modelName, modelDescribe: labelOf(model), providerCode };
}

/** The display name, which falls back to the model name. */
export function labelOf(model: Pick<Model, 'modelName' | 'modelDescribe'>): string {
  return model.modelDescribe?.trim() || model.modelName;
}

export class ProviderOptionView {
  @ApiProperty({ example: 'Chat completions (own address)' })
  label: string;

  @ApiProperty({ example: 'custom_api' })
  value: string;

  @ApiProperty({
    type: String,
    nullable: true,
    description:
      'Address of a model without apiHost, empty if the operator sets it. null: apiHost is required',
  })
  defaultAddress: string | null;
}

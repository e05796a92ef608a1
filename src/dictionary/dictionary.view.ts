import { ApiProperty } from '@nestjs/swagger';
import { wireTime } from '../platform/http/index.js';
import type { DictionaryEntry, DictionaryType } from './dictionary.entity.js';

export class DictionaryTypeView {
  @ApiProperty({ type: 'integer', example: 1 })
  dictId: number;

  @ApiProperty({ example: 'Model categories' })
  dictName: string;

  @ApiProperty({ example: 'chat_model_category' })
  dictType: string;

  @ApiProperty({ type: String, nullable: true })
  remark: string | null;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  createTime: string;
}

export class DictionaryEntryView {
  @ApiProperty({ type: 'integer', example: 1 })
  dictCode: number;

  @ApiProperty({ type: 'integer', example: 1 })
  dictSort: number;

  @ApiProperty({ type: 'integer', example: 1, description: 'Same as dictSort' })
  sort: number;

  @ApiProperty({ example: 'Chat' })
  dictLabel: string;

  @ApiProperty({ example: 'chat' })
  dictValue: string;

  @ApiProperty({ example: 'chat_model_category' })
  dictType: string;

  @ApiProperty({ type: String, nullable: true })
  cssClass: string | null;

  @ApiProperty({ type: String, nullable: true })
  listClass: string | null;

  @ApiProperty({ enum: ['Y', 'N'] })
  isDefault: string;

  @ApiProperty({ description: 'Built in: the value cannot change, the entry cannot be deleted' })
  seeded: boolean;

  @ApiProperty({ type: String, nullable: true })
  remark: string | null;

  @ApiProperty({ example: '2026-01-31 18:30:00' })
  createTime: string;
}

export function toDictionaryTypeView(type: DictionaryType): DictionaryTypeView {
  const { id, dictName, dictType, remark, createTime } = type;
  return { dictId: id, dictName, dictType, remark, createTime: wireTime(createTime) };
}

export function toDictionaryEntryView(entry: DictionaryEntry): DictionaryEntryView {
  return {
    dictCode: entry.id,
    dictSort: entry.dictSort,
    sort: entry.dictSort,
    dictLabel: entry.dictLabel,
    dictValue: entry.dictValue,
    dictType: entry.dictType,
    cssClass: entry.cssClass,
    listClass: entry.listClass,
    isDefault: entry.isDefault,
    seeded: entry.seeded,
    remark: entry.remark,
    createTime: wireTime(entry.createTime),
  };
}

import {
  flag,
  Id,
  integer,
  nullable,
  OneOf,
  oneOf,
  PageQuery,
  Text,
  text,
  time,
  View,
  Whole,
} from '../platform/http/index.js';
import type { DictionaryEntry, DictionaryType } from './dictionary.entity.js';

export const DICTIONARY_TYPE_NAME = /^[a-z][a-z0-9_]*$/;

const TYPE_NAME = {
  max: 100,
  pattern: DICTIONARY_TYPE_NAME,
  patternMessage: 'must begin with a lower-case letter and contain only a-z, 0-9 and _',
  example: 'chat_model_category',
};
const SORT = { min: -1_000_000, max: 1_000_000 };
const YES_NO = ['Y', 'N'];

export class DictionaryTypeListQuery extends PageQuery {
  @Text({ optional: true, max: 100, description: 'Part of the name' })
  dictName?: string;

  @Text({ optional: true, max: 100, description: 'Part of the type' })
  dictType?: string;
}

export class CreateDictionaryTypeBody {
  @Text({ max: 100, example: 'Model categories' })
  dictName: string;

  @Text(TYPE_NAME)
  dictType: string;

  @Text({ optional: true, max: 500 })
  remark?: string;
}

export class UpdateDictionaryTypeBody {
  @Id()
  dictId: number;

  @Text({ optional: true, min: 1, max: 100 })
  dictName?: string;

  @Text({ ...TYPE_NAME, optional: true, description: 'Its entries get the new type as well' })
  dictType?: string;

  @Text({ optional: true, max: 500 })
  remark?: string;
}

export class DictionaryEntryListQuery extends PageQuery {
  @Text({ optional: true, max: 100, example: 'chat_model_category' })
  dictType?: string;

  @Text({ optional: true, max: 100, description: 'Part of the label' })
  dictLabel?: string;

  @Text({ optional: true, max: 100, description: 'Part of the value' })
  dictValue?: string;
}

class DictionaryEntryDetails {
  @Whole({ ...SORT, optional: true })
  dictSort?: number;

  @Whole({ ...SORT, optional: true, description: 'Same as dictSort, which takes precedence' })
  sort?: number;

  @Text({ optional: true, max: 100 })
  cssClass?: string;

  @Text({ optional: true, max: 100 })
  listClass?: string;

  @OneOf(YES_NO, { optional: true })
  isDefault?: string;

  @Text({ optional: true, max: 500 })
  remark?: string;
}

export class CreateDictionaryEntryBody extends DictionaryEntryDetails {
  @Text(TYPE_NAME)
  dictType: string;

  @Text({ max: 100, example: 'Chat' })
  dictLabel: string;

  @Text({ max: 100, example: 'chat' })
  dictValue: string;
}

export class UpdateDictionaryEntryBody extends DictionaryEntryDetails {
  @Id()
  dictCode: number;

  @Text({ ...TYPE_NAME, optional: true })
  dictType?: string;

  @Text({ optional: true, min: 1, max: 100 })
  dictLabel?: string;

  @Text({ optional: true, min: 1, max: 100 })
  dictValue?: string;
}

export class DictionaryTypeView extends View({
  dictId: integer({ example: 1 }),
  dictName: text({ example: 'Model categories' }),
  dictType: text({ example: 'chat_model_category' }),
  remark: nullable(text()),
  createTime: time(),
}) {}

export class DictionaryEntryView extends View({
  dictCode: integer({ example: 1 }),
  dictSort: integer({ example: 1 }),
  sort: integer({ example: 1, description: 'Same as dictSort' }),
  dictLabel: text({ example: 'Chat' }),
  dictValue: text({ example: 'chat' }),
  dictType: text({ example: 'chat_model_category' }),
  cssClass: nullable(text()),
  listClass: nullable(text()),
  isDefault: oneOf(['Y', 'N']),
  seeded: flag({ description: 'Built in: the value cannot change, the entry cannot be deleted' }),
  remark: nullable(text()),
  createTime: time(),
}) {}

export function toDictionaryTypeView(type: DictionaryType): DictionaryTypeView {
  return DictionaryTypeView.of(type, { dictId: type.id });
}

export function toDictionaryEntryView(entry: DictionaryEntry): DictionaryEntryView {
  return DictionaryEntryView.of(entry, { dictCode: entry.id, sort: entry.dictSort });
}

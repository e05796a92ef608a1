import {
  BasedOnRevision,
  flag,
  Id,
  Input,
  integer,
  nullable,
  oneOf,
  OneOf,
  pageFields,
  recordRevision,
  sheetOf,
  text,
  Text,
  time,
  View,
  Whole,
} from '../platform/http/index.js';
import { msg } from '../platform/message/index.js';
import type { DictionaryEntry, DictionaryType } from './dictionary.entity.js';

export const DICTIONARY_TYPE_NAME = /^[a-z][a-z0-9_]*$/;

const TYPE_NAME = {
  max: 100,
  pattern: DICTIONARY_TYPE_NAME,
  patternMessage: msg`must begin with a lower-case letter and contain only a-z, 0-9 and _`,
  example: 'chat_model_category',
};
const SORT = { min: -1_000_000, max: 1_000_000 };
const YES_NO = ['Y', 'N'];

export class DictionaryTypeListQuery extends Input({
  ...pageFields('dictName', 'dictType', 'remark', 'createTime', { dictId: 'id' }),
  dictName: Text({ optional: true, max: 100, description: 'Part of the name' }),
  dictType: Text({ optional: true, max: 100, description: 'Part of the type' }),
}) {}

export class CreateDictionaryTypeBody extends Input({
  dictName: Text({ max: 100, example: 'Model categories' }),
  dictType: Text(TYPE_NAME),
  remark: Text({ optional: true, max: 500 }),
}) {}

export class UpdateDictionaryTypeBody extends Input({
  dictId: Id(),
  revision: BasedOnRevision(),
  dictName: Text({ optional: true, min: 1, max: 100 }),
  dictType: Text({
    ...TYPE_NAME,
    optional: true,
    description: 'Its entries get the new type as well',
  }),
  remark: Text({ optional: true, max: 500 }),
}) {}

export class DictionaryEntryListQuery extends Input({
  ...pageFields(
    'dictSort',
    'dictLabel',
    'dictValue',
    'dictType',
    'cssClass',
    'listClass',
    'isDefault',
    'seeded',
    'remark',
    'createTime',
    { dictCode: 'id', sort: 'dictSort' },
  ),
  dictType: Text({ optional: true, max: 100, example: 'chat_model_category' }),
  dictLabel: Text({ optional: true, max: 100, description: 'Part of the label' }),
  dictValue: Text({ optional: true, max: 100, description: 'Part of the value' }),
}) {}

const dictionaryEntryFields = {
  dictSort: Whole({ ...SORT, optional: true }),
  sort: Whole({ ...SORT, optional: true, description: 'Same as dictSort, which takes precedence' }),
  cssClass: Text({ optional: true, max: 100 }),
  listClass: Text({ optional: true, max: 100 }),
  isDefault: OneOf(YES_NO, { optional: true }),
  remark: Text({ optional: true, max: 500 }),
};

export class CreateDictionaryEntryBody extends Input({
  ...dictionaryEntryFields,
  dictType: Text(TYPE_NAME),
  dictLabel: Text({ max: 100, example: 'Chat' }),
  dictValue: Text({ max: 100, example: 'chat' }),
}) {}

export class UpdateDictionaryEntryBody extends Input({
  ...dictionaryEntryFields,
  dictCode: Id(),
  revision: BasedOnRevision(),
  dictType: Text({ ...TYPE_NAME, optional: true }),
  dictLabel: Text({ optional: true, min: 1, max: 100 }),
  dictValue: Text({ optional: true, min: 1, max: 100 }),
}) {}

export class DictionaryTypeView extends View({
  dictId: integer({ example: 1 }),
  revision: recordRevision(),
  dictName: text({ example: 'Model categories' }),
  dictType: text({ example: 'chat_model_category' }),
  remark: nullable(text()),
  createTime: time(),
}) {}

export const dictionaryTypeSheet = sheetOf<DictionaryTypeView>('Dictionary types', {
  dictId: 'Id',
  dictName: 'Name',
  dictType: 'Type',
  remark: 'Remark',
  createTime: 'Created',
});

export class DictionaryEntryView extends View({
  dictCode: integer({ example: 1 }),
  revision: recordRevision(),
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

export const dictionaryEntrySheet = sheetOf<DictionaryEntryView>('Dictionary entries', {
  dictCode: 'Id',
  dictType: 'Type',
  dictLabel: 'Label',
  dictValue: 'Value',
  dictSort: 'Order',
  isDefault: ['Default', { Y: 'Yes', N: 'No' }],
  remark: 'Remark',
  createTime: 'Created',
});

export function toDictionaryTypeView(type: DictionaryType): DictionaryTypeView {
  return DictionaryTypeView.of(type, { dictId: type.id });
}

export function toDictionaryEntryView(entry: DictionaryEntry): DictionaryEntryView {
  return DictionaryEntryView.of(entry, { dictCode: entry.id, sort: entry.dictSort });
}

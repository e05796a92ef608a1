import type { DictionaryEntryView, DictionaryTypeView } from '@plinth/client';
import type { TFunction } from 'i18next';
import type texts from './texts.en.json';

type Word = keyof (typeof texts)['dictionary']['words'];

/** Dictionary types that every tenant has. */
const TYPES: ReadonlySet<string> = new Set([
  'chat_model_category',
  'sys_grant_type',
  'sys_device_type',
  'sys_user_sex',
  'sys_normal_disable',
  'sys_common_status',
  'sys_oper_type',
]);

/** Default names of the built-in types and entries, with the console's texts for them. */
const WORDS: Readonly<Record<string, Word>> = {
  'Model categories': 'modelCategories',
  Chat: 'chat',
  Embedding: 'embedding',
  Reranking: 'reranking',
  'Image generation': 'image',
  'Speech generation': 'speech',
  'Video generation': 'video',
  'Grant types': 'grantTypes',
  Password: 'password',
  'Text message': 'sms',
  'E-mail': 'email',
  'Social account': 'social',
  'Mini program': 'miniProgram',
  'Device types': 'deviceTypes',
  PC: 'pc',
  Android: 'android',
  iOS: 'ios',
  Sex: 'sex',
  Male: 'male',
  Female: 'female',
  'Not specified': 'notSpecified',
  'Enabled or disabled': 'enabledOrDisabled',
  Enabled: 'enabled',
  Disabled: 'disabled',
  'Done or failed': 'doneOrFailed',
  Done: 'done',
  Failed: 'failed',
  'Operation types': 'operationTypes',
  Create: 'create',
  Change: 'change',
  Delete: 'delete',
  Permissions: 'permissions',
  'End of a sign-in': 'signInEnd',
  Other: 'other',
};

/** The name of a type in the language of the page, unless a user has changed it. */
export function typeName(
  t: TFunction<'administration'>,
  { dictType, dictName }: Pick<DictionaryTypeView, 'dictType' | 'dictName'>,
): string {
  return translated(t, dictType, dictName);
}

/** The label of an entry in the language of the page, unless a user has changed it. */
export function entryLabel(
  t: TFunction<'administration'>,
  { dictType, dictLabel }: Pick<DictionaryEntryView, 'dictType' | 'dictLabel'>,
): string {
  return translated(t, dictType, dictLabel);
}

function translated(t: TFunction<'administration'>, type: string, text: string): string {
  const word = TYPES.has(type) ? WORDS[text] : undefined;
  return word ? t(`dictionary.words.${word}`) : text;
}

import { knowledgeSettings } from '@plinth/client';
import type { KnowledgeView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { language } from '../i18n';
import { number } from '../ui/format';

export type Field = keyof typeof knowledgeSettings;
export type Settings = Pick<KnowledgeView, Field>;

/** Definition of a setting in the service's table of settings. */
export interface SettingInfo {
  readonly kind: 'line' | 'paragraph' | 'model' | 'whole' | 'decimal' | 'switch' | 'choice';
  readonly section: Section;
  /** The setting that must be enabled for this one to have an effect. */
  readonly onlyWith?: Field;
  /** The parsing result that depends on the setting. Changing `vectors` requires parsing all documents again. */
  readonly parsing?: 'fragments' | 'vectors';
  /** Whether the setting may be null. */
  readonly optional?: boolean;
  readonly required?: boolean;
  readonly category?: string;
  readonly min?: number;
  readonly max?: number;
  readonly step?: number;
}

export type Section = (typeof knowledgeSettings)[Field]['section'];

const SETTINGS: Readonly<Record<Field, SettingInfo>> = knowledgeSettings;

/** Settings of a base, in form order. */
export const FIELDS = Object.keys(SETTINGS) as Field[];

export const settingInfo = (field: Field): SettingInfo => SETTINGS[field];

/** Whether a change affects a document only after it is parsed again. */
export function needsParsing(field: Field): boolean {
  return SETTINGS[field].parsing !== undefined;
}

/** Whether the service refuses a change unless all parsed documents are parsed again. */
export function requiresParsing(field: Field): boolean {
  return SETTINGS[field].parsing === 'vectors';
}

/** Picks the settings from the fields of a base. */
export function settingsOf(base: KnowledgeView): Settings {
  return Object.fromEntries<unknown>(FIELDS.map((field) => [field, base[field]])) as Settings;
}

export function changedOf(base: Settings, values: Partial<Settings>): Field[] {
  return FIELDS.filter((field) => field in values && values[field] !== base[field]);
}

/** Whether the setting has an effect, that is, whether the setting that it depends on is enabled. */
export function isEffective(field: Field, values: Settings): boolean {
  const { onlyWith } = SETTINGS[field];
  if (onlyWith === undefined) return true;
  const needed = values[onlyWith];
  return needed !== 0 && needed !== '' && needed !== 'none';
}

/** Formats a setting for a comparison. */
export function useShownSetting(): (
  field: Field,
  value: string | number | null | undefined,
) => string {
  const { t } = useTranslation('knowledge');
  return (field, value) => {
    if (field === 'share') return t(value === 1 ? 'base.shared' : 'base.private');
    if (SETTINGS[field].kind === 'switch') return t(value === 1 ? 'on' : 'off');
    if (field === 'neighbours') return t(`neighbours.${value as Settings['neighbours']}`);
    if (field === 'language')
      return languageName(value as Settings['language'], t('language.auto'));
    if (value === null || value === undefined || value === '') return t('none');
    return typeof value === 'number' ? number(value, 3) : value;
  };
}

/** Language codes of PostgreSQL's text search configurations. */
const CODES: Readonly<Record<Exclude<Settings['language'], 'auto'>, string>> = {
  arabic: 'ar',
  armenian: 'hy',
  basque: 'eu',
  catalan: 'ca',
  danish: 'da',
  dutch: 'nl',
  english: 'en',
  finnish: 'fi',
  french: 'fr',
  german: 'de',
  greek: 'el',
  hindi: 'hi',
  hungarian: 'hu',
  indonesian: 'id',
  irish: 'ga',
  italian: 'it',
  lithuanian: 'lt',
  nepali: 'ne',
  norwegian: 'no',
  portuguese: 'pt',
  romanian: 'ro',
  russian: 'ru',
  serbian: 'sr',
  spanish: 'es',
  swedish: 'sv',
  tamil: 'ta',
  turkish: 'tr',
};

function languageName(value: Settings['language'], auto: string): string {
  if (value === 'auto') return auto;
  return new Intl.DisplayNames([language()], { type: 'language' }).of(CODES[value]) ?? value;
}

export function languageChoices(auto: string): { value: Settings['language']; label: string }[] {
  const named = (Object.keys(CODES) as (keyof typeof CODES)[]).map((value) => ({
    value,
    label: languageName(value, auto),
  }));
  named.sort((a, b) => a.label.localeCompare(b.label, language()));
  return [{ value: 'auto', label: auto }, ...named];
}

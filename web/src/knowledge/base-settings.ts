import type { KnowledgeView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { language } from '../i18n';
import { number } from '../ui/format';

/** What people set of a knowledge base, in the order of its form. */
export const FIELDS = [
  'name',
  'description',
  'share',
  'embeddingModel',
  'vectorModel',
  'textBlockSize',
  'overlapChar',
  'separator',
  'language',
  'enableOcr',
  'ocrModel',
  'contextModel',
  'retrieveLimit',
  'similarityThreshold',
  'enableHybrid',
  'hybridAlpha',
  'enableRerank',
  'rerankModel',
  'rerankTopN',
  'rerankScoreThreshold',
  'neighbours',
  'neighbourCharacters',
  'remark',
] as const;

export type Field = (typeof FIELDS)[number];
export type Settings = Pick<KnowledgeView, Field>;

/** Changes of these have an effect on a document when it is parsed again. */
const OF_PARSING: readonly Field[] = [
  'embeddingModel',
  'vectorModel',
  'textBlockSize',
  'overlapChar',
  'separator',
  'language',
  'enableOcr',
  'ocrModel',
  'contextModel',
];

/** The service refuses changes of these without parsing again, once documents are parsed. */
const OF_INDEX: readonly Field[] = ['embeddingModel', 'vectorModel'];

export function needsParsing(field: Field): boolean {
  return OF_PARSING.includes(field);
}

export function requiresParsing(field: Field): boolean {
  return OF_INDEX.includes(field);
}

/** The settings among the fields of a base. */
export function settingsOf(base: KnowledgeView): Settings {
  return {
    name: base.name,
    description: base.description,
    share: base.share,
    embeddingModel: base.embeddingModel,
    vectorModel: base.vectorModel,
    textBlockSize: base.textBlockSize,
    overlapChar: base.overlapChar,
    separator: base.separator,
    language: base.language,
    enableOcr: base.enableOcr,
    ocrModel: base.ocrModel,
    contextModel: base.contextModel,
    retrieveLimit: base.retrieveLimit,
    similarityThreshold: base.similarityThreshold,
    enableHybrid: base.enableHybrid,
    hybridAlpha: base.hybridAlpha,
    enableRerank: base.enableRerank,
    rerankModel: base.rerankModel,
    rerankTopN: base.rerankTopN,
    rerankScoreThreshold: base.rerankScoreThreshold,
    neighbours: base.neighbours,
    neighbourCharacters: base.neighbourCharacters,
    remark: base.remark,
  };
}

export function changedOf(base: Settings, given: Partial<Settings>): Field[] {
  return FIELDS.filter((field) => field in given && given[field] !== base[field]);
}

const FLAGS: readonly Field[] = ['enableOcr', 'enableHybrid', 'enableRerank'];

/** A setting in words, for a comparison. */
export function useShownSetting(): (
  field: Field,
  value: string | number | null | undefined,
) => string {
  const { t } = useTranslation('knowledge');
  return (field, value) => {
    if (FLAGS.includes(field)) return t(value === 1 ? 'on' : 'off');
    if (field === 'share') return t(value === 1 ? 'base.shared' : 'base.private');
    if (field === 'neighbours') return t(`neighbours.${value as Settings['neighbours']}`);
    if (field === 'language')
      return languageName(value as Settings['language'], t('language.auto'));
    if (value === null || value === undefined || value === '') return t('none');
    return typeof value === 'number' ? number(value, 3) : value;
  };
}

/** The languages of PostgreSQL's text search configurations, by their codes. */
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

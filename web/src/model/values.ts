import type { CreateModelBody, ModelKeyBody, ModelView } from '@plinth/client';
import type { Category } from './categories';

/** Left empty: unknown. */
const orEmpty = <Value>(value: Value | null | undefined): Value | '' => value ?? '';

const BOOLEANS = { yes: true, no: false, unknown: '' } as const;

export function booleanText(value: boolean | null | undefined): keyof typeof BOOLEANS {
  return value == null ? 'unknown' : value ? 'yes' : 'no';
}

/** A further key in the form. One that is stored has an id, and its text is not known here. */
export type KeyValues = Required<Omit<ModelKeyBody, 'id'>> & { readonly id?: number };

const KEY = { label: '', apiKey: '', weight: 1, enabled: true };
export const newKey = (): KeyValues => ({ ...KEY });

/** `default`: of a new model, what its provider usually takes. */
export type AuthChoice = ModelView['authType'] | 'default';
export const AUTH_TYPES = ['bearer', 'api-key', 'entra', 'google', 'aws'] as const;

export type ModelValues = ReturnType<typeof valuesOf>;

/** The form of a stored model, or of a new one. */
export function valuesOf(model: ModelView | undefined, category: string) {
  const authType: AuthChoice = model?.authType ?? 'default';
  return {
    revision: model?.revision,
    providerCode: model?.providerCode ?? '',
    category: (model?.category ?? category) as Category,
    apiHost: model?.apiHost ?? '',
    authType,
    apiKey: '',
    modelName: model?.modelName ?? '',
    modelDescribe: model?.modelDescribe ?? '',
    modelShow: (model?.modelShow ?? 'Y') === 'Y',
    strictParameters: model?.strictParameters ?? false,
    modelDimension: orEmpty(model?.modelDimension),
    contextWindow: orEmpty(model?.contextWindow),
    maxOutput: orEmpty(model?.maxOutput),
    supportsTools: booleanText(model?.supportsTools),
    supportsVision: booleanText(model?.supportsVision),
    inputPrice: orEmpty(model?.inputPrice),
    outputPrice: orEmpty(model?.outputPrice),
    cachedInputPrice: orEmpty(model?.cachedInputPrice),
    imagePrice: orEmpty(model?.imagePrice),
    secondPrice: orEmpty(model?.secondPrice),
    characterPrice: orEmpty(model?.characterPrice),
    batchPriceFactor: orEmpty(model?.batchPriceFactor),
    remark: model?.remark ?? '',
    fallbackIds: (model?.fallbackIds ?? []).map(String),
    keyWeight: model?.keyWeight ?? 1,
    keys: (model?.keys ?? []).map((key): KeyValues => ({ ...key, apiKey: '' })),
  };
}

/** Whether models of the category can have further keys and fallbacks. */
export function hasAlternatives(category: Category): boolean {
  return category === 'chat' || category === 'vector' || category === 'rerank';
}

/** What both writing routes take. An empty key keeps the stored one; any other field that is empty is cleared. */
export function bodyOf({
  apiKey,
  authType,
  keys,
  fallbackIds,
  ...values
}: ModelValues): CreateModelBody & { readonly revision?: number | undefined } {
  const has = hasAlternatives(values.category);
  return {
    ...values,
    ...(apiKey !== '' && { apiKey }),
    ...(authType !== 'default' && { authType }),
    modelShow: values.modelShow ? 'Y' : 'N',
    supportsTools: BOOLEANS[values.supportsTools],
    supportsVision: BOOLEANS[values.supportsVision],
    fallbackIds: has ? fallbackIds.map(Number) : [],
    keys: has ? keys : [],
  };
}

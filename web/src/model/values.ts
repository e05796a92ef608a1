import type { CreateModelBody, ModelKeyBody, ModelView } from '@plinth/client';
import type { Category } from './categories';

/** A number field; empty if unknown. */
const orEmpty = <Value>(value: Value | null | undefined): Value | '' => value ?? '';

const BOOLEANS = { yes: true, no: false, unknown: '' } as const;

export function booleanText(value: boolean | null | undefined): keyof typeof BOOLEANS {
  return value == null ? 'unknown' : value ? 'yes' : 'no';
}

/** An additional key in the form. A stored key has an id; its text is never sent to the page. */
export type KeyValues = Required<Omit<ModelKeyBody, 'id'>> & { readonly id?: number };

const KEY = { label: '', apiKey: '', weight: 1, enabled: true };
export const newKey = (): KeyValues => ({ ...KEY });

/** `default` applies to a new model and means the provider's usual value. */
export type AuthChoice = ModelView['authType'] | 'default';
export const AUTH_TYPES = ['bearer', 'api-key', 'entra', 'google', 'aws'] as const;

export type ModelValues = ReturnType<typeof valuesOf>;

/** Form values of a stored or new model. */
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

/** Whether models of the category can have additional keys and fallbacks. */
export function hasAlternatives(category: Category): boolean {
  return category === 'chat' || category === 'vector' || category === 'rerank';
}

/** Request body of both write routes. An empty key keeps the stored one; other empty fields are cleared. */
export function bodyOf({
  apiKey,
  authType,
  keys,
  fallbackIds,
  ...values
}: ModelValues): CreateModelBody & { readonly revision?: number | undefined } {
  const supportsAlternatives = hasAlternatives(values.category);
  return {
    ...values,
    ...(apiKey !== '' && { apiKey }),
    ...(authType !== 'default' && { authType }),
    modelShow: values.modelShow ? 'Y' : 'N',
    supportsTools: BOOLEANS[values.supportsTools],
    supportsVision: BOOLEANS[values.supportsVision],
    fallbackIds: supportsAlternatives ? fallbackIds.map(Number) : [],
    keys: supportsAlternatives ? keys : [],
  };
}

import type { Session } from './session.js';

export interface ModelFields {
  readonly modelName: string;
  readonly providerCode?: string;
  readonly category?: string;
  readonly apiHost: string;
  readonly apiKey?: string;
  readonly [field: string]: unknown;
}

/** Creates a provider and expects it to be accepted. */
export async function createProvider(admin: Session, providerCode: string): Promise<void> {
  const answer = await admin.post('/system/provider', {
    providerName: `Provider ${providerCode}`,
    providerCode,
  });
  if (answer.code !== 200) throw new Error(answer.msg);
}

/** Creates a chat model and answers its id. */
export async function createModel(admin: Session, fields: ModelFields): Promise<number> {
  const { providerCode = 'custom_api', category = 'chat', ...rest } = fields;
  const answer = await admin.post('/system/model', { providerCode, category, ...rest });
  if (answer.code !== 200) throw new Error(answer.msg);
  const list = await admin.get<{ id: number; modelName: string }[]>(
    `/system/model/list?modelName=${encodeURIComponent(fields.modelName)}`,
  );
  const created = list.rows.find((row) => row.modelName === fields.modelName);
  if (!created) throw new Error(`Model ${fields.modelName} is not in the list.`);
  return created.id;
}

import type { Simulator } from '../../../simulator/index.js';
import { createModel, createProvider } from '../models.js';
import type { Session } from '../session.js';

const CATEGORIES = { image: 'image', speech: 'audio', video: 'video' };

/** Creates the models sync-image, sync-speech, sync-video and the same of async-, which the simulator answers. */
export async function createMediaModels(
  admin: Session,
  simulator: Simulator,
  apiKey = 'key-of-media',
): Promise<void> {
  for (const way of ['sync', 'async']) {
    const providerCode = `media_${way}`;
    await createProvider(admin, providerCode);
    for (const [made, category] of Object.entries(CATEGORIES)) {
      const modelName = `${way}-${made}`;
      await createModel(admin, {
        modelName,
        category,
        providerCode,
        apiHost: simulator.url,
        apiKey,
      });
    }
  }
}

/** Has the simulator answer the next lookup of the prediction. */
export function scriptPrediction(
  simulator: Simulator,
  id: string,
  data: { readonly status: string; readonly url?: string; readonly id?: string },
): void {
  const { url, status } = data;
  const outputs = url === undefined ? null : [url];
  simulator.script({
    match: { path: `/model/prediction/${id}` },
    body: { code: 200, data: { id: data.id ?? id, status, outputs } },
  });
}

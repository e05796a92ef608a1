import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { z } from 'zod';
import { systemCaller, TenantRevision } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { ModelService } from '../model/index.js';
import { ProviderService, ProviderUnavailableError } from '../provider/index.js';
import { DemoKnowledge } from './demo.knowledge.js';
import { defaultRoot, demoRoot, writeDemoWorkspace } from './demo.workspace.js';

/** The first tenant of every installation. */
export const DEMO_TENANT = '000000';

const providers = [
  { providerCode: 'custom_api', providerName: 'Offline demo (chat-completions)', sortOrder: 90 },
  { providerCode: 'custom_messages', providerName: 'Offline demo (messages)', sortOrder: 91 },
  { providerCode: 'ollama', providerName: 'Offline demo (ollama)', sortOrder: 92 },
  { providerCode: 'media_sync', providerName: 'Offline demo (media at once)', sortOrder: 93 },
  { providerCode: 'media_async', providerName: 'Offline demo (media as tasks)', sortOrder: 94 },
];

const CHAT_MODEL = 'demo-chat-paced';
const EMBEDDING_MODEL = 'demo-embedding-384';

const models = [
  {
    category: 'chat',
    modelName: CHAT_MODEL,
    modelDescribe: 'Offline demo: chat',
    providerCode: 'custom_api',
    path: '/v1',
  },
  {
    category: 'chat',
    modelName: 'demo-reasoner-paced',
    modelDescribe: 'Offline demo: chat with thinking',
    providerCode: 'custom_api',
    path: '/v1',
  },
  {
    category: 'chat',
    modelName: 'demo-messages-paced',
    modelDescribe: 'Offline demo: messages protocol',
    providerCode: 'custom_messages',
    path: '/v1',
  },
  {
    category: 'chat',
    modelName: 'demo-local-paced',
    modelDescribe: 'Offline demo: local model runtime',
    providerCode: 'ollama',
    path: '',
  },
  {
    category: 'vector',
    // The simulator reads the dimension from the name.
    modelName: EMBEDDING_MODEL,
    modelDimension: 384,
    modelDescribe: 'Offline demo: embedding',
    providerCode: 'custom_api',
    path: '/v1',
  },
  {
    category: 'rerank',
    modelName: 'demo-rerank',
    modelDescribe: 'Offline demo: rerank',
    providerCode: 'custom_api',
    path: '/v1',
  },
  {
    category: 'image',
    modelName: 'demo-image',
    modelDescribe: 'Offline demo: image',
    providerCode: 'media_sync',
    path: '/v1',
  },
  {
    category: 'audio',
    modelName: 'demo-speech',
    modelDescribe: 'Offline demo: speech',
    providerCode: 'media_sync',
    path: '/v1',
  },
  {
    category: 'video',
    modelName: 'demo-video',
    modelDescribe: 'Offline demo: video',
    providerCode: 'media_sync',
    path: '/v1',
  },
  {
    category: 'image',
    modelName: 'demo-image-task',
    modelDescribe: 'Offline demo: image as a task',
    providerCode: 'media_async',
    path: '/api/v1',
  },
  {
    category: 'audio',
    modelName: 'demo-speech-task',
    modelDescribe: 'Offline demo: speech as a task',
    providerCode: 'media_async',
    path: '/api/v1',
  },
  {
    category: 'video',
    modelName: 'demo-video-task',
    modelDescribe: 'Offline demo: video as a task',
    providerCode: 'media_async',
    path: '/api/v1',
  },
];

/** The model of the harness demo; with prices, so that a run has a cost. */
const coder = {
  category: 'chat',
  modelName: 'demo-coder-paced',
  modelDescribe: 'Offline demo: coding harness',
  // This model follows the rules of the harness demo and is not meant for chats.
  modelShow: 'N' as const,
  providerCode: 'custom_api',
  path: '/v1',
  contextWindow: 64_000,
  maxOutput: 8_192,
  supportsTools: true,
  inputPrice: 0.5,
  outputPrice: 1.5,
};

/**
 * Records that the demo was set up, the address of its simulator, former ones that models still have, and the folders in which
 * the repository was made. Older files have no `coder`, no `former` or no `roots`.
 */
const markSchema = z.object({
  url: z.string(),
  former: z.array(z.string()).default([]),
  coder: z.boolean().default(false),
  roots: z.array(z.string()).optional(),
});
type Mark = z.output<typeof markSchema>;

/**
 * Sets up providers and models for the simulator once per DATA_DIR, and a repository for the coder once per folder of
 * workspaces: what an administrator deletes stays deleted. When the port of the simulator changes, the addresses of the models
 * are updated. Models of a provider that is not enabled are left out, or left as they are until it is.
 */
@Injectable()
export class DemoSeed {
  private readonly logger = new Logger('Demo');
  private readonly markFile: string;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly providers: ProviderService,
    private readonly models: ModelService,
    private readonly knowledge: DemoKnowledge,
    private readonly revision: TenantRevision,
  ) {
    this.markFile = join(config.DATA_DIR, 'demo.json');
  }

  async apply(url: string): Promise<void> {
    const caller = systemCaller(DEMO_TENANT, await this.revision.current(DEMO_TENANT));
    const mark = await this.readMark();
    const former: string[] = [];
    if (!mark) await this.create(caller, url);
    for (const from of new Set(mark ? [mark.url, ...mark.former] : [])) {
      if (from !== url && !(await this.updateAddresses(caller, from, url))) former.push(from);
    }
    // Separate, because older installations have the demo without it.
    if (!mark?.coder) await this.createModel(caller, url, coder);
    const roots = await this.createWorkspace(mark);
    await mkdir(this.config.DATA_DIR, { recursive: true });
    const next: Mark = { url, former, coder: true, roots };
    await writeFile(this.markFile, JSON.stringify(next));
  }

  /** Answers all folders in which the repository was made. One that cannot be written is tried again at the next start. */
  private async createWorkspace(mark: Mark | undefined): Promise<string[]> {
    const usual = defaultRoot(this.config, DEMO_TENANT);
    // Demos from before the folders were recorded created the repository in this folder only.
    const recordedRoots = mark?.roots ?? (mark?.coder ? [usual] : []);
    const root = demoRoot(this.config, DEMO_TENANT);
    if (root === undefined || recordedRoots.includes(root)) return recordedRoots;
    try {
      if (root === usual) await mkdir(root, { recursive: true, mode: 0o700 });
      await writeDemoWorkspace(root);
      return [...recordedRoots, root];
    } catch (error) {
      this.logger.warn({ msg: 'Failed to write the example repository', folder: root, err: error });
      return recordedRoots;
    }
  }

  private async create(caller: Caller, url: string): Promise<void> {
    for (const provider of providers) {
      const { total } = await this.providers.list(caller, { providerCode: provider.providerCode });
      if (total === 0) {
        await this.providers.create(caller, { ...provider, apiHost: `${url}/v1`, status: 0 });
      }
    }
    for (const model of models) await this.createModel(caller, url, model);
    const { rows } = await this.models.list(caller, {});
    const chat = rows.find(({ modelName }) => modelName === CHAT_MODEL);
    if (chat) await this.knowledge.create(caller, { embedding: EMBEDDING_MODEL, chatId: chat.id });
  }

  /** Leaves a model of the name as it is: a set-up that failed half-way is repeated. */
  private async createModel(
    caller: Caller,
    url: string,
    { path, ...model }: (typeof models)[number] | typeof coder,
  ): Promise<void> {
    const { modelName } = model;
    const { rows } = await this.models.list(caller, { modelName });
    if (rows.some((row) => row.modelName === modelName)) return;
    await this.unlessUnavailable(modelName, () =>
      this.models.create(caller, {
        ...model,
        apiHost: url + path,
        apiKey: 'offline-demo',
        remark: 'Answers come from the built-in simulator, not from a real model.',
      }),
    );
  }

  /** Updates the models that still have a former address of the simulator. Answers whether none has it any more. */
  private async updateAddresses(caller: Caller, from: string, to: string): Promise<boolean> {
    const { rows } = await this.models.list(caller, {});
    let isDone = true;
    for (const { id, providerCode, modelName, category, apiHost } of rows) {
      if (apiHost !== from && !apiHost.startsWith(`${from}/`)) continue;
      const moved = to + apiHost.slice(from.length);
      const change = { id, providerCode, modelName, category, apiHost: moved };
      const update = () => this.models.update(caller, change);
      isDone = (await this.unlessUnavailable(modelName, update)) && isDone;
    }
    return isDone;
  }

  /** Whether the model could be saved: an administrator may have disabled its provider, or deleted it. */
  private async unlessUnavailable(
    modelName: string,
    save: () => Promise<unknown>,
  ): Promise<boolean> {
    try {
      await save();
      return true;
    } catch (error) {
      if (!(error instanceof ProviderUnavailableError)) throw error;
      this.logger.warn({ msg: 'Demo model skipped', modelName, err: error });
      return false;
    }
  }

  private async readMark(): Promise<Mark | undefined> {
    try {
      return markSchema.parse(JSON.parse(await readFile(this.markFile, 'utf8')));
    } catch {
      // Missing, or incomplete after a crash: the demo is set up again.
      return undefined;
    }
  }
}

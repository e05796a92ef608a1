import { platform } from './platform.js';
import { identity } from './identity.js';
import { grant } from './grant.js';
import { dictionary } from './dictionary.js';
import { provider } from './provider.js';
import { usage } from './usage.js';
import { notice } from './notice.js';
import { model } from './model.js';
import { skill } from './skill.js';
import { vectorStore } from './vector-store.js';
import { metadata } from './metadata.js';
import { knowledge } from './knowledge.js';
import { fragment } from './fragment.js';
import { attach } from './attach.js';
import { source } from './source.js';
import { retrieval } from './retrieval.js';
import { langchain } from './langchain.js';
import { media } from './media.js';
import { mcp } from './mcp.js';
import { web } from './web.js';
import { agent } from './agent.js';
import { apikey } from './apikey.js';
import { chat } from './chat.js';
import { harness } from './harness.js';
import { schedule } from './schedule.js';
import { compatibleApi } from './compatible-api.js';
import { mcpServer } from './mcp-server.js';
import { oauth } from './oauth.js';
import { compat } from './compat.js';

/** The texts by the folder that has a template first; test/architecture/messages.spec.ts compares them with the sources. */
export const parts: readonly Readonly<Record<string, string>>[] = [
  platform,
  identity,
  grant,
  dictionary,
  provider,
  usage,
  notice,
  model,
  skill,
  vectorStore,
  metadata,
  knowledge,
  fragment,
  attach,
  source,
  retrieval,
  langchain,
  media,
  mcp,
  web,
  agent,
  apikey,
  chat,
  harness,
  schedule,
  compatibleApi,
  mcpServer,
  oauth,
  compat,
];

export const chinese: ReadonlyMap<string, string> = new Map(parts.flatMap(Object.entries<string>));

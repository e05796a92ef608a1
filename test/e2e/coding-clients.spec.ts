import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { overrideConstants } from '../support/override-constants.js';
import { CHAT_LIMITS } from '../../src/model/index.js';
import { createAgent } from '../support/agents.js';
import { makeKey } from '../support/api-keys.js';
import { createModel, createProvider } from '../support/models.js';
import { Plinth } from '../support/plinth.js';
import { runProgram } from '../support/programs.js';
import type { Session } from '../support/session.js';
import { startStrictUpstreams, STRICT_SERVICES } from '../support/strict-upstreams.js';
import type { StrictService, StrictUpstreams, ToolChooser } from '../support/strict-upstreams.js';

/**
 * Codex CLI, Claude Code and opencode, unchanged, let a model run one command, and call one tool of POST /mcp. `.ci/run` installs them and names their folder in
 * PLINTH_CODING_CLIENTS; without it the suite is skipped (docs/TESTING.md).
 */
const folder = process.env['PLINTH_CODING_CLIENTS'] ?? '';
const isInstalled = existsSync(join(folder, 'node_modules/.bin/codex'));
if (!isInstalled)
  process.stdout.write('Skipped: PLINTH_CODING_CLIENTS names no folder with them.\n');

/** A client starts in some seconds where the machine is idle. */
const CLIENT_MS = 240_000;
const COMMAND = 'echo plinth-$((6*7))';
const OUTPUT = 'plinth-42';

/** The tools with which the clients run commands. */
const COMMAND_TOOLS: Readonly<Record<string, Record<string, unknown>>> = {
  exec_command: { cmd: COMMAND },
  shell_command: { command: COMMAND },
  shell: { command: ['bash', '-c', COMMAND] },
  Bash: { command: COMMAND, description: 'Prints a word' },
  bash: { command: COMMAND, description: 'Prints a word' },
};

/** The tool of Plinth that is called, for a question that names it; clients put the name of the server before it. */
const PLINTH_TOOL = 'list_agents';
const AGENT = 'Clerk of the clients';
const QUESTION = `Call ${PLINTH_TOOL}`;

const runCommand: ToolChooser = (offered, question, steps) => {
  if (steps > 0) return undefined;
  if (question.includes(PLINTH_TOOL)) {
    const tool = offered.find((one) => one.endsWith(PLINTH_TOOL));
    return tool === undefined ? undefined : { name: tool, input: {} };
  }
  const name = offered.find((one) => COMMAND_TOOLS[one] !== undefined);
  const input = name === undefined ? undefined : COMMAND_TOOLS[name];
  return name === undefined || input === undefined ? undefined : { name, input };
};

let upstreams: StrictUpstreams;
let plinth: Plinth;
let admin: Session;
let apiKey: string;
let home: string;

const describeInstalled = isInstalled ? describe : describe.skip;

describeInstalled('a coding client', () => {
  overrideConstants(CHAT_LIMITS, { attempts: 1 });

  beforeAll(async () => {
    upstreams = await startStrictUpstreams(runCommand);
    plinth = await Plinth.start();
    admin = await plinth.signIn();
    await createService('deepseek', 'deepseek-v4-pro');
    const modelId = await createService('anthropic', 'claude-sonnet-4-5');
    await createAgent(admin, modelId, { agentName: AGENT });
    await createService('responses', 'gpt-5.1-codex');
    ({ key: apiKey } = await makeKey(admin, { permissions: ['chat:chat:use'] }));
  });

  beforeEach(async () => {
    upstreams.reset();
    home = await mkdtemp(join(tmpdir(), 'plinth-client-'));
    await mkdir(join(home, 'work'));
  });

  // A client may still write when its process has ended.
  afterEach(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));

  afterAll(async () => {
    await plinth.stop();
    await upstreams.stop();
  });

  it.each(['claude-sonnet-4-5', 'deepseek-v4-pro'])(
    'named Claude Code runs a command for %s',
    async (model) => {
      const said = await run(
        ['claude', '-p', 'Run the command', '--model', model, '--allowedTools', 'Bash'],
        claudeSettings(model),
      );
      expect(said).toContain(OUTPUT);
    },
    CLIENT_MS,
  );

  it(
    'named Claude Code calls a tool of Plinth',
    async () => {
      const authorization = { Authorization: `Bearer ${apiKey}` };
      const plinthServer = { type: 'http', url: `${plinth.url}/mcp`, headers: authorization };
      const config = JSON.stringify({ mcpServers: { plinth: plinthServer } });
      const options = ['--mcp-config', config, '--allowedTools', `mcp__plinth__${PLINTH_TOOL}`];
      const said = await run(
        ['claude', '-p', QUESTION, '--model', 'claude-sonnet-4-5', ...options],
        // Without the search over tools, which the scripted model does not do.
        { ...claudeSettings('claude-sonnet-4-5'), ENABLE_TOOL_SEARCH: 'false' },
      );
      expect(said).toContain(AGENT);
    },
    CLIENT_MS,
  );

  it.each(['gpt-5.1-codex', 'deepseek-v4-pro'])(
    'named Codex runs a command for %s',
    async (model) => {
      expect(await runCodex(model, 'Run the command')).toContain(OUTPUT);
    },
    CLIENT_MS,
  );

  it(
    'named Codex calls a tool of Plinth',
    async () => {
      const server = `[mcp_servers.plinth]
url = "${plinth.url}/mcp"
bearer_token_env_var = "PLINTH_KEY"
`;
      expect(await runCodex('deepseek-v4-pro', QUESTION, server)).toContain(AGENT);
    },
    CLIENT_MS,
  );

  it.each(['gpt-5.1-codex', 'claude-sonnet-4-5'])(
    'named opencode runs a command for %s',
    async (model) => {
      expect(await runOpencode(model, 'Run the command')).toContain(OUTPUT);
    },
    CLIENT_MS,
  );

  it(
    'named opencode calls a tool of Plinth',
    async () => {
      const headers = { Authorization: `Bearer ${apiKey}` };
      const mcp = {
        plinth: { type: 'remote', url: `${plinth.url}/mcp`, headers, oauth: false, enabled: true },
      };
      expect(await runOpencode('claude-sonnet-4-5', QUESTION, { mcp })).toContain(AGENT);
    },
    CLIENT_MS,
  );
});

function claudeSettings(model: string): Record<string, string> {
  return {
    ANTHROPIC_BASE_URL: plinth.url,
    ANTHROPIC_AUTH_TOKEN: apiKey,
    ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    IS_SANDBOX: '1',
  };
}

async function runCodex(model: string, question: string, settings = ''): Promise<string> {
  await mkdir(join(home, '.codex'));
  await writeFile(
    join(home, '.codex/config.toml'),
    `model = "${model}"
model_provider = "plinth"
[model_providers.plinth]
name = "Plinth"
base_url = "${plinth.url}/v1"
env_key = "PLINTH_KEY"
wire_api = "responses"
${settings}`,
  );
  const how = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
  return run(['codex', 'exec', ...how, question], { PLINTH_KEY: apiKey });
}

async function runOpencode(model: string, question: string, settings = {}): Promise<string> {
  const config = {
    $schema: 'https://opencode.ai/config.json',
    autoupdate: false,
    share: 'disabled',
    provider: {
      plinth: {
        npm: '@ai-sdk/openai',
        options: { baseURL: `${plinth.url}/v1`, apiKey },
        models: { [model]: { name: model } },
      },
    },
    permission: { bash: 'allow' },
    ...settings,
  };
  await writeFile(join(home, 'work/opencode.json'), JSON.stringify(config));
  return run(['opencode', 'run', '--model', `plinth/${model}`, question], {
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
  });
}

async function createService(service: StrictService, modelName: string): Promise<number> {
  const { providerCode, path } = STRICT_SERVICES[service];
  await createProvider(admin, providerCode);
  const fields = { modelName, apiHost: upstreams.url + path, apiKey: `key-${service}` };
  return createModel(admin, { ...fields, providerCode, contextWindow: 200_000 });
}

/** What the client prints, errors as well. Rejects where it fails. */
function run(
  [program, ...args]: readonly [string, ...string[]],
  environment: Record<string, string>,
): Promise<string> {
  return runProgram(
    [join(folder, 'node_modules/.bin', program), ...args],
    { HOME: home, TERM: 'dumb', ...environment },
    { cwd: join(home, 'work'), timeout: CLIENT_MS, withErrors: true },
  );
}

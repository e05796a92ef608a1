import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { methods } from '@agentclientprotocol/sdk';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Sandbox } from '../../src/harness/sandbox/sandbox.js';
import { AcpEditor, isAcpBuilt } from '../support/acp-editor.js';
import { makeKey } from '../support/api-keys.js';
import { CODER, startHarness } from '../support/harness.js';
import type { Harness, RunView, SessionView } from '../support/harness.js';
import { PIXELS } from '../support/chat-files.js';
import { done } from '../support/people.js';
import {
  approvalDecision,
  calling,
  planDecision,
  planning,
  sentTo,
} from '../support/scripted-model.js';
import { eventually } from '../support/wait.js';

const LIMIT_MS = 120_000;
const FIX = { path: 'src/add.js', edits: [{ oldText: 'a - b', newText: 'a + b' }] };
const READ = calling('read_file', { path: 'src/add.js' });
const EDIT = calling('edit_file', FIX);

if (!isAcpBuilt) process.stdout.write('Skipped: acp/dist is missing. Build first: npm run build\n');

/** plinth-acp as it is built, run by the client of the protocol's SDK against a service. */
(isAcpBuilt ? describe : describe.skip)('plinth-acp', () => {
  let harness: Harness;
  let environment: Record<string, string>;
  let editor: AcpEditor;
  let hasShell: boolean;
  const source = (): string => join(harness.workspace, 'src/add.js');

  beforeAll(async () => {
    harness = await startHarness();
    const permissions = ['use', 'write', 'approve'].map((one) => `coding:harness:${one}`);
    const { key } = await makeKey(harness.session, { permissions });
    environment = { PLINTH_URL: harness.plinth.url, PLINTH_API_KEY: key, PLINTH_MODEL: CODER };
    const sandbox = harness.plinth.app.get(Sandbox, { strict: false });
    await sandbox.ready();
    hasShell = sandbox.capability.available;
  });

  beforeEach(async () => {
    harness.simulator.reset();
    writeFileSync(source(), 'export function add(a, b) {\n  return a - b;\n}\n');
    editor = await AcpEditor.start(environment);
  });

  afterEach(() => editor.stop());

  afterAll(() => harness.stop());

  const lastRun = async (sessionId: string): Promise<RunView> => {
    const path = `/coding/harness/sessions/${sessionId}/runs`;
    const [run] = done(await harness.session.get<RunView[]>(path)).data;
    if (!run) throw new Error('The session has no run.');
    return run;
  };
  const running = (sessionId: string, ...statuses: string[]): Promise<RunView> =>
    eventually(
      () => lastRun(sessionId),
      ({ status }) => statuses.includes(status),
      LIMIT_MS,
    );

  it('says who it is and what it can do', () => {
    expect(editor.initialized).toMatchObject({
      protocolVersion: 1,
      agentInfo: { name: 'plinth-acp' },
      agentCapabilities: {
        loadSession: true,
        promptCapabilities: { image: true, embeddedContext: true },
        sessionCapabilities: { list: {}, resume: {}, close: {} },
      },
    });
  });

  it(
    'shows a run with its plan, its diff and its questions, and names the session',
    async () => {
      const sessionId = await editor.newSession(harness.workspace);
      harness.script({ text: 'I look.', ...READ }, planning('src/add.js'), EDIT, {
        text: 'Fixed.',
      });
      const response = await editor.prompt(sessionId, 'Fix add()\nIt subtracts.');
      expect(response).toEqual({ stopReason: 'end_turn' });

      expect(readFileSync(source(), 'utf8')).toContain('a + b');
      expect(editor.text('agent_message_chunk')).toMatch(/I look\..*Fixed\./s);
      expect(editor.questions).toMatchObject([
        {
          toolCall: { title: 'Plan, version 1', kind: 'switch_mode' },
          options: [{ kind: 'allow_once' }, { kind: 'reject_once' }],
        },
      ]);
      expect(editor.updates).toContainEqual({
        sessionUpdate: 'plan',
        entries: [{ content: 'Do it', priority: 'medium', status: 'pending' }],
      });
      const calls = editor.calls();
      expect(calls.find(({ kind }) => kind === 'read')).toMatchObject({
        status: 'completed',
        rawInput: { path: 'src/add.js' },
      });
      expect(calls.find(({ kind }) => kind === 'edit')).toMatchObject({
        status: 'completed',
        content: expect.arrayContaining([
          {
            type: 'diff',
            path: source(),
            oldText: 'export function add(a, b) {\n  return a - b;\n}\n',
            newText: 'export function add(a, b) {\n  return a + b;\n}\n',
          },
        ]),
      });
      expect(editor.updates).toContainEqual({
        sessionUpdate: 'session_info_update',
        title: 'Fix add()',
      });
      const session = await harness.session.get<SessionView>(
        `/coding/harness/sessions/${sessionId}`,
      );
      expect(session.data).toMatchObject({ title: 'Fix add()', workspace: harness.workspace });
      expect(editor.updates.some((one) => one.sessionUpdate === 'usage_update')).toBe(true);
    },
    LIMIT_MS,
  );

  it(
    'asks for a change with its diff, and does what the person decides',
    async () => {
      const sessionId = await editor.newSession(harness.workspace);
      editor.answer = ({ toolCall, options }) => {
        const wanted = toolCall.kind === 'edit' ? 'DENY' : 'approve';
        return options.find(({ optionId }) => optionId === wanted)?.optionId ?? '';
      };
      harness.script(READ, planning(), EDIT, { text: 'Not done.' });
      expect(await editor.prompt(sessionId, 'Fix add()')).toEqual({ stopReason: 'end_turn' });

      expect(editor.questions[1]).toMatchObject({
        sessionId,
        toolCall: {
          kind: 'edit',
          status: 'pending',
          content: [{ type: 'diff', path: source(), newText: expect.stringContaining('a + b') }],
          locations: [{ path: source() }],
        },
        options: [
          { optionId: 'APPROVE', kind: 'allow_once' },
          { optionId: 'APPROVE_SESSION', kind: 'allow_always' },
          { optionId: 'DENY', kind: 'reject_once' },
          { optionId: 'DENY_AND_STOP', kind: 'reject_once' },
        ],
      });
      expect(readFileSync(source(), 'utf8')).toContain('a - b');
      expect(editor.calls().find(({ kind }) => kind === 'edit')).toMatchObject({
        status: 'failed',
      });
    },
    LIMIT_MS,
  );

  it(
    'takes what to change in a plan from the next prompt',
    async () => {
      const sessionId = await editor.newSession(harness.workspace);
      const decisions = ['change', 'approve'];
      editor.answer = () => decisions.shift() ?? '';
      harness.script(planning('a.js'), planning('b.js'), { text: 'Done.' });
      expect(await editor.prompt(sessionId, 'Write a.js')).toEqual({ stopReason: 'end_turn' });
      expect(await lastRun(sessionId)).toMatchObject({ status: 'WAITING_FOR_INPUT' });
      expect(await editor.prompt(sessionId, 'Call it b.js')).toEqual({ stopReason: 'end_turn' });
      expect(await lastRun(sessionId)).toMatchObject({
        status: 'COMPLETED',
        plan: { revision: 2, files: ['b.js'], reviewState: 'APPROVED' },
      });
      expect(JSON.stringify(sentTo(harness.simulator).at(-1))).toContain('Call it b.js');
    },
    LIMIT_MS,
  );

  it(
    'withdraws a question that is answered elsewhere',
    async () => {
      const sessionId = await editor.newSession(harness.workspace);
      editor.answer = () => new Promise(() => undefined);
      harness.script(READ, planning(), EDIT, { text: 'Fixed.' });
      const response = editor.prompt(sessionId, 'Fix add()');
      await editor.asked(1);
      const waiting = await running(sessionId, 'WAITING_FOR_INPUT');
      done(await harness.post(waiting, '/plan/approve', planDecision(waiting)));
      await editor.asked(2);
      const { approvalId, body } = approvalDecision(
        await running(sessionId, 'WAITING_FOR_APPROVAL'),
      );
      done(await harness.post(waiting, `/approvals/${approvalId}/resolve`, body));
      expect(await response).toEqual({ stopReason: 'end_turn' });
      expect(readFileSync(source(), 'utf8')).toContain('a + b');
      await eventually(
        () => editor.withdrawn,
        (count) => count === 2,
      );
    },
    LIMIT_MS,
  );

  it(
    'cancels the run',
    async () => {
      const sessionId = await editor.newSession(harness.workspace);
      editor.answer = () => new Promise(() => undefined);
      harness.script(planning('a.js'));
      const response = editor.prompt(sessionId, 'Write a.js');
      await editor.asked(1);
      await editor.agent.notify(methods.agent.session.cancel, { sessionId });
      expect(await response).toEqual({ stopReason: 'cancelled' });
      expect(await lastRun(sessionId)).toMatchObject({ status: 'CANCELLED' });
    },
    LIMIT_MS,
  );

  it(
    'loads a session in another editor, shows what was, and asks again for what waits',
    async () => {
      const sessionId = await editor.newSession(harness.workspace);
      editor.answer = ({ toolCall }) =>
        toolCall.kind === 'switch_mode' ? 'approve' : new Promise(() => undefined);
      harness.script({ text: 'I look.', ...READ }, planning(), EDIT, { text: 'Fixed.' });
      editor.prompt(sessionId, 'Fix add()').catch(() => undefined);
      await editor.asked(2);
      await editor.stop();

      const second = await AcpEditor.start(environment);
      try {
        const loaded = await second.load(sessionId, harness.workspace);
        expect(loaded.modes).toMatchObject({ currentModeId: 'WORKSPACE_WRITE' });
        expect(second.text('user_message_chunk')).toBe('Fix add()');
        expect(second.text('agent_message_chunk')).toContain('I look.');
        await second.asked(1);
        await running(sessionId, 'COMPLETED');
        await eventually(
          () => second.text('agent_message_chunk'),
          (text) => text.includes('Fixed.'),
        );
        expect(second.questions).toMatchObject([{ toolCall: { kind: 'edit' } }]);
        expect(readFileSync(source(), 'utf8')).toContain('a + b');

        const { sessions } = await second.agent.request(methods.agent.session.list, {
          cwd: harness.workspace,
        });
        expect(sessions).toContainEqual({
          sessionId,
          cwd: harness.workspace,
          title: 'Fix add()',
          updatedAt: expect.any(String),
        });
      } finally {
        await second.stop();
      }
      editor = await AcpEditor.start(environment);
    },
    LIMIT_MS,
  );

  it(
    'narrows a run by the mode, and has the models as an option',
    async () => {
      const { sessionId, modes, configOptions } = await editor.create(harness.workspace);
      expect(modes?.availableModes.map(({ id }) => id)).toEqual(['READ_ONLY', 'WORKSPACE_WRITE']);
      expect(configOptions).toMatchObject([
        { id: 'model', category: 'model', currentValue: CODER },
      ]);
      await editor.agent.request(methods.agent.session.setMode, { sessionId, modeId: 'READ_ONLY' });
      const changed = await editor.setOption(sessionId, 'model', CODER);
      expect(changed.configOptions).toMatchObject([{ currentValue: CODER }]);
      harness.script({ text: 'It subtracts.' });
      await editor.prompt(sessionId, 'What does add() do?');
      expect(await lastRun(sessionId)).toMatchObject({ permissionMode: 'READ_ONLY', model: CODER });
      const wider = { sessionId, modeId: 'FULL_ACCESS' };
      await expect(editor.agent.request(methods.agent.session.setMode, wider)).rejects.toThrow(
        'The mode must be one of READ_ONLY, WORKSPACE_WRITE.',
      );
    },
    LIMIT_MS,
  );

  it(
    'sends files of the workspace by their path, embedded ones with their text, and images',
    async () => {
      const sessionId = await editor.newSession(harness.workspace);
      harness.script({ text: 'Seen.' });
      const uri = pathToFileURL(source()).href;
      await editor.prompt(
        sessionId,
        'Look at',
        { type: 'resource_link', name: 'add.js', uri: `${uri}#L1:3` },
        { type: 'resource', resource: { uri, text: 'one ``` two' } },
        { type: 'image', mimeType: 'image/png', data: PIXELS['image/png'].toString('base64') },
      );
      const run = await lastRun(sessionId);
      expect(run['originalRequirement']).toBe(
        'Look at\nsrc/add.js#L1:3\nsrc/add.js\n````\none ``` two\n````',
      );
      const sent = JSON.stringify(harness.simulator.requests.at(-1)?.body);
      expect(sent).toContain('data:image/png;base64,');
    },
    LIMIT_MS,
  );

  it(
    'shows the output of a command, in a terminal where the editor can',
    async () => {
      if (!hasShell) return;
      const command = calling('shell', { command: 'echo plinth-$((6*7)); exit 3' });
      for (const terminalOutput of [false, true]) {
        const own = await AcpEditor.start(environment, { terminalOutput });
        const sessionId = await own.newSession(harness.workspace);
        harness.script(planning(), command, { text: 'Done.' });
        await own.prompt(sessionId, 'Run it');
        await own.stop();
        expect(own.questions[1]).toMatchObject({
          toolCall: {
            kind: 'execute',
            content: [{ content: { text: '```sh\necho plinth-$((6*7)); exit 3\n```' } }],
          },
        });
        const call = own.calls().find(({ kind }) => kind === 'execute');
        expect(call).toMatchObject({ status: 'failed', rawOutput: { exitCode: 3 } });
        if (terminalOutput) {
          const terminal_id = call?.['toolCallId'];
          expect(call).toMatchObject({
            content: [{ type: 'terminal', terminalId: terminal_id }],
            _meta: {
              terminal_info: { terminal_id, cwd: harness.workspace },
              terminal_output: { terminal_id, data: expect.stringContaining('plinth-42') },
              terminal_exit: { terminal_id, exit_code: 3 },
            },
          });
        } else {
          expect(JSON.stringify(call?.['content'])).toContain('plinth-42');
          expect(call?.['_meta']).toEqual({});
        }
      }
    },
    2 * LIMIT_MS,
  );

  it(
    'shows the refusals of the service',
    async () => {
      await expect(editor.newSession('/nowhere')).rejects.toThrow(/folder|workspace/i);
      const sessionId = await editor.newSession(harness.workspace);
      harness.script({ status: 401 });
      await expect(editor.prompt(sessionId, 'Hello')).rejects.toThrow(/./);
      const stranger = await AcpEditor.start({ ...environment, PLINTH_API_KEY: 'sk-none' });
      await expect(stranger.newSession(harness.workspace)).rejects.toThrow(/./);
      await stranger.stop();
    },
    LIMIT_MS,
  );
});

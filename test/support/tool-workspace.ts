import {
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { PolicySubject } from '../../src/harness/protocol/policy.js';
import { loadConfig } from '../../src/platform/config/index.js';
import { HarnessRun } from '../../src/harness/store/harness.entity.js';
import { SecretMask } from '../../src/harness/store/secret-mask.js';
import { RunSkills } from '../../src/harness/store/message.repository.js';
import { ToolError } from '../../src/harness/protocol/tool-call.js';
import type { ReadTool, ToolContext, ToolOutcome } from '../../src/harness/tool/tool.js';
import { Workspace } from '../../src/harness/workspace/workspace.js';
import { layOutside } from './path-attacks.js';

/** Of a service whose secrets are in no file. */
export const noSecrets = new SecretMask(loadConfig({}));

/** A workspace, with an outside beside it, for calling tools without a server. */
export class ToolWorkspace {
  private constructor(
    readonly root: string,
    readonly outside: string,
    readonly workspace: Workspace,
  ) {}

  static async make(): Promise<ToolWorkspace> {
    const place = realpathSync(mkdtempSync(join(tmpdir(), 'plinth-tools-')));
    const [root, outside] = [join(place, 'workspace'), join(place, 'outside')];
    mkdirSync(root);
    layOutside(outside);
    const { dev, ino } = statSync(root, { bigint: true });
    return new ToolWorkspace(root, outside, await Workspace.open(root, `${dev}:${ino}`));
  }

  put(path: string, content: string | Uint8Array = 'inside\n'): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), content);
  }

  link(path: string, target: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    symlinkSync(target, join(this.root, path));
  }

  context(over: Partial<ToolContext> = {}): ToolContext {
    return {
      run: Object.assign(new HarnessRun(), { id: 'run', tenantId: '000000' }),
      workspace: this.workspace,
      seen: { get: () => undefined },
      skills: new RunSkills([]),
      toolCallId: 'call',
      signal: new AbortController().signal,
      ...over,
    };
  }

  /** What the policy is told. */
  subject<Input>(tool: ReadTool<Input>, input: Input): Promise<PolicySubject> {
    return tool.subject(tool.input.parse(input), this.context());
  }

  /** Calls the tool as a run does, as if the policy allowed it. */
  async call<Input>(
    tool: ReadTool<Input>,
    input: Input,
    over: Partial<ToolContext> = {},
  ): Promise<ToolOutcome> {
    const context = this.context(over);
    const parsed = tool.input.parse(input);
    await tool.subject(parsed, context);
    return tool.run(parsed, context);
  }

  /** The code of the ToolError that the call ends with; its content when it succeeds. */
  async codeOf<Input>(tool: ReadTool<Input>, input: Input): Promise<string> {
    try {
      return (await this.call(tool, input)).content;
    } catch (error) {
      if (error instanceof ToolError) return error.code;
      throw error;
    }
  }

  async remove(): Promise<void> {
    await this.workspace.close();
    rmSync(dirname(this.root), { recursive: true, force: true });
  }
}

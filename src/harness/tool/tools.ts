import type { Provider, Type } from '@nestjs/common';
import { z } from 'zod';
import type { ToolDefinition } from '../../provider/index.js';
import type { EffectClass } from '../../effect/index.js';
import { ApplyPatchTool } from './editing/apply-patch.tool.js';
import { DeleteFileTool, EditFileTool, WriteFileTool } from './editing/edit.tools.js';
import {
  AskUserTool,
  PlanCreateTool,
  PlanStepTool,
  ActivateSkillTool,
  ReadSkillResourceTool,
} from './plan.tools.js';
import { GlobFilesTool, SearchTextTool } from './reading/search.tools.js';
import { ListFilesTool, ReadFileTool } from './reading/read.tools.js';
import { ShellCommandTool } from './shell.tool.js';
import type { HarnessTool, OfferFacts } from './tool.js';

/** Every tool by its name on the wire, in the order in which models are offered them. A new tool is one line here. */
const TOOLS = {
  list_files: ListFilesTool,
  read_file: ReadFileTool,
  glob_files: GlobFilesTool,
  search_text: SearchTextTool,
  edit_file: EditFileTool,
  write_file: WriteFileTool,
  apply_patch: ApplyPatchTool,
  delete_file: DeleteFileTool,
  shell: ShellCommandTool,
  plan_create: PlanCreateTool,
  plan_step: PlanStepTool,
  ask_user: AskUserTool,
  activate_skill: ActivateSkillTool,
  read_skill_resource: ReadSkillResourceTool,
} as const satisfies Record<string, Type<HarnessTool>>;

export const TOOL_NAMES: readonly string[] = Object.keys(TOOLS);

/** Properties that decide whether a tool is offered. */
interface Offered extends Pick<HarnessTool, 'refusal'> {
  readonly effectClass: EffectClass;
}

/** The tools of the service, and which of them a run is offered. */
export class ToolRegistry {
  private readonly tools: ReadonlyMap<string, HarnessTool>;
  private readonly schemas: ReadonlyMap<string, JsonSchema>;

  /** Fails unless the names of the tools are exactly those of the catalogue. */
  constructor(tools: readonly HarnessTool[]) {
    this.tools = new Map(tools.map((tool) => [tool.name, tool]));
    this.schemas = new Map(tools.map(({ name, input }) => [name, schemaOf(input)]));
    const missing = TOOL_NAMES.filter((name) => !this.tools.has(name));
    const unknown = tools.map(({ name }) => name).filter((name) => !TOOL_NAMES.includes(name));
    if (missing.length === 0 && tools.length === TOOL_NAMES.length) return;
    throw new Error(
      `The tools differ from the catalogue in tool/tools.ts. Missing: ${missing.join(', ') || 'none'}. Not listed: ${unknown.join(', ') || 'none'}.`,
    );
  }

  find(name: string): HarnessTool | undefined {
    return this.tools.get(name);
  }

  /**
   * Why the tool is not offered now; undefined when it is. The list that the model gets and the check before a call is
   * executed both ask here. The effect class decides first; a tool can only restrict further.
   */
  refusal(tool: Offered, facts: OfferFacts): string | undefined {
    return classRefusal(tool, facts) ?? tool.refusal?.(facts);
  }

  /** The definitions of the tools that a model is offered now; skill tools list the names of the run's skills. */
  definitions(facts: OfferFacts, skillNames: readonly string[]): ToolDefinition[] {
    return [...this.tools.values()]
      .filter((tool) => this.refusal(tool, facts) === undefined)
      .map(({ name, description }) => {
        const schema = this.schemas.get(name) ?? {};
        const inputSchema = TAKES_SKILL.has(name) ? withNames(schema, skillNames) : schema;
        return { name, description, inputSchema };
      });
  }
}

/** Providers for the module: every tool, and the registry of them. */
export const toolProviders: Provider[] = [
  ...Object.values(TOOLS),
  {
    provide: ToolRegistry,
    inject: Object.values(TOOLS),
    useFactory: (...tools: HarnessTool[]) => new ToolRegistry(tools),
  },
];

/** A class that is not listed here is never offered. */
function classRefusal({ effectClass }: Offered, facts: OfferFacts): string | undefined {
  switch (effectClass) {
    case 'READ':
    case 'META':
      return undefined;
    case 'FILE':
      return changeRefusal(facts);
    case 'SHELL':
      return changeRefusal(facts) ?? shellRefusal(facts);
    default:
      return 'This tool has no effect class.';
  }
}

function changeRefusal({ permissionMode, phase }: OfferFacts): string | undefined {
  if (permissionMode === 'READ_ONLY') {
    return 'This session is read-only: nothing can be changed or run.';
  }
  return phase === 'BUILD'
    ? undefined
    : 'Changes and commands need an approved plan. Submit one with plan_create.';
}

function shellRefusal(facts: OfferFacts): string | undefined {
  if (!facts.sandboxAvailable) {
    return 'There is no sandbox on this server, so no command can be run.';
  }
  return facts.permissionMode === 'WORKSPACE_WRITE' && facts.approvalPolicy === 'NEVER'
    ? 'Commands need consent in this session, and no one is asked.'
    : undefined;
}

/** Tools whose argument `name` is the name of a skill. */
const TAKES_SKILL: ReadonlySet<string> = new Set(['activate_skill', 'read_skill_resource']);

type JsonSchema = Readonly<Record<string, unknown>>;

function schemaOf(input: HarnessTool['input']): JsonSchema {
  const schema = z.toJSONSchema(input, { io: 'input' });
  delete schema.$schema;
  return schema;
}

function withNames(schema: JsonSchema, names: readonly string[]): JsonSchema {
  const properties = { ...(schema['properties'] as Record<string, JsonSchema> | undefined) };
  return { ...schema, properties: { ...properties, name: { ...properties['name'], enum: names } } };
}

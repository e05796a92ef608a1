import { Injectable } from '@nestjs/common';
import type { ToolDefinition } from '../../provider/index.js';
import { boundTool } from './bound.tool.js';
import type { BoundTool } from './bound.tool.js';
import { ApplyPatchTool } from './editing/apply-patch.tool.js';
import { DeleteFileTool } from './editing/delete-file.tool.js';
import { EditFileTool } from './editing/edit-file.tool.js';
import { MultiEditTool } from './editing/multi-edit.tool.js';
import { WriteFileTool } from './editing/write-file.tool.js';
import { AskUserTool } from './planning/ask-user.tool.js';
import { PlanCreateTool } from './planning/plan-create.tool.js';
import { PlanStepTool } from './planning/plan-step.tool.js';
import { GlobFilesTool } from './reading/glob-files.tool.js';
import { ListFilesTool } from './reading/list-files.tool.js';
import { ReadFileTool } from './reading/read-file.tool.js';
import { SearchTextTool } from './reading/search-text.tool.js';
import { ShellCommandTool } from './shell/shell.tool.js';
import { ActivateSkillTool } from './skill/activate-skill.tool.js';
import { ReadSkillResourceTool } from './skill/read-skill-resource.tool.js';
import type { ToolName } from './tool.js';

/** Every tool class; the module provides them. */
export const toolClasses = [
  ListFilesTool,
  ReadFileTool,
  GlobFilesTool,
  SearchTextTool,
  EditFileTool,
  MultiEditTool,
  WriteFileTool,
  ApplyPatchTool,
  DeleteFileTool,
  ShellCommandTool,
  PlanCreateTool,
  PlanStepTool,
  AskUserTool,
  ActivateSkillTool,
  ReadSkillResourceTool,
];

/** The tools that there are. Which of them a run has, offered-tools.ts says. */
@Injectable()
export class ToolRegistry {
  private readonly tools: ReadonlyMap<string, BoundTool>;

  // One parameter per tool, because each is a class of its own that Nest provides.
  constructor(
    listFiles: ListFilesTool,
    readFile: ReadFileTool,
    globFiles: GlobFilesTool,
    searchText: SearchTextTool,
    editFile: EditFileTool,
    multiEdit: MultiEditTool,
    writeFile: WriteFileTool,
    applyPatch: ApplyPatchTool,
    deleteFile: DeleteFileTool,
    shell: ShellCommandTool,
    planCreate: PlanCreateTool,
    planStep: PlanStepTool,
    askUser: AskUserTool,
    activateSkill: ActivateSkillTool,
    readSkillResource: ReadSkillResourceTool,
  ) {
    const tools: BoundTool[] = [
      boundTool(listFiles),
      boundTool(readFile),
      boundTool(globFiles),
      boundTool(searchText),
      boundTool(editFile),
      boundTool(multiEdit),
      boundTool(writeFile),
      boundTool(applyPatch),
      boundTool(deleteFile),
      boundTool(shell),
      boundTool(planCreate),
      boundTool(planStep),
      boundTool(askUser),
      boundTool(activateSkill),
      boundTool(readSkillResource),
    ];
    this.tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  find(name: string): BoundTool | undefined {
    return this.tools.get(name);
  }

  /** As a model is told of them, in the given order; the tools for skills take the names of those that there are. */
  definitions(names: readonly ToolName[], skillNames: readonly string[]): ToolDefinition[] {
    return names.flatMap((name) => {
      const tool = this.tools.get(name);
      if (!tool) return [];
      const { description, inputSchema } = tool;
      const isOfSkills = OF_SKILLS.includes(name);
      return [
        {
          name,
          description,
          inputSchema: isOfSkills ? withNames(inputSchema, skillNames) : inputSchema,
        },
      ];
    });
  }
}

/** Whose `name` is that of a skill. */
const OF_SKILLS: readonly ToolName[] = ['activate_skill', 'read_skill_resource'];

type JsonSchema = BoundTool['inputSchema'];

function withNames(schema: JsonSchema, names: readonly string[]): JsonSchema {
  const properties = { ...(schema['properties'] as Record<string, JsonSchema> | undefined) };
  return { ...schema, properties: { ...properties, name: { ...properties['name'], enum: names } } };
}

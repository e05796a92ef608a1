import { fileURLToPath } from 'node:url';
import { Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { DomainError } from '../../platform/error/index.js';
import { readSkill, SkillCatalogue } from '../../skill/index.js';
import type { SkillInfo, SkillProblem, SkillRoot } from '../../skill/index.js';
import { sha256 } from '../protocol/ids.js';
import { BUILT_IN } from '../store/run-skills.js';
import type { StoredSkill } from '../store/run-skills.js';

/** Beside this file, wherever the service is started: the build copies them. */
const BUILT_IN_ROOT: SkillRoot = {
  source: BUILT_IN,
  base: fileURLToPath(new URL('./builtin', import.meta.url)),
};

/** Where a workspace keeps skills, in the order of the specification (Coding harness): the first of a name wins. */
const WORKSPACE_FOLDERS = ['.agents/skills', '.claude/skills', '.codex/skills'] as const;

/** All texts of the skills that were found. */
const READ_MS = 30_000;

export type FoundSkill = StoredSkill & Pick<SkillInfo, 'warnings'>;

export interface FoundSkills {
  /** In the order of discovery; each name once. */
  readonly skills: readonly FoundSkill[];
  /** What was left out and what its author can do about it. */
  readonly skipped: readonly SkillProblem[];
}

/** Finds the skills that a run in a workspace may use. */
@Injectable()
export class SkillDiscovery implements OnModuleInit {
  constructor(private readonly catalogue: SkillCatalogue) {}

  /** A harness without its own skills is a broken build, which is told at the start. */
  async onModuleInit(): Promise<void> {
    const { skills, skipped } = await this.inRoots([BUILT_IN_ROOT], new AbortController().signal);
    if (skills.length === 0 || skipped.length > 0) {
      const problems = skipped.map(({ path, reason }) => `${path}: ${reason}`).join(' ');
      throw new Error(
        `The built-in skills in ${BUILT_IN_ROOT.base} cannot be read. Build again. ${problems}`,
      );
    }
  }

  /** The built-in skills, then those of the workspace, as their files are now. */
  async find(workspace: string, signal: AbortSignal): Promise<FoundSkills> {
    const roots = WORKSPACE_FOLDERS.map((folder) => ({ source: folder, base: workspace, folder }));
    return this.inRoots([BUILT_IN_ROOT, ...roots], signal);
  }

  private async inRoots(roots: readonly SkillRoot[], signal: AbortSignal): Promise<FoundSkills> {
    const scan = await this.catalogue.scan(roots, signal);
    const patience = AbortSignal.timeout(READ_MS);
    const skills: FoundSkill[] = [];
    const skipped = [...scan.skipped];
    for (const info of scan.skills) {
      const read = await textOf(info, { signal, patience });
      if ('reason' in read) skipped.push({ path: info.path, reason: read.reason });
      else skills.push(read);
    }
    return { skills, skipped };
  }
}

/** The skill with its text; a file that has changed since it was found is told like one that was never right. */
async function textOf(
  info: SkillInfo,
  { signal, patience }: { readonly signal: AbortSignal; readonly patience: AbortSignal },
): Promise<FoundSkill | { readonly reason: string }> {
  try {
    const { description, body } = await readSkill(info, AbortSignal.any([signal, patience]));
    if (body.includes('\0')) {
      return { reason: 'The text holds a NUL character. Save the file as plain text.' };
    }
    return { ...info, description, body, sha256: sha256(body) };
  } catch (error) {
    if (error instanceof DomainError) return { reason: error.message };
    signal.throwIfAborted();
    if (patience.aborted) return { reason: 'Reading the skills took too long. Try it again.' };
    throw error;
  }
}

/** The row of a skill as a run uses it: its own files may lie elsewhere since the service was installed anew. */
export function relocated(skill: StoredSkill): StoredSkill {
  return skill.source === BUILT_IN ? { ...skill, base: BUILT_IN_ROOT.base } : skill;
}

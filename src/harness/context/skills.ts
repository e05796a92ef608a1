import { fileURLToPath } from 'node:url';
import { Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import { DomainError } from '../../platform/error/index.js';
import { english, msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { readSkill, SkillCatalogue } from '../../skill/index.js';
import type { SkillInfo, SkillProblem, SkillRoot } from '../../skill/index.js';
import { sha256 } from '../protocol/values.js';
import type { RunClaim } from '../protocol/run.state.js';
import { BUILT_IN, RunSkills, SkillRepository } from '../store/message.repository.js';
import type { StoredSkill } from '../store/message.repository.js';
import { RunLedger } from '../store/run.ledger.js';

export type FoundSkill = StoredSkill & Pick<SkillInfo, 'warnings'>;

export interface FoundSkills {
  /** Skills in the order of discovery; each name once. */
  readonly skills: readonly FoundSkill[];
  /** Skipped skills, and how their authors can fix them. */
  readonly skipped: readonly SkillProblem[];
}

/** Folder beside this file, wherever the service is started: the build copies it. */
const BUILT_IN_ROOT: SkillRoot = {
  source: BUILT_IN,
  base: fileURLToPath(new URL('./builtin', import.meta.url)),
};
/** Folders of skills in a workspace; the first skill of a name wins. */
const WORKSPACE_FOLDERS = ['.agents/skills', '.claude/skills', '.codex/skills'] as const;
/** Time limit for reading the texts of all skills. */
const READ_MS = 30_000;

/**
 * The skills of runs. The skills found when a run began are stored with their texts: a later owner gives the model the
 * same ones, even if the files have changed. A new run discovers them again.
 */
@Injectable()
export class HarnessSkills implements OnModuleInit {
  constructor(
    private readonly catalogue: SkillCatalogue,
    private readonly skills: SkillRepository,
    private readonly ledger: RunLedger,
  ) {}

  /** A harness without its own skills is a broken build, which is reported at the start. */
  async onModuleInit(): Promise<void> {
    const { skills, skipped } = await this.inRoots([BUILT_IN_ROOT], new AbortController().signal);
    if (skills.length === 0 || skipped.length > 0) {
      const problems = skipped.map(({ path, reason }) => `${path}: ${english(reason)}`).join(' ');
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

  /**
   * The stored skills of the run. If it has none yet, they are discovered now, and stored together with their event. It
   * may read many files: call it outside of transactions. Fails with FencedError.
   */
  async of(claim: RunClaim, workspace: string, signal: AbortSignal): Promise<RunSkills> {
    const storedSkills = await this.skills.of({ tenantId: claim.tenantId, id: claim.runId });
    if (storedSkills.length > 0) return new RunSkills(storedSkills.map(relocated));
    const { skills: discovered, skipped } = await this.find(workspace, signal);
    const keeping = discovered.map(({ warnings: _, ...skill }) => skill);
    const skills = new RunSkills(keeping);
    await this.ledger.asOwner(claim, async (writer) => {
      await this.skills.keep(writer.run, keeping);
      const listed = skills.list.map(({ name, description, source }) => {
        return { name, description, source };
      });
      const problems = skipped.map(({ path, reason }) => ({ path, reason: english(reason) }));
      writer.event('skills.loaded', { skills: listed, skipped: problems });
    });
    return skills;
  }

  private async inRoots(roots: readonly SkillRoot[], signal: AbortSignal): Promise<FoundSkills> {
    const scan = await this.catalogue.scan(roots, signal);
    const timeout = AbortSignal.timeout(READ_MS);
    const skills: FoundSkill[] = [];
    const skipped = [...scan.skipped];
    for (const info of scan.skills) {
      const read = await readText(info, { signal, timeout });
      if ('reason' in read) skipped.push({ path: info.path, reason: read.reason });
      else skills.push(read);
    }
    return { skills, skipped };
  }
}

/** The skill with its text; a file that has changed since it was found is reported like any other invalid one. */
async function readText(
  info: SkillInfo,
  { signal, timeout }: { readonly signal: AbortSignal; readonly timeout: AbortSignal },
): Promise<FoundSkill | { readonly reason: Message }> {
  try {
    const { description, body } = await readSkill(info, AbortSignal.any([signal, timeout]));
    if (body.includes('\0')) {
      return { reason: msg`The text holds a NUL character. Save the file as plain text.` };
    }
    return { ...info, description, body, sha256: sha256(body) };
  } catch (error) {
    if (error instanceof DomainError) return { reason: error.userMessage };
    signal.throwIfAborted();
    if (timeout.aborted) return { reason: msg`Reading the skills took too long. Try again.` };
    throw error;
  }
}

/** A stored skill as a run uses it: built-in files may lie elsewhere since the service was reinstalled. */
function relocated(skill: StoredSkill): StoredSkill {
  return skill.source === BUILT_IN ? { ...skill, base: BUILT_IN_ROOT.base } : skill;
}

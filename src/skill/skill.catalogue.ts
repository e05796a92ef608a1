import { fileURLToPath } from 'node:url';
import { Injectable } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import type { SkillInfo, SkillRoot, SkillScan } from './skill.info.js';
import { scanSkills } from './skill.scan.js';

/** Beside this file, wherever the service is started: the build copies them. */
const DOCUMENTS: SkillRoot = {
  source: 'built-in',
  base: fileURLToPath(new URL('./builtin/documents', import.meta.url)),
};

/** The skills that there are. */
@Injectable()
export class SkillCatalogue implements OnModuleInit {
  private found: readonly SkillInfo[] = [];

  /** A service without its own skills is a broken build, which is told at the start. */
  async onModuleInit(): Promise<void> {
    const { skills, skipped } = await this.scan([DOCUMENTS], new AbortController().signal);
    if (skills.length === 0 || skipped.length > 0) {
      const problems = skipped.map(({ path, reason }) => `${path}: ${reason}`).join(' ');
      throw new Error(
        `The built-in skills in ${DOCUMENTS.base} cannot be read. Build again. ${problems}`,
      );
    }
    this.found = skills;
  }

  /** The built-in skills for documents (docx, pdf, xlsx), which agents may bind. */
  get documents(): readonly SkillInfo[] {
    return this.found;
  }

  /** Looks for skills, as scanSkills does. */
  async scan(
    roots: readonly SkillRoot[],
    signal: AbortSignal,
    patience?: AbortSignal,
  ): Promise<SkillScan> {
    return scanSkills(roots, signal, patience);
  }
}

import { fileURLToPath } from 'node:url';
import { Injectable, Module } from '@nestjs/common';
import type { OnModuleInit } from '@nestjs/common';
import type { SkillInfo, SkillRoot, SkillScan } from './skill-text.js';
import { scanSkills } from './skill.scan.js';
import { english } from '../platform/message/index.js';

/** Folder next to this file, independent of the working directory. The build copies it. */
const DOCUMENTS: SkillRoot = {
  source: 'built-in',
  base: fileURLToPath(new URL('./builtin/documents', import.meta.url)),
};

/** The available skills. */
@Injectable()
export class SkillCatalogue implements OnModuleInit {
  private skills: readonly SkillInfo[] = [];

  /** Missing built-in skills mean an incomplete build, which fails the start. */
  async onModuleInit(): Promise<void> {
    const { skills, skipped } = await this.scan([DOCUMENTS], new AbortController().signal);
    if (skills.length === 0 || skipped.length > 0) {
      const problems = skipped.map(({ path, reason }) => `${path}: ${english(reason)}`).join(' ');
      throw new Error(
        `The built-in skills in ${DOCUMENTS.base} cannot be read. Build again. ${problems}`,
      );
    }
    this.skills = skills;
  }

  /** The built-in skills for documents (docx, pdf, xlsx), which agents may bind. */
  get documents(): readonly SkillInfo[] {
    return this.skills;
  }

  /** Scans for skills; see scanSkills. */
  async scan(
    roots: readonly SkillRoot[],
    signal: AbortSignal,
    timeLimit?: AbortSignal,
  ): Promise<SkillScan> {
    return scanSkills(roots, signal, timeLimit);
  }
}

@Module({ providers: [SkillCatalogue], exports: [SkillCatalogue] })
export class SkillModule {}

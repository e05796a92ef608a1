import { Module } from '@nestjs/common';
import { SkillCatalogue } from './skill.catalogue.js';

@Module({ providers: [SkillCatalogue], exports: [SkillCatalogue] })
export class SkillModule {}

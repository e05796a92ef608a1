import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AuditNames } from '../platform/audit/index.js';
import { DictionaryEntry, DictionaryType } from './dictionary.entity.js';
import { DictionaryEntryController, DictionaryTypeController } from './dictionary.controller.js';
import { DictionaryRepository } from './dictionary.repository.js';
import { DictionarySeed } from './dictionary.seed.js';
import { DictionaryService } from './dictionary.service.js';

@Module({
  imports: [TypeOrmModule.forFeature([DictionaryEntry, DictionaryType])],
  controllers: [DictionaryTypeController, DictionaryEntryController],
  providers: [DictionaryRepository, DictionaryService, DictionarySeed],
})
export class DictionaryModule {
  constructor(names: AuditNames) {
    names.join('dictionary_type', DictionaryType, 'dictName');
    names.join('dictionary_entry', DictionaryEntry, 'dictLabel');
  }
}

import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { DictionaryEntry, DictionaryType } from './dictionary.entity.js';
import { DictionaryEntryController } from './dictionary-entry.controller.js';
import { DictionaryEntryService } from './dictionary-entry.service.js';
import { DictionaryTypeController } from './dictionary-type.controller.js';
import { DictionaryTypeService } from './dictionary-type.service.js';
import { DictionaryRepository } from './dictionary.repository.js';
import { DictionarySeed } from './dictionary.seed.js';

@Module({
  imports: [TypeOrmModule.forFeature([DictionaryEntry, DictionaryType])],
  controllers: [DictionaryTypeController, DictionaryEntryController],
  providers: [DictionaryRepository, DictionaryTypeService, DictionaryEntryService, DictionarySeed],
})
export class DictionaryModule {}

import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
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
export class DictionaryModule {}

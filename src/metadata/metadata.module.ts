import { Module } from '@nestjs/common';
import { MetadataRepository } from './metadata.repository.js';

@Module({ providers: [MetadataRepository], exports: [MetadataRepository] })
export class MetadataModule {}

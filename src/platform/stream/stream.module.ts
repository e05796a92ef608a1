import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { StoredStreams } from './stored-streams.js';
import { StreamFrame } from './stream-frame.entity.js';
import { StreamFrameRepository } from './stream-frame.repository.js';
import { StreamRetention } from './stream.retention.js';

@Module({
  imports: [TypeOrmModule.forFeature([StreamFrame])],
  providers: [StoredStreams, StreamFrameRepository, StreamRetention],
  exports: [StoredStreams],
})
export class StreamModule {}

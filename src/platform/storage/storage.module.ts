import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { Dependencies, Dependency } from '../dependency/index.js';
import { StoredFile } from './storage.entity.js';
import { DiskStorage } from './disk-storage.js';
import { FileAddresses } from './file-address.js';
import { FileKeys, FileStorage, UploadEngine } from './file-storage.js';
import { FileOwners, StorageService } from './storage.service.js';
import { Installation } from './installation.js';
import { InstallationRepository } from './installation.repository.js';
import { ObjectStorage } from './object-storage.js';
import { OrphanSweep } from './orphan-sweep.js';
import { SigningKey } from './signing-key.js';
import { SigningKeyRepository } from './signing-key.repository.js';
import { StorageController } from './storage.controller.js';
import { StorageMove } from './storage-move.js';
import { StorageRepository } from './storage.repository.js';
import { UploadInterceptor } from './upload.interceptor.js';

/** Uploaded files. The dependencies of UploadInterceptor are exported, because Nest creates it in the controller's module. */
@Module({
  imports: [TypeOrmModule.forFeature([StoredFile])],
  controllers: [StorageController],
  providers: [
    {
      provide: FileStorage,
      inject: [CONFIG, Dependencies],
      useFactory: (config: Config, dependencies: Dependencies) =>
        openFileStorage(config, dependencies.of('files')),
    },
    FileAddresses,
    FileKeys,
    FileOwners,
    Installation,
    InstallationRepository,
    OrphanSweep,
    SigningKey,
    SigningKeyRepository,
    StorageRepository,
    StorageMove,
    StorageService,
    UploadEngine,
    UploadInterceptor,
  ],
  exports: [FileOwners, FileStorage, Installation, StorageService, UploadEngine],
})
export class StorageModule {}

/** The storage that the configuration names. What DATA_DIR has kept is read until `npm run storage:move` has moved it. */
export function openFileStorage(
  { STORAGE_URL, DATA_DIR, outbound }: Config,
  dependency: Dependency,
): FileStorage | Promise<FileStorage> {
  if (!STORAGE_URL) return new DiskStorage(DATA_DIR, dependency);
  const formerFiles = existsSync(join(DATA_DIR, 'files'))
    ? new DiskStorage(DATA_DIR, new Dependency('files'))
    : undefined;
  return ObjectStorage.open(STORAGE_URL, outbound, dependency, formerFiles);
}

import { Global, Module } from '@nestjs/common';
import { APP_GUARD, APP_INTERCEPTOR, DiscoveryModule } from '@nestjs/core';
import { AuthenticationGuard, JwtStrategy, PermissionGuard, TenantInterceptor } from './access.js';
import { DirectRoutes } from './direct-routes.js';
import { OpenStreams } from './open-streams.js';
import { PermissionController } from './permission.controller.js';
import { TenantLifecycle, UserLifecycle } from './lifecycle.js';
import { TenantRevision } from './tenant-revision.repository.js';

/** Authenticates and authorises every request. The global identity module provides the CallerResolver. */
@Global()
@Module({
  imports: [DiscoveryModule],
  controllers: [PermissionController],
  providers: [
    TenantRevision,
    TenantLifecycle,
    UserLifecycle,
    OpenStreams,
    JwtStrategy,
    DirectRoutes,
    { provide: APP_GUARD, useClass: AuthenticationGuard },
    { provide: APP_GUARD, useClass: PermissionGuard },
    { provide: APP_INTERCEPTOR, useClass: TenantInterceptor },
  ],
  exports: [TenantRevision, TenantLifecycle, UserLifecycle, OpenStreams, DirectRoutes],
})
export class AccessModule {}

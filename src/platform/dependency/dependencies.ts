import { Global, Injectable, Module } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { Dependency } from './dependency.js';
import type { DependencyName } from './dependency.js';

/** Everything that this process depends on, by name. */
@Injectable()
export class Dependencies implements OnApplicationShutdown {
  private readonly byName = new Map<DependencyName, Dependency>();

  of(name: DependencyName): Dependency {
    const dependency = this.byName.get(name) ?? new Dependency(name);
    this.byName.set(name, dependency);
    return dependency;
  }

  all(): Dependency[] {
    return [...this.byName.values()];
  }

  onApplicationShutdown(): void {
    for (const dependency of this.byName.values()) dependency.close();
  }
}

@Global()
@Module({ providers: [Dependencies], exports: [Dependencies] })
export class DependencyModule {}

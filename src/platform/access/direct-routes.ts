import { Injectable, SetMetadata } from '@nestjs/common';
import type {
  CanActivate,
  ExceptionFilter,
  OnApplicationBootstrap,
  PipeTransform,
  Type,
} from '@nestjs/common';
import {
  EXCEPTION_FILTERS_METADATA,
  FILTER_CATCH_EXCEPTIONS,
  PATH_METADATA,
} from '@nestjs/common/constants.js';
import { ApplicationConfig, DiscoveryService, MetadataScanner, ModuleRef } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { NextFunction, Request, RequestHandler, Response } from 'express';
import { ForbiddenError } from '../error/index.js';
import { AroundInterceptor, EnvelopeInterceptor, hasNoEnvelope } from '../http/index.js';
import { readersOf, readParameters, refuseOwnSteps } from './route-parameters.js';
import type { Reader } from './route-parameters.js';

const DIRECT = 'access:direct';

/**
 * Marks a POST route that writes its own answer and is called so often that the router would be a large part of its cost.
 * DirectRoutes answers it with everything that is declared of it: access rule, limits of the body, DTO, parameters, filters.
 */
export const Direct = (): MethodDecorator => SetMetadata(DIRECT, true);

type Method = (...parameters: unknown[]) => unknown;
type Step = <T>(context: ExecutionContextHost, work: () => Promise<T>) => Promise<T>;

interface DirectRoute {
  readonly path: string;
  readonly controller: Type;
  readonly handler: Method;
  /** Readers of the parameters, in their order. */
  readonly readers: readonly Reader[];
  readonly call: (parameters: unknown[]) => unknown;
  readonly filters: readonly CatchingFilter[];
}

interface CatchingFilter {
  readonly filter: ExceptionFilter;
  /** Classes of errors; empty for every error. */
  readonly catches: readonly (new (...parameters: never[]) => unknown)[];
}

/**
 * Answers direct routes before the router: the same global guards, interceptors, pipes and filters as the router runs, in its
 * order, called one after the other. A request whose method and address are not exactly those of a direct route goes to
 * the router, which has these routes as well and answers them alike (test/integration/platform/direct-routes.spec.ts).
 * Saves a sixth of the processor time of an answer of 20 chunks (docs/decisions/0035-direct-routes.md).
 */
@Injectable()
export class DirectRoutes implements OnApplicationBootstrap {
  private readonly routes = new Map<string, DirectRoute>();
  private guards: readonly CanActivate[] = [];
  private steps: readonly Step[] = [];

  constructor(
    private readonly config: ApplicationConfig,
    private readonly discovery: DiscoveryService,
    private readonly modules: ModuleRef,
  ) {}

  onApplicationBootstrap(): void {
    this.guards = this.config.getGlobalGuards();
    this.steps = this.config.getGlobalInterceptors().flatMap((interceptor) => {
      // A direct route has no envelope.
      if (interceptor instanceof EnvelopeInterceptor) return [];
      if (!(interceptor instanceof AroundInterceptor)) {
        throw new Error(`Direct routes cannot run ${interceptor.constructor.name}.`);
      }
      return [interceptor.around.bind(interceptor)];
    });
    for (const { instance, metatype } of this.discovery.getControllers()) {
      for (const route of this.routesOf(instance as object, metatype as Type)) {
        this.routes.set(route.path, route);
      }
    }
  }

  /** The addresses of the direct routes. */
  get paths(): string[] {
    return [...this.routes.keys()];
  }

  readonly serve: RequestHandler = (request: Request, response: Response, next: NextFunction) => {
    const route = request.method === 'POST' ? this.routes.get(request.url) : undefined;
    if (route) this.answer(route, request, response).catch(next);
    else next();
  };

  private async answer(route: DirectRoute, request: Request, response: Response): Promise<void> {
    // Read by log and metrics.
    request.route = { path: route.path };
    const context = new ExecutionContextHost([request, response], route.controller, route.handler);
    try {
      for (const guard of this.guards) {
        if (!(await guard.canActivate(context))) throw new ForbiddenError();
      }
      await this.run(route, context, 0);
    } catch (error) {
      const { filter } = route.filters.find(({ catches }) => isOneOf(error, catches)) ?? {};
      filter?.catch(error, context);
    }
  }

  /** The interceptors from `at` on, then the handler. */
  private run(route: DirectRoute, context: ExecutionContextHost, at: number): Promise<unknown> {
    const step = this.steps[at];
    if (step) return step(context, () => this.run(route, context, at + 1));
    return this.handle(route, context);
  }

  private async handle(
    { readers, call }: DirectRoute,
    context: ExecutionContextHost,
  ): Promise<unknown> {
    return call(await readParameters(readers, context));
  }

  private readonly pipes = (): readonly PipeTransform[] => this.config.getGlobalPipes();

  private routesOf(instance: object, controller: Type): DirectRoute[] {
    const methods = instance as Readonly<Record<string, Method>>;
    return new MetadataScanner()
      .getAllMethodNames(controller.prototype as object)
      .flatMap((name) => {
        const handler = methods[name];
        if (!handler || !Reflect.getMetadata(DIRECT, handler)) return [];
        refuseOwnSteps(controller, handler);
        if (!hasNoEnvelope(controller, handler)) {
          throw new Error(
            `${controller.name}.${name} cannot be a direct route without NoEnvelope.`,
          );
        }
        return [
          {
            path: pathOf(controller, handler),
            controller,
            handler,
            readers: readersOf(controller, name, this.pipes),
            call: (parameters) => handler.apply(instance, parameters),
            filters: this.filtersOf(controller, handler),
          },
        ];
      });
  }

  /** The filters of the method come first, as with the router. */
  private filtersOf(controller: Type, handler: Method): CatchingFilter[] {
    const declared = [handler, controller].flatMap(
      (target) =>
        (Reflect.getMetadata(EXCEPTION_FILTERS_METADATA, target) ?? []) as Type<ExceptionFilter>[],
    );
    const routeFilters = declared.map((type) => this.modules.get(type, { strict: false }));
    return [...routeFilters, ...this.config.getGlobalFilters()].map((filter) => ({
      filter,
      catches: (Reflect.getMetadata(FILTER_CATCH_EXCEPTIONS, filter.constructor) ??
        []) as CatchingFilter['catches'],
    }));
  }
}

function pathOf(controller: Type, handler: Method): string {
  const [start, end] = [controller, handler].map(
    (target) => Reflect.getMetadata(PATH_METADATA, target) as string,
  );
  return `/${start}/${end}`.replace(/\/+/g, '/').replace(/\/$/, '');
}

function isOneOf(error: unknown, catches: CatchingFilter['catches']): boolean {
  return catches.length === 0 || catches.some((type) => error instanceof type);
}

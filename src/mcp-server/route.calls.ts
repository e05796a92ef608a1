import { Injectable } from '@nestjs/common';
import type { OnApplicationBootstrap, Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants.js';
import { RequestMethod } from '@nestjs/common';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { ApplicationConfig, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { ExecutionContextHost } from '@nestjs/core/helpers/execution-context-host.js';
import type { Request, Response } from 'express';
import {
  ACCESS_RULE,
  parametersOf,
  readersOf,
  readParameters,
  refuseOwnSteps,
} from '../platform/access/index.js';
import type { AccessRule } from '../platform/access/index.js';
import { TOOLS } from './tools.js';

type Handler = (...parameters: unknown[]) => unknown;

/** The parts of a request that a call has of its own. */
interface RouteInput {
  readonly params: Readonly<Record<string, string>>;
  readonly query: object;
  readonly body: object;
}

/** A route that can be called without the router. */
interface CallableRoute {
  readonly rule: AccessRule;
  readonly query: Type | undefined;
  readonly body: Type | undefined;
  /** Answers what the controller answers. The caller is that of the request; the access rule was checked before. */
  call(request: Request, response: Response, input: RouteInput): Promise<unknown>;
}

/** The routes of the tools, found by their declarations. Fails at the start if one does not exist or cannot be called. */
@Injectable()
export class RouteCalls implements OnApplicationBootstrap {
  private readonly routes = new Map<string, CallableRoute>();

  constructor(
    private readonly config: ApplicationConfig,
    private readonly discovery: DiscoveryService,
  ) {}

  onApplicationBootstrap(): void {
    const keys = new Set(TOOLS.map(({ route }) => route));
    for (const { instance, metatype } of this.discovery.getControllers()) {
      const controller = metatype as Type;
      const methods = instance as Readonly<Record<string, Handler>>;
      for (const name of new MetadataScanner().getAllMethodNames(controller.prototype as object)) {
        const handler = methods[name];
        const key = handler && keyOf(controller, handler);
        if (key !== undefined && keys.has(key)) {
          this.routes.set(key, this.routeOf(instance as object, controller, name));
        }
      }
    }
    for (const key of keys) this.route(key);
  }

  route(key: string): CallableRoute {
    const route = this.routes.get(key);
    if (!route) throw new Error(`A tool names the route ${key}, which does not exist.`);
    return route;
  }

  private routeOf(instance: object, controller: Type, name: string): CallableRoute {
    const handler = (instance as Readonly<Record<string, Handler>>)[name] as Handler;
    refuseOwnSteps(controller, handler);
    const parameters = parametersOf(controller, name);
    const typeOf = (kind: RouteParamtypes): Type | undefined =>
      parameters.find((parameter) => parameter.kind === kind)?.type;
    const readers = readersOf(controller, name, () => this.config.getGlobalPipes());
    return {
      rule: [handler, controller]
        .map((target) => Reflect.getMetadata(ACCESS_RULE, target) as AccessRule | undefined)
        .find((rule) => rule !== undefined) as AccessRule,
      query: typeOf(RouteParamtypes.QUERY),
      body: typeOf(RouteParamtypes.BODY),
      call: async (request, response, { params, query, body }) => {
        const toolRequest = Object.create(request, {
          params: { value: params },
          query: { value: query },
          body: { value: body },
        }) as Request;
        const context = new ExecutionContextHost([toolRequest, response], controller, handler);
        return handler.apply(instance, await readParameters(readers, context));
      },
    };
  }
}

function keyOf(controller: Type, handler: Handler): string | undefined {
  const method = Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined;
  if (method === undefined) return undefined;
  const [start, end] = [controller, handler].map(
    (target) => Reflect.getMetadata(PATH_METADATA, target) as string,
  );
  const path = `/${start}/${end}`.replace(/\/+/g, '/').replace(/(.)\/$/, '$1');
  return `${RequestMethod[method]} ${path}`;
}

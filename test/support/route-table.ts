import { RequestMethod } from '@nestjs/common';
import type { PipeTransform, Type } from '@nestjs/common';
import {
  METHOD_METADATA,
  PARAMTYPES_METADATA,
  PATH_METADATA,
  ROUTE_ARGS_METADATA,
} from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { MetadataScanner, ModulesContainer, Reflector } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { getMetadataStorage } from 'class-validator';
import { ACCESS_RULE } from '../../src/platform/access/index.js';
import type { AccessRule } from '../../src/platform/access/index.js';

type Source = 'path' | 'query' | 'body' | 'other';

/** Streams that need no id and end only with their reader. */
export const ENDLESS: ReadonlySet<string> = new Set([
  '/resource/sse',
  '/coding/harness/events/stream',
]);

export interface RouteParameter {
  readonly source: Source;
  /** The one field that is read; undefined when the whole of it is. */
  readonly name: string | undefined;
  /** What TypeScript says about it; Object for an interface or a union. */
  readonly type: unknown;
  /** The pipes of the parameter alone. */
  readonly pipes: readonly Type<PipeTransform>[];
}

/** One route as the application answers it. */
export interface Route {
  /** `GET /system/user/:userId`. */
  readonly key: string;
  readonly method: string;
  readonly path: string;
  readonly rule: AccessRule | undefined;
  readonly parameters: readonly RouteParameter[];
  readonly body: Type | undefined;
  readonly query: Type | undefined;
  /** What it declares of how its body is read, as a text: a limit of its own, a form, or that it has none. */
  readonly bodyRule: string;
  /** `AuthController.login`. */
  readonly handler: string;
}

type Handler = (...parameters: unknown[]) => unknown;
type RouteArguments = Record<
  string,
  { index: number; data?: unknown; pipes?: readonly Type<PipeTransform>[] }
>;

/** Under which the decorators of src/platform/http/body.ts keep what they say. */
const BODY_RULES = ['http:body-limit', 'http:form-body', 'http:no-body'];

const SOURCES: Readonly<Record<number, Source>> = {
  [RouteParamtypes.BODY]: 'body',
  [RouteParamtypes.RAW_BODY]: 'body',
  [RouteParamtypes.QUERY]: 'query',
  [RouteParamtypes.PARAM]: 'path',
};

/** Every route of every controller of the application, sorted. */
export function routeTable(app: NestExpressApplication): Route[] {
  const modules = [...app.get(ModulesContainer).values()];
  const classes = modules
    .flatMap((module) => [...module.controllers.values()])
    .map(({ metatype }) => metatype as Type);
  return [...new Set(classes)]
    .flatMap((controller) => routesOf(controller, app.get(Reflector)))
    .sort((a, b) => a.key.localeCompare(b.key));
}

function routesOf(controller: Type, reflector: Reflector): Route[] {
  const prototype = controller.prototype as Record<string, Handler>;
  return new MetadataScanner().getAllMethodNames(prototype).flatMap((name) => {
    const handler = prototype[name];
    const method = handler && (Reflect.getMetadata(METHOD_METADATA, handler) as number | undefined);
    if (handler === undefined || method === undefined) return [];
    const parameters = parametersOf(controller, name);
    const common = {
      method: RequestMethod[method] ?? 'ALL',
      rule: reflector.getAllAndOverride<AccessRule | undefined>(ACCESS_RULE, [handler, controller]),
      parameters,
      body: classOf(parameters, 'body'),
      query: classOf(parameters, 'query'),
      bodyRule: JSON.stringify(
        BODY_RULES.map((rule) => reflector.getAllAndOverride<unknown>(rule, [handler, controller])),
      ),
      handler: `${controller.name}.${name}`,
    };
    return pathsOf(controller, handler).map((path) => ({
      ...common,
      path,
      key: `${common.method} ${path}`,
    }));
  });
}

function pathsOf(controller: Type, handler: Handler): string[] {
  const read = (target: object): string[] =>
    [Reflect.getMetadata(PATH_METADATA, target) as string | string[]].flat();
  return read(controller).flatMap((start) =>
    read(handler).map((end) => `/${start}/${end}`.replace(/\/+/g, '/').replace(/(.)\/$/, '$1')),
  );
}

function parametersOf(controller: Type, name: string): RouteParameter[] {
  const prototype = controller.prototype as object;
  const types = Reflect.getMetadata(PARAMTYPES_METADATA, prototype, name) as unknown[];
  const found = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ??
    {}) as RouteArguments;
  return Object.entries(found).map(([key, { index, data, pipes }]) => ({
    source: SOURCES[Number(key.split(':')[0])] ?? 'other',
    name: typeof data === 'string' ? data : undefined,
    type: types[index],
    pipes: pipes ?? [],
  }));
}

function classOf(parameters: readonly RouteParameter[], source: Source): Type | undefined {
  const whole = parameters.find((one) => one.source === source && one.name === undefined);
  return whole === undefined || whole.type === Object ? undefined : (whole.type as Type);
}

/** Names of the fields that a DTO lets through: those with a validator. */
export function validatedFields(dto: Type): string[] {
  const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
  return [...new Set(rules.map(({ propertyName }) => propertyName))].sort();
}

/** Names of the fields whose own fields are validated too. */
export function nestedFields(dto: Type): string[] {
  const rules = getMetadataStorage().getTargetValidationMetadatas(dto, '', false, false);
  return rules
    .filter(({ type }) => type === 'nestedValidation')
    .map(({ propertyName }) => propertyName);
}

/** Names of the fields that OpenAPI shows. */
export function documentedFields(dto: Type): string[] {
  const prototype = dto.prototype as object;
  const names = Reflect.getMetadata('swagger/apiModelPropertiesArray', prototype) as unknown;
  return ((names ?? []) as string[]).map((name) => name.replace(/^:/, '')).sort();
}

/** Names of the JSON types that OpenAPI shows for the field; undefined where it shows none. */
export function documentedTypes(dto: Type, field: string): readonly string[] | undefined {
  const prototype = dto.prototype as object;
  const shown = Reflect.getMetadata('swagger/apiModelProperties', prototype, field) as
    | { readonly type?: unknown; readonly oneOf?: readonly { readonly type?: unknown }[] }
    | undefined;
  const types = (shown?.oneOf ?? [shown]).map((schema) => schema?.type);
  if (!types.every((type) => typeof type === 'string')) return undefined;
  return types.map((type) => (type === 'integer' ? 'number' : type));
}

/** The parameters of a path's pattern. */
export function pathParameters({ path }: Route): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');
}

/** The routes as Express asks them, one after the other, as `GET /system/user/:userId`. */
export function routesInOrder(app: NestExpressApplication): string[] {
  const { router } = app.getHttpAdapter().getInstance() as { router: { stack: RouterLayer[] } };
  return router.stack.flatMap(({ route }) =>
    Object.keys(route?.methods ?? {}).map((method) => `${method.toUpperCase()} ${route?.path}`),
  );
}

interface RouterLayer {
  readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
}

/** The routes that are never reached, because one before them takes every address of theirs. */
export function shadowedRoutes(routes: readonly string[]): string[] {
  return routes.filter((route, at) => routes.slice(0, at).some((before) => takes(before, route)));
}

function takes(before: string, route: string): boolean {
  const segments = route.split('/');
  const others = before.split('/');
  if (others.length !== segments.length) return false;
  return others.every((other, at) => other.startsWith(':') || other === segments[at]);
}

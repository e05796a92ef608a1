import { createHash, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { EventBus } from '../../platform/event/index.js';
import type { EventData } from '../../platform/event/index.js';
import { Metrics } from '../../platform/observability/index.js';
import { UpstreamError } from '../../provider/index.js';
import type { UpstreamErrorKind } from '../../provider/index.js';
import type { ResolvedModel } from '../model.resolver.js';

/** The time for which calls skip a failing address before one tries it. */
const CIRCUIT_MS = 30_000;
/** The longest cooldown of a key, whatever its service asks for. */
const MAX_KEY_COOLDOWN_MS = 300_000;

export type CooldownReason = EventData<'upstream.cooldown'>['reason'];

/** A key that cools down. */
interface CoolingKey {
  readonly until: number;
  readonly reason: CooldownReason;
}

/** The calls of one address. Half-open when its time is over: one call may try it. */
interface Circuit {
  failures: number;
  openUntil: number;
  /** A call that tries the address has this long. */
  probedUntil: number;
}

/** A key or address that calls skip, and for how long. */
export interface Cooldown {
  readonly keyId: number | null;
  readonly reason: CooldownReason;
  readonly milliseconds: number;
}

/** Key and circuit are hashed, so that events reveal neither addresses nor keys. */
interface Places {
  readonly key: string;
  readonly circuit: string;
}

/** The bound exceeds the number of keys and addresses in use at the same time. */
const MAX_PLACES = 10_000;

/** Failures that concern the address, whatever the request. */
const BREAKING: readonly UpstreamErrorKind[] = ['connection', 'timeout', 'overloaded'];

/**
 * The keys and addresses of model services that this process skips while others are available: a key that was refused or whose
 * service asks for a pause, and an address whose calls have failed several times in a row. Bound to the tenant, so that the
 * calls of one never decide where those of another go. Other processes are told by events; no call waits for them.
 */
@Injectable()
export class UpstreamHealth implements OnApplicationShutdown {
  /** Consecutive failures after which calls skip an address. Tests set a lower number. */
  maxFailures = 5;
  private readonly keys = new LRUCache<string, CoolingKey>({ max: MAX_PLACES });
  private readonly circuits = new LRUCache<string, Circuit>({ max: MAX_PLACES });
  private readonly places = new WeakMap<ResolvedModel, Places>();
  private readonly origin = randomUUID();
  private readonly unsubscribe: () => void;

  constructor(
    private readonly bus: EventBus,
    metrics: Metrics,
  ) {
    this.unsubscribe = bus.subscribe('upstream.cooldown', (event) => this.receive(event));
    metrics.gauge(
      'plinth_upstream_circuits_open',
      'Addresses of model services that calls skip, in this process',
      async () => this.openCircuits(),
    );
    metrics.gauge(
      'plinth_upstream_keys_aside',
      'Keys of model services that calls skip, in this process',
      async () => [...this.keys.values()].filter(({ until }) => until > this.now()).length,
    );
  }

  onApplicationShutdown(): void {
    this.unsubscribe();
  }

  /** Whether calls that have a choice may go to the model with its key. */
  isAvailable(model: ResolvedModel): boolean {
    const { key, circuit } = this.placesOf(model);
    const now = this.now();
    if ((this.keys.get(key)?.until ?? 0) > now) return false;
    const state = this.circuits.get(circuit);
    if (!state || !this.isBroken(state)) return true;
    return Math.max(state.openUntil, state.probedUntil) <= now;
  }

  /** Chooses one of several models by the weight of its key. */
  choose<M extends ResolvedModel>(candidates: readonly M[]): M | undefined {
    return weighted(candidates, this.random());
  }

  /** A call begins. True where it is the one that tries an address again. */
  begin(model: ResolvedModel): boolean {
    const state = this.circuits.get(this.placesOf(model).circuit);
    if (!state || !this.isBroken(state) || state.openUntil > this.now()) return false;
    state.probedUntil = this.now() + CIRCUIT_MS;
    return true;
  }

  /** The service has answered. Costs nothing while no address has failed. */
  succeeded(model: ResolvedModel): void {
    if (this.circuits.size === 0) return;
    const { circuit } = this.placesOf(model);
    const state = this.circuits.get(circuit);
    if (!state) return;
    this.circuits.delete(circuit);
    if (this.isBroken(state)) this.publish('circuit', circuit, 'failing', 0);
  }

  /** A call was left before the service had answered: that says nothing of it. */
  abandoned(model: ResolvedModel): void {
    if (this.circuits.size === 0) return;
    const state = this.circuits.get(this.placesOf(model).circuit);
    if (state) state.probedUntil = 0;
  }

  failed(model: ResolvedModel, error: unknown): void {
    if (!(error instanceof UpstreamError) || error.kind === 'aborted') {
      this.abandoned(model);
      return;
    }
    if (isRefusal(error)) this.coolDown(model, 'refused', MAX_KEY_COOLDOWN_MS);
    else if (error.retryAfterMs !== undefined && isBusy(error)) {
      this.coolDown(model, 'busy', Math.min(error.retryAfterMs, MAX_KEY_COOLDOWN_MS));
    }
    if (BREAKING.includes(error.kind)) this.countFailure(model);
    else this.succeeded(model);
  }

  /** The active cooldowns of a model and its keys. */
  cooldownsOf(candidates: readonly ResolvedModel[]): readonly Cooldown[] {
    const now = this.now();
    return candidates.flatMap((model) => {
      const { key, circuit } = this.placesOf(model);
      const keyId = model.keyId ?? null;
      const cooldown = this.keys.get(key);
      const state = this.circuits.get(circuit);
      return [
        ...(cooldown
          ? [{ keyId, reason: cooldown.reason, milliseconds: cooldown.until - now }]
          : []),
        ...(state && this.isBroken(state)
          ? [{ keyId, reason: 'failing' as const, milliseconds: state.openUntil - now }]
          : []),
      ].filter(({ milliseconds }) => milliseconds > 0);
    });
  }

  /** Identifies a key without naming it. */
  keyPlace(model: ResolvedModel): string {
    return this.placesOf(model).key;
  }

  protected now(): number {
    return Date.now();
  }

  /** A random number between 0 and 1. */
  protected random(): number {
    return Math.random();
  }

  private isBroken({ failures }: Circuit): boolean {
    return failures >= this.maxFailures;
  }

  private openCircuits(): number {
    const now = this.now();
    return [...this.circuits.values()].filter(
      (state) => this.isBroken(state) && state.openUntil > now,
    ).length;
  }

  private coolDown(model: ResolvedModel, reason: CooldownReason, milliseconds: number): void {
    const { key } = this.placesOf(model);
    const until = this.now() + milliseconds;
    if (until <= (this.keys.get(key)?.until ?? 0)) return;
    this.keys.set(key, { until, reason });
    this.publish('key', key, reason, milliseconds);
  }

  private countFailure(model: ResolvedModel): void {
    const { circuit } = this.placesOf(model);
    const state = this.circuits.get(circuit) ?? { failures: 0, openUntil: 0, probedUntil: 0 };
    const now = this.now();
    state.failures += 1;
    this.circuits.set(circuit, state);
    if (!this.isBroken(state)) return;
    const isOpen = state.openUntil > now;
    const milliseconds = CIRCUIT_MS;
    state.probedUntil = 0;
    // A running call, or one without a choice, does not prolong the cooldown.
    if (isOpen) return;
    state.openUntil = now + milliseconds;
    this.publish('circuit', circuit, 'failing', milliseconds);
  }

  private publish(
    kind: 'key' | 'circuit',
    place: string,
    reason: CooldownReason,
    milliseconds: number,
  ): void {
    const { origin } = this;
    void this.bus.publish('upstream.cooldown', { origin, kind, place, reason, milliseconds });
  }

  private receive(event: EventData<'upstream.cooldown'>): void {
    const { origin, kind, place, reason, milliseconds } = event;
    if (origin === this.origin) return;
    const longest = kind === 'key' ? MAX_KEY_COOLDOWN_MS : CIRCUIT_MS;
    const until = this.now() + Math.min(milliseconds, longest);
    if (kind === 'key') {
      if (until > (this.keys.get(place)?.until ?? 0)) this.keys.set(place, { until, reason });
    } else if (milliseconds > 0) {
      const failures = this.maxFailures;
      this.circuits.set(place, { failures, openUntil: until, probedUntil: 0 });
    } else this.circuits.delete(place);
  }

  private placesOf(model: ResolvedModel): Places {
    const cachedPlaces = this.places.get(model);
    if (cachedPlaces) return cachedPlaces;
    const { tenantId, id, keyId, keyVersion, connection } = model;
    const places = {
      key: hashOf([tenantId, connection.address, id, keyId ?? '', keyVersion ?? '']),
      circuit: hashOf([tenantId, connection.address]),
    };
    this.places.set(model, places);
    return places;
  }
}

/** The service does not accept the key, or the account behind it has nothing left. */
export function isRefusal({ kind, isExhausted }: UpstreamError): boolean {
  return kind === 'authentication' || isExhausted;
}

function isBusy({ kind, status }: UpstreamError): boolean {
  return kind === 'rate-limit' || status === 503 || status === 529;
}

/** @param random Between 0 and 1, 1 excluded. */
export function weighted<M extends Pick<ResolvedModel, 'keyWeight'>>(
  candidates: readonly M[],
  random: number,
): M | undefined {
  const weightOf = ({ keyWeight = 1 }: M): number => keyWeight;
  let remaining = random * candidates.reduce((sum, one) => sum + weightOf(one), 0);
  return candidates.find((one) => (remaining -= weightOf(one)) < 0) ?? candidates.at(-1);
}

function hashOf(parts: readonly (string | number)[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}
